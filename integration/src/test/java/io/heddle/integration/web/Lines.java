package io.heddle.integration.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.w3c.dom.Element;
import org.w3c.dom.NamedNodeMap;
import org.w3c.dom.Node;

/** A document as one line for each value, in its order: its path, its kind and the value. */
final class Lines {
  /** Rights of a queue are sorted: in 3.3 stock lists them in the order of their hash codes. */
  private static final String RIGHT = "queueAcl";

  private Lines() {}

  static List<String> ofJson(String text) throws Exception {
    List<String> lines = new ArrayList<>();
    json("", new ObjectMapper().readTree(text), lines);
    return lines;
  }

  private static void json(String path, JsonNode value, List<String> lines) {
    if (value.isObject()) {
      if (value.size() == 0) {
        lines.add(path + " {}");
      }
      for (Iterator<Map.Entry<String, JsonNode>> fields = value.fields(); fields.hasNext(); ) {
        Map.Entry<String, JsonNode> field = fields.next();
        json(path + "/" + field.getKey(), field.getValue(), lines);
      }
    } else if (value.isArray()) {
      List<JsonNode> elements = new ArrayList<>();
      value.forEach(elements::add);
      if (path.endsWith("/" + RIGHT)) {
        elements.sort(Comparator.comparing(JsonNode::toString));
      }
      for (int i = 0; i < elements.size(); i++) {
        json(path + "[" + i + "]", elements.get(i), lines);
      }
    } else {
      lines.add(path + " " + value);
    }
  }

  static List<String> ofXml(String text) throws Exception {
    List<String> lines = new ArrayList<>();
    xml("", Shape.parse(text).getDocumentElement(), lines);
    return lines;
  }

  private static void xml(String path, Element element, List<String> lines) {
    String here = path + "/" + element.getLocalName();
    NamedNodeMap attributes = element.getAttributes();
    for (int i = 0; i < attributes.getLength(); i++) {
      Node attribute = attributes.item(i);
      // The place of a prefix declaration does not matter.
      if (!"http://www.w3.org/2000/xmlns/".equals(attribute.getNamespaceURI())) {
        lines.add(here + " @" + attribute.getLocalName() + " " + attribute.getNodeValue());
      }
    }
    List<Element> children = new ArrayList<>();
    for (Node child = element.getFirstChild(); child != null; child = child.getNextSibling()) {
      if (child instanceof Element) {
        children.add((Element) child);
      }
    }
    if (children.isEmpty()) {
      lines.add(here + " " + element.getTextContent());
    } else if (children.get(0).getLocalName().equals(RIGHT)) {
      children.sort(Comparator.comparing(Element::getTextContent));
    }
    for (Element child : children) {
      xml(here, child, lines);
    }
  }

  /** Returns what is in one of two documents alone, without lines that match a pattern. */
  static String differences(List<String> stock, List<String> ours, String known) {
    List<String> left = without(stock, known);
    List<String> right = without(ours, known);
    StringBuilder all = new StringBuilder();
    int at = 0;
    for (String line : left) {
      int found = indexOf(right, line, at);
      if (found < 0) {
        all.append("stock  ").append(line).append('\n');
      } else {
        for (; at < found; at++) {
          all.append("Heddle ").append(right.get(at)).append('\n');
        }
        at++;
      }
    }
    for (; at < right.size(); at++) {
      all.append("Heddle ").append(right.get(at)).append('\n');
    }
    return all.toString();
  }

  private static int indexOf(List<String> lines, String line, int from) {
    int found = lines.subList(from, lines.size()).indexOf(line);
    return found < 0 ? -1 : from + found;
  }

  private static List<String> without(List<String> lines, String known) {
    List<String> rest = new ArrayList<>(lines);
    rest.removeIf(line -> line.matches(known));
    return rest;
  }
}
