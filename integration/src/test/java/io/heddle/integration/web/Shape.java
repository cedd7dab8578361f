package io.heddle.integration.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.Node;

/**
 * The comparable part of answers about queues: each queue's fields in order, with the kind of each
 * value, or with the value itself where that must match. Queues are matched by name because each
 * scheduler orders them differently.
 */
final class Shape {
  private static final String[] VALUES = {"type", "maxApps", "minResources", "maxResources",
      "clusterResources", "reservedResources", "maxContainerAllocation", "pendingContainers",
      "allocatedContainers", "reservedContainers", "queueName", "preemptable", "numPendingApps",
      "numActiveApps"};

  private Shape() {}

  /** Reads well-formed XML or fails. */
  static Document parse(String xml) throws Exception {
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    return factory.newDocumentBuilder().parse(
        new ByteArrayInputStream(xml.getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns the fields of every queue in a JSON answer; those outside of queues under "". */
  static Map<String, List<String>> ofJson(String text) throws Exception {
    Map<String, List<String>> queues = new TreeMap<>();
    JsonNode whole = new ObjectMapper().readTree(text);
    List<String> around = new ArrayList<>();
    queues.put("", around);
    jsonFields("", whole, around, false, queues);
    return queues;
  }

  private static void jsonFields(String path, JsonNode object, List<String> lines, boolean values,
      Map<String, List<String>> queues) {
    for (Iterator<Map.Entry<String, JsonNode>> fields = object.fields(); fields.hasNext(); ) {
      Map.Entry<String, JsonNode> field = fields.next();
      String name = path + "." + field.getKey();
      if (field.getKey().equals("rootQueue")) {
        lines.add(name);
        jsonQueue(field.getValue(), queues);
      } else if (field.getKey().equals("queue")) {
        lines.add(name + " " + field.getValue().getNodeType());
        field.getValue().forEach(queue -> jsonQueue(queue, queues));
      } else {
        boolean told = values || path.isEmpty() && isTold(field.getKey());
        jsonValue(name, field.getValue(), lines, told, queues);
      }
    }
  }

  private static void jsonValue(String name, JsonNode value, List<String> lines, boolean told,
      Map<String, List<String>> queues) {
    lines.add(name + " " + value.getNodeType() + (value.isFloatingPointNumber() ? " float" : "")
        + (told && value.isValueNode() && !isLimit(name) ? " " + value.asText() : ""));
    if (value.isObject()) {
      jsonFields(name, value, lines, told, queues);
    } else {
      value.forEach(element -> jsonFields(name + "[]", element, lines, told, queues));
    }
  }

  private static void jsonQueue(JsonNode queue, Map<String, List<String>> queues) {
    List<String> lines = new ArrayList<>();
    queues.put(queue.path("queueName").asText(), lines);
    jsonFields("", queue, lines, false, queues);
  }

  /** Returns the fields of every queue in an XML answer. */
  static Map<String, List<String>> ofXml(String text) throws Exception {
    Map<String, List<String>> queues = new TreeMap<>();
    List<String> around = new ArrayList<>();
    queues.put("", around);
    xmlElement("", parse(text).getDocumentElement(), around, false, queues);
    return queues;
  }

  private static void xmlElement(String path, Element element, List<String> lines, boolean values,
      Map<String, List<String>> queues) {
    String name = element.getLocalName();
    boolean told = values || path.equals("/" + "queue") && isTold(name);
    if (name.equals("queue") || name.equals("rootQueue")) {
      lines = new ArrayList<>();
      path = "";
      queues.put(childText(element, "queueName"), lines);
    }
    path = name.equals("rootQueue") ? "/queue" : path + "/" + name;
    lines.add(path + " " + attributes(element) + namespace(element)
        + kind(element, told && !isLimit(path)));
    for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element) {
        xmlElement(path, (Element) child, lines, told, queues);
      }
    }
  }

  private static String namespace(Element element) {
    return element.getNamespaceURI() == null ? "" : "{" + element.getNamespaceURI() + "}";
  }

  private static String attributes(Element element) {
    StringBuilder all = new StringBuilder();
    NamedNodeMap attributes = element.getAttributes();
    for (int i = 0; i < attributes.getLength(); i++) {
      Node attribute = attributes.item(i);
      // The place of a prefix declaration does not matter.
      if (!"http://www.w3.org/2000/xmlns/".equals(attribute.getNamespaceURI())) {
        all.append('{').append(attribute.getNamespaceURI()).append('}')
            .append(attribute.getLocalName()).append('=').append(attribute.getNodeValue());
      }
    }
    return all.toString();
  }

  private static String kind(Element element, boolean told) {
    for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element) {
        return "";
      }
    }
    String text = element.getTextContent();
    if (told) {
      return text;
    }
    return text.matches("-?\\d+") ? "integer" : text.matches("true|false") ? "boolean" : "text";
  }

  static String childText(Element element, String name) {
    for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (name.equals(child.getLocalName())) {
        return child.getTextContent();
      }
    }
    return null;
  }

  private static boolean isTold(String field) {
    for (String told : VALUES) {
      if (told.equals(field)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a field is a bound of a resource type: those depend on how an object was made. */
  private static boolean isLimit(String name) {
    return name.endsWith("imumAllocation");
  }
}
