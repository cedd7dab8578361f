package io.heddle.yarn.web;

import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import javax.xml.XMLConstants;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/** An {@link InfoDocument} in XML. The first object begun is the root and must be the only one. */
final class XmlDocument implements InfoDocument {
  private static final String INSTANCE = XMLConstants.W3C_XML_SCHEMA_INSTANCE_NS_URI;
  private static final XMLOutputFactory XML = XMLOutputFactory.newInstance();

  private final XMLStreamWriter out;
  private boolean rootBegun;

  XmlDocument(OutputStream stream) throws IOException {
    try {
      out = writer(new OutputStreamWriter(stream, StandardCharsets.UTF_8));
      out.writeStartDocument("UTF-8", "1.0");
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
  }

  // Not every factory that may be found on a class path may be used by many threads.
  private static synchronized XMLStreamWriter writer(OutputStreamWriter target)
      throws XMLStreamException {
    return XML.createXMLStreamWriter(target);
  }

  @Override
  public void begin(String field, String type) throws IOException {
    try {
      out.writeStartElement(field);
      if (!rootBegun) {
        out.writeNamespace("xsi", INSTANCE);
        rootBegun = true;
      }
      if (type != null) {
        out.writeAttribute("xsi", INSTANCE, "type", type);
      }
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void end() throws IOException {
    try {
      out.writeEndElement();
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
  }

  @Override
  public void beginList(String field) {
    // A list has no element of its own.
  }

  @Override
  public void beginElement(String field, String type) throws IOException {
    begin(field, type);
  }

  @Override
  public void endList() {
    // As above.
  }

  @Override
  public void text(String field, String value) throws IOException {
    begin(field, null);
    try {
      out.writeCharacters(allowed(value));
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
    end();
  }

  @Override
  public void number(String field, long value) throws IOException {
    text(field, Long.toString(value));
  }

  @Override
  public void flag(String field, boolean value) throws IOException {
    text(field, Boolean.toString(value));
  }

  /** Replaces what XML 1.0 cannot hold, escaped or not: most control characters. */
  static String allowed(String text) {
    StringBuilder kept = new StringBuilder(text.length());
    text.codePoints().forEach(c -> kept.appendCodePoint(isAllowed(c) ? c : 0xFFFD));
    return kept.toString();
  }

  private static boolean isAllowed(int c) {
    return c == '\t' || c == '\n' || c == '\r' || c >= 0x20 && c <= 0xD7FF
        || c >= 0xE000 && c <= 0xFFFD || c >= 0x10000;
  }

  @Override
  public void close() throws IOException {
    try {
      out.writeEndDocument();
      out.flush();
      out.close();
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
  }
}
