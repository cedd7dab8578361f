package io.heddle.yarn.engine;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.node.MissingNode;
import io.heddle.yarn.facts.JobHints;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.Test;

/** Tests frames byte by byte. Expected bytes are derived by hand from the layout. */
public class FrameTest {
  private final ResourceCodec resources = new ResourceCodec();

  private static byte[] bytes(FrameWriter writer) {
    byte[] bytes = new byte[writer.length()];
    ByteBuffer view = writer.buffer().duplicate();
    view.position(0);
    view.get(bytes);
    return bytes;
  }

  @Test
  public void aFrameHasItsHeaderAndItsRecords() {
    FrameWriter writer = new FrameWriter(resources, 64);
    writer.heartbeat(7, Resource.newInstance(4096, 3));
    writer.ack(5, 0x0102030405060708L, 9);
    writer.finish(1234, 77, 1024);
    ByteBuffer expected = ByteBuffer.allocate(32 + 72 + 24).order(ByteOrder.LITTLE_ENDIAN);
    expected.putInt(FrameLayout.ABI_VERSION).putInt(32 + 72 + 24).putLong(1234).putLong(77)
        .putInt(2).putInt(1024);
    expected.putShort((short) 4).putShort((short) 72).putInt(7).putLong(4096).putLong(3);
    expected.position(32 + 72);
    expected.putShort((short) 15).putShort((short) 24).putInt(5)
        .putLong(0x0102030405060708L).putLong(9);
    assertArrayEquals(expected.array(), bytes(writer));
    assertEquals(2, writer.records());
    writer.clear();
    assertEquals(32, writer.length());
    assertEquals(0, writer.records());
  }

  @Test
  public void aBufferGrowsWithoutLosingWhatItHolds() {
    FrameWriter small = new FrameWriter(resources, 64);
    FrameWriter large = new FrameWriter(resources, 1 << 16);
    for (FrameWriter writer : new FrameWriter[] {small, large}) {
      for (int i = 0; i < 200; i++) {
        writer.askRow(i, i + 1, i + 2, i + 3, i % 2 == 0);
        writer.ask(i, 1, 2, 3, 4, 5, Resource.newInstance(i, 1));
      }
      writer.finish(1, 2, 3);
    }
    assertArrayEquals(bytes(large), bytes(small));
  }

  private static int grown(FrameWriter writer, int length) {
    while (writer.length() <= length) {
      writer.askRow(1, 2, 3, 4, true);
    }
    return writer.buffer().capacity();
  }

  /** The first frame after a failover has all books in it; the next ones are short. */
  @Test
  public void aBufferThatOneLongFrameMadeLargeIsGivenBack() {
    FrameWriter writer = new FrameWriter(resources, 4096);
    assertTrue(grown(writer, 5 << 20) > 5 << 20);
    writer.clear();
    assertEquals(4096, writer.buffer().capacity());
    int kept = grown(writer, 1 << 20);
    writer.clear();
    assertEquals("frames of this length come again", kept, writer.buffer().capacity());
  }

  @Test
  public void nothingOfAnOlderFrameShinesThrough() {
    FrameWriter writer = new FrameWriter(resources, 4096);
    for (int i = 0; i < 30; i++) {
      writer.ask(-1, -1, -1, -1, -1, -1, Resource.newInstance(Long.MAX_VALUE, -1));
    }
    writer.clear();
    writer.jobMoved(1, 2);
    writer.nack(3, 4, 5);
    writer.jobHints(6, new JobHints(MissingNode.getInstance()));
    writer.nodeLoad(7, 250);
    writer.containerAdded(1, 2, 3, false, 4, 5, Resource.newInstance(6, 7));
    writer.finish(0, 0, 0);
    byte[] reused = bytes(writer);
    FrameWriter fresh = new FrameWriter(resources, 4096);
    fresh.jobMoved(1, 2);
    fresh.nack(3, 4, 5);
    fresh.jobHints(6, new JobHints(MissingNode.getInstance()));
    fresh.nodeLoad(7, 250);
    fresh.containerAdded(1, 2, 3, false, 4, 5, Resource.newInstance(6, 7));
    fresh.finish(0, 0, 0);
    assertArrayEquals(bytes(fresh), reused);
  }

