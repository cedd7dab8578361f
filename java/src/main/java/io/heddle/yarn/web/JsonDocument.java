package io.heddle.yarn.web;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;

/** An {@link InfoDocument} in JSON. */
final class JsonDocument implements InfoDocument {
  private static final JsonFactory JSON = new JsonFactory();

  private final JsonGenerator out;

  JsonDocument(OutputStream stream) throws IOException {
    // By way of a writer: half a surrogate pair becomes a question mark there, and no exception.
    out = JSON.createGenerator(new OutputStreamWriter(stream, StandardCharsets.UTF_8));
    out.writeStartObject();
  }

  @Override
  public void begin(String field, String type) throws IOException {
    out.writeFieldName(field);
    object(type);
  }

  @Override
  public void end() throws IOException {
    out.writeEndObject();
  }

  @Override
  public void beginList(String field) throws IOException {
    out.writeArrayFieldStart(field);
  }

  @Override
  public void beginElement(String field, String type) throws IOException {
    object(type);
  }

  private void object(String type) throws IOException {
    out.writeStartObject();
    if (type != null) {
      out.writeStringField("type", type);
    }
  }

  @Override
  public void endList() throws IOException {
    out.writeEndArray();
  }

  @Override
  public void text(String field, String value) throws IOException {
    out.writeStringField(field, value);
  }

  @Override
  public void number(String field, long value) throws IOException {
    out.writeNumberField(field, value);
  }

  @Override
  public void flag(String field, boolean value) throws IOException {
    out.writeBooleanField(field, value);
  }

  @Override
  public void close() throws IOException {
    out.writeEndObject();
    out.close();
  }
}
