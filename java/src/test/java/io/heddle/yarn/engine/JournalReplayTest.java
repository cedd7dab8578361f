package io.heddle.yarn.engine;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.junit.Test;

/**
 * Replays the recorded journals through the native methods and compares the digest of the answers
 * with the recorded one. Replays in Rust and C give the same digest, so the Java side changes
 * nothing. rust/bridge/src/journal.rs describes the format, which is parsed here independently.
 */
public class JournalReplayTest {
  private static final long FNV_START = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;
  private static final int SEGMENT_HEADER_BYTES = 48;
  private static final int BLOCK_HEADER_BYTES = 16;
  private static final int SETUP = 1;
  private static final int FRAME = 2;
  private static final int REQUEST = 3;

  private long digest = FNV_START;
  private int frames;

  @Test
  public void everyJournalGivesTheDigestKeptBesideIt() throws IOException {
    NativeLibrary.load(System.getProperty(NativeLibrary.PATH_PROPERTY));
    int journals = 0;
    for (File file : dataFolder().listFiles()) {
      if (file.getName().endsWith(".journal")) {
        File kept = new File(file.getPath().replace(".journal", ".digest"));
        String expected = new String(
            Files.readAllBytes(kept.toPath()), StandardCharsets.US_ASCII).trim();
        digest = FNV_START;
        frames = 0;
        replay(ByteBuffer.wrap(Files.readAllBytes(file.toPath())));
        assertEquals(file.getName(), expected, String.format("%016x", digest));
        assertTrue(file + " has no frames", frames > 0);
        journals++;
      }
    }
    assertTrue("no journal in " + dataFolder(), journals > 0);
  }

  private static File dataFolder() {
    File at = new File(System.getProperty("user.dir")).getAbsoluteFile();
    while (at != null && !new File(at, "native-tests/data").isDirectory()) {
      at = at.getParentFile();
    }
    assertTrue("run the tests inside the checkout", at != null);
    return new File(at, "native-tests/data");
  }

  private void replay(ByteBuffer journal) {
    journal.order(ByteOrder.LITTLE_ENDIAN).position(SEGMENT_HEADER_BYTES);
    long handle = 0;
    try {
      while (journal.remaining() >= BLOCK_HEADER_BYTES) {
        int raw = journal.getInt();
        int stored = journal.getInt();
        journal.position(journal.position() + BLOCK_HEADER_BYTES - 2 * Integer.BYTES);
        assertEquals("a compressed block", raw, stored);
        int end = journal.position() + stored;
        while (journal.position() < end) {
          handle = replayEntry(journal, handle);
        }
      }
    } finally {
      Native.close(handle);
    }
  }

  /** Replays an entry and returns the engine. Recorded answers are skipped. */
  private long replayEntry(ByteBuffer journal, long handle) {
    int kind = journal.getInt();
    byte[] payload = new byte[journal.getInt()];
    long nowMs = journal.getLong();
    journal.get(payload);
    if (kind == SETUP) {
      return Native.open(new String(payload, StandardCharsets.UTF_8));
    }
    if (kind == FRAME) {
      frames++;
      step(handle, payload);
    } else if (kind == REQUEST) {
      request(handle, nowMs, new String(payload, StandardCharsets.UTF_8));
    }
    return handle;
  }

  private void step(long handle, byte[] frame) {
    ByteBuffer in = ByteBuffer.allocateDirect(frame.length).order(ByteOrder.LITTLE_ENDIAN);
    in.put(frame);
    ByteBuffer out = ByteBuffer.allocateDirect(FrameLayout.OUTPUT_HEADER_SIZE
        + FrameLayout.LOG_BYTES_MAX + decisionsMax(in) * FrameLayout.DECISION_BYTES_MAX);
    try {
      int written = Native.step(handle, in, frame.length, out);
      byte[] answer = new byte[written];
      out.get(answer);
      update(answer);
    } catch (HeddleException e) {
      updateError(e.code());
    }
  }

  private static int decisionsMax(ByteBuffer in) {
    return in.getInt(FrameLayout.INPUT_HEADER_DECISIONS_MAX);
  }

  private void request(long handle, long nowMs, String json) {
    try {
      update(Native.request(handle, nowMs, json).getBytes(StandardCharsets.UTF_8));
    } catch (HeddleException e) {
      updateError(e.code());
    }
  }

  private void updateError(int code) {
    update(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(code).array());
  }

  private void update(byte[] bytes) {
    for (byte b : bytes) {
      digest = (digest ^ (b & 0xff)) * FNV_PRIME;
    }
  }
}
