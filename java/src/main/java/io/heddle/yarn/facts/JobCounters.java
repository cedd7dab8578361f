package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
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
   * Takes over what the library read of two answers; unknown numbers count as nothing.
   *
   * @param totals maps, reduces, and how many of each have succeeded
   * @param moved bytes of input, map output, shuffle and output; missing if not asked for
   */
  JobCounters(JsonNode totals, JsonNode moved) {
    mapsDone = count(totals.path(2).asLong());
    reducesDone = count(totals.path(3).asLong());
    inputBytes = moved.path(0).asLong();
    mapOutputBytes = moved.path(1).asLong();
    shuffledBytes = moved.path(2).asLong();
    writtenBytes = moved.path(3).asLong();
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
