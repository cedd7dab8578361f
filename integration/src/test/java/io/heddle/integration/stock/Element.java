package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** An XML element that can be printed and made smaller; it has children or text. */
final class Element {
  final String name;
  /** As written in the start tag, such as {@code name="a" type="parent"}; may be empty. */
  final String attributes;
  final String text;
  final List<Element> children;

  private Element(String name, String attributes, String text, List<Element> children) {
    this.name = name;
    this.attributes = attributes;
    this.text = text;
    this.children = Collections.unmodifiableList(children);
  }

  static Element text(String name, Object text) {
    return new Element(name, "", String.valueOf(text), Collections.emptyList());
  }

  static Element of(String name, String attributes, List<Element> children) {
    return new Element(name, attributes, null, new ArrayList<>(children));
  }

  /** Returns the property of a Hadoop configuration file. */
  static Element property(String name, String value) {
    return of("property", "", List.of(text("name", name), text("value", value)));
  }

  /** Returns this element without each of its descendants in turn. */
  List<Element> smaller() {
    List<Element> found = new ArrayList<>();
    if (name.equals("property")) {
      return found;
    }
    for (int i = 0; i < children.size(); i++) {
      List<Element> fewer = new ArrayList<>(children);
      fewer.remove(i);
      found.add(of(name, attributes, fewer));
    }
    for (int i = 0; i < children.size(); i++) {
      for (Element less : children.get(i).smaller()) {
        List<Element> changed = new ArrayList<>(children);
        changed.set(i, less);
        found.add(of(name, attributes, changed));
      }
    }
    return found;
  }

  @Override
  public String toString() {
    StringBuilder into = new StringBuilder();
    print("", into);
    return into.toString();
  }

  private void print(String indent, StringBuilder into) {
    into.append(indent).append('<').append(name).append(attributes.isEmpty() ? "" : " ")
        .append(attributes);
    if (text != null) {
      into.append('>').append(text.replace("&", "&amp;").replace("<", "&lt;"));
    } else if (children.isEmpty()) {
      into.append("/>\n");
      return;
    } else if (name.equals("property")) {
      into.append('>');
      for (Element child : children) {
        into.append('<').append(child.name).append('>')
            .append(child.text.replace("&", "&amp;").replace("<", "&lt;"))
            .append("</").append(child.name).append('>');
      }
    } else {
      into.append(">\n");
      for (Element child : children) {
        child.print(indent + "  ", into);
      }
      into.append(indent);
    }
    into.append("</").append(name).append(">\n");
  }
}
