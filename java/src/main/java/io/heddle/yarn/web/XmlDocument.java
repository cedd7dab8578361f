package io.heddle.yarn.web;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import javax.xml.XMLConstants;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * A JSON document in XML the way the ResourceManager's REST writes its own: a field is an element,
 * a list of objects is repeated elements, and the member {@code type} of an object, its first, is
 * an attribute {@code xsi:type}. The one member of the document is the root.
 */
final class XmlDocument {
  private static final String INSTANCE = XMLConstants.W3C_XML_SCHEMA_INSTANCE_NS_URI;
  private static final XMLOutputFactory XML = XMLOutputFactory.newInstance();
  private static final JsonFactory JSON = new JsonFactory();

  private XmlDocument() {}

  /** Returns the document in UTF-8. */
  static byte[] of(String json) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JsonParser in = JSON.createParser(json)) {
      XMLStreamWriter out = writer(new OutputStreamWriter(bytes, StandardCharsets.UTF_8));
      out.writeStartDocument("UTF-8", "1.0");
      in.nextToken();
      for (JsonToken token = in.nextToken(); token != null; token = in.nextToken()) {
        write(out, in, token);
      }
      out.writeEndDocument();
      out.flush();
      out.close();
    } catch (XMLStreamException e) {
      throw new IOException(e);
    }
    return bytes.toByteArray();
  }

  // Not every factory that may be found on a class path may be used by many threads.
  private static synchronized XMLStreamWriter writer(OutputStreamWriter target)
      throws XMLStreamException {
    return XML.createXMLStreamWriter(target);
  }

  private static void write(XMLStreamWriter out, JsonParser in, JsonToken token)
      throws IOException, XMLStreamException {
    if (token == JsonToken.START_OBJECT) {
      JsonStreamContext parent = in.getParsingContext().getParent();
      boolean item = parent.inArray();
      out.writeStartElement(item ? parent.getParent().getCurrentName() : parent.getCurrentName());
      if (!item && parent.getParent().inRoot()) {
        out.writeNamespace("xsi", INSTANCE);
      }
    } else if (token == JsonToken.END_OBJECT && !in.getParsingContext().inRoot()) {
      out.writeEndElement();
    } else if (token.isScalarValue() && in.getCurrentName().equals("type")) {
      out.writeAttribute("xsi", INSTANCE, "type", in.getText());
    } else if (token.isScalarValue()) {
      out.writeStartElement(in.getCurrentName());
      out.writeCharacters(allowed(in.getText()));
      out.writeEndElement();
    }
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
}
