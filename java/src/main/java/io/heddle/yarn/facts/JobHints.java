package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import java.nio.ByteBuffer;

/**
 * Facts about a job from its submission, each optional, in the engine's units. The library reads
 * them; this copy is for a rebuilt engine.
 *
 * <p>Immutable once it is built.
 */
public final class JobHints implements FrameWriter.Body {
  private static final int HINTS = 8;
  private static final int MAPS = 0;
  private static final int REDUCES = 1;

  private final long[] values = new long[HINTS];
  private int known;

  /** Reads the library's list: a number or null for each hint, in the order of the flags. */
  public JobHints(JsonNode said) {
    for (int hint = 0; hint < HINTS; hint++) {
      if (said.path(hint).isNumber()) {
        set(hint, said.path(hint).asLong());
      }
    }
  }

  private void set(int hint, long value) {
    known |= 1 << hint;
    values[hint] = value;
  }

  private boolean knows(int hint) {
    return (known & 1 << hint) != 0;
  }

  /** Returns a copy with unknown totals filled in, or this if none was unknown. */
  public JobHints withTotals(long allMaps, long allReduces) {
    JobHints more = new JobHints(MissingNode.getInstance());
    System.arraycopy(values, 0, more.values, 0, HINTS);
    more.known = known;
    more.learn(MAPS, allMaps);
    more.learn(REDUCES, allReduces);
    return more.known == known ? this : more;
  }

  private void learn(int hint, long total) {
    if (!knows(hint) && total >= 0 && total <= Integer.MAX_VALUE) {
      set(hint, total);
    }
  }

  /** Returns the number of reduces in all; -1 if it is unknown. */
  public int reduces() {
    return knows(REDUCES) ? (int) values[REDUCES] : -1;
  }

  public boolean isEmpty() {
    return known == 0;
  }

  @Override
  public void write(ByteBuffer buffer, int at) {
    buffer.putInt(at + FrameLayout.JOB_HINTS_KNOWN, known);
    buffer.putInt(at + FrameLayout.JOB_HINTS_MAPS, (int) values[MAPS]);
    buffer.putInt(at + FrameLayout.JOB_HINTS_REDUCES, (int) values[REDUCES]);
    buffer.putLong(at + FrameLayout.JOB_HINTS_INPUT_BYTES, values[2]);
    buffer.putInt(at + FrameLayout.JOB_HINTS_SHUFFLE_PER_MILLE, (int) values[3]);
    buffer.putLong(at + FrameLayout.JOB_HINTS_DEADLINE_MS, values[4]);
    buffer.putLong(at + FrameLayout.JOB_HINTS_MAP_MS, values[5]);
    buffer.putLong(at + FrameLayout.JOB_HINTS_REDUCE_MS, values[6]);
    buffer.putLong(at + FrameLayout.JOB_HINTS_SIGNATURE, values[7]);
  }
}
