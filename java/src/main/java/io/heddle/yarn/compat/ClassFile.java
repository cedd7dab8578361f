package io.heddle.yarn.compat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The declarations and references of a class file, named as in the Java Virtual Machine
 * Specification, chapter 4. Loads no class: a library that only other parts of Hadoop need may be
 * absent.
 *
 * <p>A member's key is {@code name(types)type} for a method, {@code name:type} for a field.
 */
final class ClassFile {
  static final int PRIVATE = 0x2;
  static final int STATIC = 0x8;
  static final int FINAL = 0x10;
  static final int INTERFACE = 0x200;
  static final int ABSTRACT = 0x400;

  private static final int UTF8 = 1;
  private static final int CLASS = 7;
  private static final int FIELD_REF = 9;
  private static final int INTERFACE_METHOD_REF = 11;

  final int flags;
  /** The superclass, if there is one, then the interfaces. */
  final List<String> parents = new ArrayList<>();
  /** The flags of declared fields and methods by key. */
  final Map<String, Integer> members = new HashMap<>();

  private final ByteBuffer bytes;
  /** The offset of each constant's tag; 0 where there is none. */
  private final int[] constants;

  /** A use of a member. */
  static final class Reference {
    final String owner;
    final String key;
    final boolean ofInterface;

    Reference(String owner, String key, boolean ofInterface) {
      this.owner = owner;
      this.key = key;
      this.ofInterface = ofInterface;
    }
  }

  ClassFile(InputStream in) throws IOException {
    bytes = ByteBuffer.wrap(allOf(in));
    bytes.position(8); // After the magic number and the version.
    constants = new int[nextShort()];
    for (int i = 1; i < constants.length; i++) {
      constants[i] = bytes.position();
      int tag = bytes.get();
      skip(length(tag));
      if (tag == 5 || tag == 6) {
        i++; // A long or a double counts as two.
      }
    }
    flags = nextShort();
    nextShort(); // Its name.
    int parent = nextShort();
    if (parent != 0) {
      parents.add(name(parent));
    }
    for (int left = nextShort(); left > 0; left--) {
      parents.add(name(nextShort()));
    }
    readMembers(":");
    readMembers("");
  }

  // Does not use Hadoop's Guava, because a Hadoop may lack it and this check must report that.
  private static byte[] allOf(InputStream in) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream(1 << 14);
    byte[] part = new byte[1 << 13];
    for (int count = in.read(part); count > 0; count = in.read(part)) {
      all.write(part, 0, count);
    }
    return all.toByteArray();
  }

  private int length(int tag) throws IOException {
    switch (tag) {
      case UTF8:
        return 2 + (bytes.getShort(bytes.position()) & 0xFFFF);
      case CLASS: case 8: case 16: case 19: case 20:
        return 2;
      case 15:
        return 3;
      case 3: case 4: case FIELD_REF: case 10: case INTERFACE_METHOD_REF: case 12: case 17: case 18:
        return 4;
      case 5: case 6:
        return 8;
      default:
        throw new IOException("constant of an unknown kind, " + tag);
    }
  }

  private void readMembers(String separator) {
    for (int left = nextShort(); left > 0; left--) {
      int flags = nextShort();
      members.put(text(nextShort()) + separator + text(nextShort()), flags);
      for (int attributes = nextShort(); attributes > 0; attributes--) {
        nextShort();
        skip(bytes.getInt());
      }
    }
  }

  private int nextShort() {
    return bytes.getShort() & 0xFFFF;
  }

  private void skip(int count) {
    bytes.position(bytes.position() + count);
  }

  private int tag(int constant) {
    return constants[constant] == 0 ? 0 : bytes.get(constants[constant]);
  }

  /** Returns the constant that a constant names first or second. */
  private int link(int constant, int which) {
    return bytes.getShort(constants[constant] + 1 + 2 * which) & 0xFFFF;
  }

  private String text(int constant) {
    return new String(
        bytes.array(), constants[constant] + 3, link(constant, 0), StandardCharsets.UTF_8);
  }

  private String name(int constant) {
    return text(link(constant, 0));
  }

  /** Returns the classes that it names, with slashes; no arrays. */
  List<String> classes() {
    List<String> found = new ArrayList<>();
    for (int i = 1; i < constants.length; i++) {
      if (tag(i) == CLASS && !name(i).startsWith("[")) {
        found.add(name(i));
      }
    }
    return found;
  }

  /** Returns the fields and methods that it uses. */
  List<Reference> references() {
    List<Reference> found = new ArrayList<>();
    for (int i = 1; i < constants.length; i++) {
      int tag = tag(i);
      if (tag >= FIELD_REF && tag <= INTERFACE_METHOD_REF) {
        int member = link(i, 1);
        String separator = tag == FIELD_REF ? ":" : "";
        String key = text(link(member, 0)) + separator + text(link(member, 1));
        found.add(new Reference(name(link(i, 0)), key, tag == INTERFACE_METHOD_REF));
      }
    }
    return found;
  }
}
