package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import java.nio.ByteBuffer;

/** The work of all tasks of a job so far, as its ApplicationMaster counts it. Immutable. */
public final class JobCounters implements FrameWriter.Body {
  private final JsonNode totals;
  private final JsonNode moved;

  /**
   * Takes over what the library read of two answers; unknown numbers count as nothing.
   *
   * @param totals maps, reduces, and how many of each have succeeded
   * @param moved bytes of input, map output, shuffle and output; missing if not asked for
   */
  JobCounters(JsonNode totals, JsonNode moved) {
    this.totals = totals;
    this.moved = moved;
  }

  private static int count(long number) {
    return (int) Math.max(0, Math.min(Integer.MAX_VALUE, number));
  }

  @Override
  public void write(ByteBuffer buffer, int at) {
    buffer.putInt(at + FrameLayout.JOB_COUNTERS_MAPS_DONE, count(totals.path(2).asLong()));
    buffer.putInt(at + FrameLayout.JOB_COUNTERS_REDUCES_DONE, count(totals.path(3).asLong()));
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_INPUT_BYTES, moved.path(0).asLong());
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_MAP_OUTPUT_BYTES, moved.path(1).asLong());
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_SHUFFLED_BYTES, moved.path(2).asLong());
    buffer.putLong(at + FrameLayout.JOB_COUNTERS_WRITTEN_BYTES, moved.path(3).asLong());
  }
}
