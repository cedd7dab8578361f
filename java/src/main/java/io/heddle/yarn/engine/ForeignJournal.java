package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.Resource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The journal of another scheduler: events go in, and no decision comes out. The library writes
 * the files. Does not interpret events.
 *
 * <p>Not thread-safe: the recorder guards it.
 */
public final class ForeignJournal {
  private static final Logger LOG = LoggerFactory.getLogger(ForeignJournal.class);
  private static final int INPUT_BYTES = 1 << 14;
  private static final int DECISIONS_MAX = 0;

  private final FrameWriter writer;
  private final FrameReader reader = new FrameReader(
      FrameLayout.OUTPUT_HEADER_SIZE + FrameLayout.LOG_BYTES_MAX);
  private final long handle;
  private boolean recording;
  private long frameMs;
  private long sequence;

  /**
   * Begins a recording.
   *
   * @param scheduler the one that decides, as a replay names it
   * @param minimum YARN's smallest container
   * @throws HeddleException if the library refuses
   */
  public ForeignJournal(
      Journal journal, String scheduler, Resource minimum, ResourceCodec resources) {
    writer = new FrameWriter(resources, INPUT_BYTES);
    handle = Native.open(SetupJson.foreign(minimum, journal, scheduler));
    recording = true;
    frameMs = Time.monotonicNow();
    // Shows at once whether the files can be made.
    step();
  }

  /** Returns whether events are still written; the log has the reason why not. */
  public boolean recording() {
    return recording;
  }

  /** Returns the writer of the frame of this millisecond; sends an earlier one. */
  public FrameWriter out() {
    long nowMs = Time.monotonicNow();
    if (nowMs != frameMs) {
      flush();
    }
    frameMs = nowMs;
    return writer;
  }

  /** Sends a frame, even without events, so that the journal records the time. */
  public void beat() {
    out();
    step();
  }

  /** Records a request, after the events before it. */
  public void request(String json) {
    flush();
    Native.request(handle, Time.monotonicNow(), json);
  }

  /** Ends the recording, after a short wait for what is not yet written. */
  public void close() {
    flush();
    Native.close(handle);
  }

  private void flush() {
    if (writer.records() > 0) {
      step();
    }
  }

  private void step() {
    writer.finish(frameMs, ++sequence, DECISIONS_MAX);
    int written = Native.step(handle, writer.buffer(), writer.length(), reader.buffer());
    writer.clear();
    reader.begin(written, sequence);
    boolean warned = false;
    while (reader.next()) {
      if (reader.kind() == FrameLayout.LOG) {
        Engine.log(LOG, reader.id(), reader.logText());
        warned |= reader.id() <= FrameLayout.LOG_WARN;
      }
    }
    if (warned) {
      JsonNode status = SetupJson.read(
          Native.request(handle, frameMs, SetupJson.request("journal")));
      recording = status.path("stopped").isNull();
    }
  }
}
