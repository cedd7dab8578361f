package io.heddle.yarn.facts;

import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import java.nio.ByteBuffer;

/** The work of all tasks of a job so far, as its ApplicationMaster counts it. Immutable. */
public final class JobCounters implements FrameWriter.Body {
  private final int mapsDone;
  private final int reducesDone;
  private final long inputBytes;
  private final long mapOutputBytes;
  private final long shuffledBytes;
  private final long writtenBytes;

  /**
   * Takes over an answer; {@link AmReplies#UNKNOWN} counts as 0 tasks.
   *
   * @param moved null if it was not polled
   */
  JobCounters(AmReplies.Totals totals, AmReplies.Moved moved) {
    mapsDone = count(totals.mapsDone);
    reducesDone = count(totals.reducesDone);
    inputBytes = moved == null ? 0 : moved.input;
    mapOutputBytes = moved == null ? 0 : moved.mapOutput;
    shuffledBytes = moved == null ? 0 : moved.shuffled;
    writtenBytes = moved == null ? 0 : moved.written;
  }

  private static int count(long number) {
    return (int) Math.max(0, Math.min(Integer.MAX_VALUE, number));
  }

  @Override
  public void write(ByteBuffer buffer, int at) {
    buffer.putInt(at + FrameLayout.JOB_COUNTERS_MAPS_DONE, mapsDone);
    buffer.putInt(at + FrameLayout.JOB_COUNTERS_REDUCES_DONE, reducesDone);
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_INPUT_BYTES, inputBytes);
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_MAP_OUTPUT_BYTES, mapOutputBytes);
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_SHUFFLED_BYTES, shuffledBytes);
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_WRITTEN_BYTES, writtenBytes);
  }
}