  private static FrameReader answer(int flags, int records, int length, byte[]... bodies) {
    FrameReader reader = new FrameReader(4096);
    ByteBuffer out = reader.buffer();
    out.putInt(0, FrameLayout.ABI_VERSION);
    out.putInt(4, length);
    out.putLong(8, 42);
    out.putInt(16, records);
    out.putInt(20, flags);
    out.putLong(24, 0);
    out.putLong(32, 6);
    out.putLong(40, 0);
    int at = 48;
    for (byte[] body : bodies) {
      for (byte b : body) {
        out.put(at++, b);
      }
    }
    reader.begin(length, 42);
    return reader;
  }

  private static byte[] grant(int job, int ask, int node, int locality, long seq) {
    return ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN).putShort((short) 1)
        .putShort((short) 32).putInt(job).putInt(ask).putInt(node).putInt(locality).putInt(0)
        .putLong(seq).array();
  }

  private static byte[] log(int level, String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    int size = 16 + (utf8.length + 7) / 8 * 8;
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN).putShort((short) 4)
        .putShort((short) size).putInt(level).putInt(utf8.length).putInt(0).put(utf8).array();
  }

  @Test
  public void decisionsAreReadInOrder() {
    byte[] grant = grant(1, 2, 3, 1, 99);
    byte[] text = log(2, "Hä?");
    FrameReader reader = answer(1, 2, 48 + grant.length + text.length, grant, text);
    assertTrue(reader.idle());
    assertFalse(reader.more());
    assertEquals(6, reader.ignored());
    assertTrue(reader.next());
    assertEquals(FrameLayout.GRANT, reader.kind());
    assertEquals(1, reader.id());
    assertEquals(2, reader.intAt(FrameLayout.GRANT_ASK));
    assertEquals(3, reader.intAt(FrameLayout.GRANT_NODE));
    assertEquals(1, reader.intAt(FrameLayout.GRANT_LOCALITY));
    assertEquals(99, reader.longAt(FrameLayout.GRANT_SEQ));
    assertTrue(reader.next());
    assertEquals("Hä?", reader.logText());
    assertFalse(reader.next());
  }

  @Test
  public void aFrameThatIsNotWhatItSaysIsRefused() {
    byte[] grant = grant(1, 2, 3, 1, 99);
    byte[] cut = grant.clone();
    cut[2] = 16;
    byte[] beyond = grant.clone();
    beyond[2] = 64;
    Object[][] cases = {
        {2, 48 + 32, grant}, {0, 48 + 32, grant}, {1, 48 + 32, cut}, {1, 48 + 32, beyond},
        {1, 48, new byte[0]}, {1, 47, new byte[0]},
    };
    for (Object[] each : cases) {
      try {
        FrameReader reader = answer(0, (int) each[0], (int) each[1], (byte[]) each[2]);
        while (reader.next()) {
          continue;
        }
        fail("accepted " + each[0] + " records in " + each[1] + " bytes");
      } catch (IllegalStateException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("malformed"));
      }
    }
    FrameReader reader = answer(0, 0, 48);
    try {
      reader.begin(48, 43);
      fail("the answer to another frame");
    } catch (IllegalStateException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("sequence"));
    }
  }

  @Test
  public void resourcesComeBackAsTheyWent() {
    ByteBuffer buffer = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
    Resource resource = Resource.newInstance(1L << 40, 12);
    resources.put(buffer, 0, resource);
    assertEquals(resource, resources.get(buffer, 0));
    buffer.putLong(8, Long.MAX_VALUE);
    assertEquals(Integer.MAX_VALUE, resources.get(buffer, 0).getVirtualCores());
    assertTrue(resources.fits(Resource.newInstance(1, 1), Resource.newInstance(1, 1)));
    assertFalse(resources.fits(Resource.newInstance(1, 2), Resource.newInstance(9, 1)));
    assertTrue(resources.anyNegative(Resource.newInstance(5, -1)));
  }
}
