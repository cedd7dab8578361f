package io.heddle.yarn.engine;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Reads an output frame record by record without an object per record: the getters read the record
 * that {@link #next} moved to. Checks every length, so that a malformed frame never becomes a
 * container. Decides nothing.
 */
final class FrameReader {
  private final ByteBuffer buffer;
  private int length;
  private int records;
  private int seen;
  private int at;
  private int next;

  /** Makes a reader and the direct buffer that the engine writes to. */
  FrameReader(int capacity) {
    buffer = ByteBuffer.allocateDirect(capacity).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns the buffer that the engine writes to. */
  ByteBuffer buffer() {
    return buffer;
  }

  /**
   * Begins to read a frame.
   *
   * @param written how many bytes the engine reports
   * @param sequence the sequence number of the input frame
   * @throws IllegalStateException if the frame does not follow the layout
   */
  void begin(int written, long sequence) {
    check(written >= FrameLayout.OUTPUT_HEADER_SIZE && written <= buffer.capacity(), "length");
    check(buffer.getInt(FrameLayout.OUTPUT_HEADER_ABI) == FrameLayout.ABI_VERSION, "version");
    check(buffer.getInt(FrameLayout.OUTPUT_HEADER_LENGTH) == written, "length in the header");
    check(buffer.getLong(FrameLayout.OUTPUT_HEADER_SEQUENCE) == sequence, "sequence");
    length = written;
    records = buffer.getInt(FrameLayout.OUTPUT_HEADER_RECORDS);
    seen = 0;
    next = FrameLayout.OUTPUT_HEADER_SIZE;
  }

  private static void check(boolean condition, String what) {
    if (!condition) {
      throw new IllegalStateException("malformed output frame: " + what);
    }
  }

  /** Returns whether no ask waits for a node; limits may hold some back. */
  boolean idle() {
    return (buffer.getInt(FrameLayout.OUTPUT_HEADER_FLAGS) & FrameLayout.OUTPUT_IDLE) != 0;
  }

  /** Returns whether the decisions reached the maximum that the input frame allows. */
  boolean more() {
    return (buffer.getInt(FrameLayout.OUTPUT_HEADER_FLAGS) & FrameLayout.OUTPUT_MORE) != 0;
  }

  /** Returns how many events the engine has ignored since it was made. */
  long ignored() {
    return buffer.getLong(FrameLayout.OUTPUT_HEADER_IGNORED);
  }

  /** Moves to the next record; false at the end of the frame. */
  boolean next() {
    if (seen == records) {
      check(next == length, "bytes after the last record");
      return false;
    }
    at = next;
    check(at + FrameLayout.RECORD_HEADER_SIZE <= length, "record header");
    int size = buffer.getShort(at + FrameLayout.RECORD_SIZE) & 0xFFFF;
    check(size >= sizeMin(kind()) && at + size <= length, "record size");
    next = at + size;
    seen++;
    return true;
  }

  private static int sizeMin(int kind) {
    switch (kind) {
      case FrameLayout.GRANT:
        return FrameLayout.GRANT_SIZE;
      case FrameLayout.EVICT:
        return FrameLayout.EVICT_SIZE;
      case FrameLayout.HEADROOM:
        return FrameLayout.HEADROOM_SIZE;
      case FrameLayout.LOG:
        return FrameLayout.LOG_SIZE;
      default:
        return FrameLayout.RECORD_HEADER_SIZE;
    }
  }

  int kind() {
    return buffer.getShort(at + FrameLayout.RECORD_KIND) & 0xFFFF;
  }

  /** Returns the job, or the level of a LOG. */
  int id() {
    return buffer.getInt(at + FrameLayout.RECORD_ID);
  }

  /** Reads a field by its offset in the record. */
  int intAt(int field) {
    return buffer.getInt(at + field);
  }

  /** Reads a long field by its offset in the record. */
  long longAt(int field) {
    return buffer.getLong(at + field);
  }

  /** Returns the offset of a headroom's resources, for {@link ResourceCodec#get}. */
  int headroomOffset() {
    return at + FrameLayout.HEADROOM_RESOURCE;
  }

  String logText() {
    int bytes = buffer.getInt(at + FrameLayout.LOG_LENGTH);
    check(bytes >= 0 && at + FrameLayout.LOG_TEXT + bytes <= next, "log length");
    byte[] text = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      text[i] = buffer.get(at + FrameLayout.LOG_TEXT + i);
    }
    return new String(text, StandardCharsets.UTF_8);
  }
}
