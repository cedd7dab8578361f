package io.heddle.yarn.recording;

import static org.junit.Assert.assertEquals;

import io.heddle.yarn.engine.FrameLayout;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads a journal in words, with a reader of its own: rust/bridge/src/journal.rs describes the
 * format, and LZ4's block format is <a
 * href="https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md">its project's</a>.
 */
final class JournalFile {
  private static final int SEGMENT_HEADER_BYTES = 48;
  private static final int BLOCK_HEADER_BYTES = 16;
  private static final int SETUP = 1;
  private static final int FRAME = 2;
  private static final int REQUEST = 3;
  private static final int END = 7;

  /** The setup, as it was written. */
  String setup;
  /** Why the recording ended. */
  String end;
  /** Records of frames and requests, a line each. */
  final List<String> lines = new ArrayList<>();
  /** Answers; a journal of another scheduler has none. */
  int answers;

  private JournalFile() {}

  /** Reads the first segment of a recording at a path. */
  static JournalFile read(File path, int recording) throws IOException {
    JournalFile journal = new JournalFile();
    File file = new File(String.format("%s.%06d.000001", path.getPath(), recording));
    ByteBuffer bytes = little(Files.readAllBytes(file.toPath()));
    bytes.position(SEGMENT_HEADER_BYTES);
    while (bytes.remaining() >= BLOCK_HEADER_BYTES) {
      int raw = bytes.getInt();
      byte[] stored = new byte[bytes.getInt()];
      bytes.position(bytes.position() + BLOCK_HEADER_BYTES - 2 * Integer.BYTES);
      bytes.get(stored);
      journal.block(little(raw == stored.length ? stored : unpack(stored, raw)));
    }
    return journal;
  }

  private static ByteBuffer little(byte[] bytes) {
    return ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static byte[] unpack(byte[] stored, int raw) {
    byte[] out = new byte[raw];
    ByteBuffer in = little(stored);
    int at = 0;
    while (in.hasRemaining()) {
      int token = in.get() & 0xFF;
      int literals = length(in, token >>> 4);
      in.get(out, at, literals);
      at += literals;
      if (!in.hasRemaining()) {
        break;
      }
      int distance = in.getShort() & 0xFFFF;
      // Byte by byte, because a copy may overlap what it copies.
      for (int left = length(in, token & 15) + 4; left > 0; left--, at++) {
        out[at] = out[at - distance];
      }
    }
    assertEquals("bytes in a block", raw, at);
    return out;
  }

  private static int length(ByteBuffer in, int start) {
    int length = start;
    int more = start == 15 ? 255 : 0;
    while (more == 255) {
      more = in.get() & 0xFF;
      length += more;
    }
    return length;
  }

  private void block(ByteBuffer entries) {
    while (entries.hasRemaining()) {
      int kind = entries.getInt();
      byte[] payload = new byte[entries.getInt()];
      entries.getLong();
      entries.get(payload);
      String text = new String(payload, StandardCharsets.UTF_8);
      if (kind == SETUP) {
        setup = text;
      } else if (kind == FRAME) {
        frame(little(payload));
      } else if (kind == REQUEST) {
        lines.add(text);
      } else if (kind == END) {
        end = text;
      } else {
        answers++;
      }
    }
  }

  private void frame(ByteBuffer frame) {
    int at = FrameLayout.INPUT_HEADER_SIZE;
    while (at < frame.capacity()) {
      lines.add(record(frame, at));
      at += frame.getShort(at + FrameLayout.RECORD_SIZE);
    }
  }

  private static String record(ByteBuffer frame, int at) {
    int id = frame.getInt(at + FrameLayout.RECORD_ID);
    switch (frame.getShort(at + FrameLayout.RECORD_KIND)) {
      case FrameLayout.NODE_ADDED:
        return "node " + id + " has " + frame.getLong(at + FrameLayout.NODE_ADDED_CAPACITY);
      case FrameLayout.NODE_CHANGED:
        return "node " + id + " now has " + frame.getLong(at + FrameLayout.NODE_ADDED_CAPACITY);
      case FrameLayout.NODE_REMOVED:
        return "node " + id + " left";
      case FrameLayout.JOB_ADDED:
        return "job " + id + " in queue " + frame.getInt(at + FrameLayout.JOB_ADDED_QUEUE)
            + " of user " + frame.getInt(at + FrameLayout.JOB_ADDED_USER);
      case FrameLayout.JOB_REMOVED:
        return "job " + id + " ended";
      case FrameLayout.CONTAINER_ADDED:
        return "job " + id + " runs " + (frame.getLong(at + FrameLayout.CONTAINER_ADDED_KEY)
            & 0xFFFF) + " on node " + frame.getInt(at + FrameLayout.CONTAINER_ADDED_NODE)
            + " at priority " + frame.getInt(at + FrameLayout.CONTAINER_ADDED_PRIORITY)
            + " with " + frame.getLong(at + FrameLayout.CONTAINER_ADDED_RESOURCE)
            + (frame.getInt(at + FrameLayout.CONTAINER_ADDED_FLAGS) != 0 ? ", its master" : "");
      case FrameLayout.CONTAINER_COMPLETED:
        return "job " + id + " ended "
            + (frame.getLong(at + FrameLayout.CONTAINER_COMPLETED_KEY) & 0xFFFF)
            + " with " + frame.getInt(at + FrameLayout.CONTAINER_COMPLETED_EXIT);
      default:
        return "record " + frame.getShort(at + FrameLayout.RECORD_KIND);
    }
  }
}
