package io.heddle.yarn.web;

import java.io.Closeable;
import java.io.IOException;

/**
 * A document of nested objects, written as JSON or XML the way the ResourceManager's REST writes
 * its own: a field is a member or an element, a list is an array or repeated elements, and the
 * type of an object is a member {@code type} or an attribute {@code xsi:type}.
 */
interface InfoDocument extends Closeable {
  /** Begins an object; {@code type} may be null. */
  void begin(String field, String type) throws IOException;

  /** Ends the object or element of a list that was begun last. */
  void end() throws IOException;

  /** Begins a field that holds any number of objects. */
  void beginList(String field) throws IOException;

  /** Begins the next object of the list {@code field}; {@code type} may be null. */
  void beginElement(String field, String type) throws IOException;

  /** Ends the list that was begun last. */
  void endList() throws IOException;

  /** Writes a field that holds text. */
  void text(String field, String value) throws IOException;

  /** Writes a field that holds a whole number. */
  void number(String field, long value) throws IOException;

  /** Writes a field that holds true or false. */
  void flag(String field, boolean value) throws IOException;
}
