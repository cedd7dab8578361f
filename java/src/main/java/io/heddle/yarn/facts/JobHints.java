package io.heddle.yarn.facts;

import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import java.nio.ByteBuffer;

/**
 * Knowledge of a job before it runs, each part optional. Holds values in the engine's units;
 * {@link HintReader} says where they come from.
 *
 * <p>Immutable after it was built, in one go.
 */
public final class JobHints implements FrameWriter.Body {
  /** Nothing is known. */
  public static final JobHints NONE = new JobHints();

  private int known;
  private int maps;
  private int reduces;
  private int shufflePerMille;
  private long inputBytes;
  private long deadlineMs;
  private long mapMs;
  private long reduceMs;
  private long signature;

  /** The same, with totals of tasks where they are not known yet; this, if nothing is new. */
  public JobHints withTotals(long allMaps, long allReduces) {
    boolean newMaps = allMaps >= 0 && allMaps <= Integer.MAX_VALUE
        && (known & FrameLayout.HINT_MAPS) == 0;
    boolean newReduces = allReduces >= 0 && allReduces <= Integer.MAX_VALUE
        && (known & FrameLayout.HINT_REDUCES) == 0;
    if (!newMaps && !newReduces) {
      return this;
    }
    JobHints more = new JobHints();
    more.known = known;
    more.maps = maps;
    more.reduces = reduces;
    more.shufflePerMille = shufflePerMille;
    more.inputBytes = inputBytes;
    more.deadlineMs = deadlineMs;
    more.mapMs = mapMs;
    more.reduceMs = reduceMs;
    more.signature = signature;
    if (newMaps) {
      more.setMaps((int) allMaps);
    }
    if (newReduces) {
      more.setReduces((int) allReduces);
    }
    return more;
  }

  /** How many reduces there are in all; -1 if that is not known. */
  public int reduces() {
    return (known & FrameLayout.HINT_REDUCES) == 0 ? -1 : reduces;
  }

  public boolean isEmpty() {
    return known == 0;
  }

  void setMaps(int count) {
    known |= FrameLayout.HINT_MAPS;
    maps = count;
  }

  void setReduces(int count) {
    known |= FrameLayout.HINT_REDUCES;
    reduces = count;
  }

  /** Bytes shuffled for each 1,000 bytes of map input. */
  void setShufflePerMille(int ratio) {
    known |= FrameLayout.HINT_SHUFFLE_PER_MILLE;
    shufflePerMille = ratio;
  }

  void setInputBytes(long bytes) {
    known |= FrameLayout.HINT_INPUT_BYTES;
    inputBytes = bytes;
  }

  /** When it should have ended, on the engine's monotonic clock. */
  void setDeadlineMs(long atMs) {
    known |= FrameLayout.HINT_DEADLINE_MS;
    deadlineMs = atMs;
  }

  /** Mean length of a map. */
  void setMapMs(long lengthMs) {
    known |= FrameLayout.HINT_MAP_MS;
    mapMs = lengthMs;
  }

  /** Mean length of a reduce. */
  void setReduceMs(long lengthMs) {
    known |= FrameLayout.HINT_REDUCE_MS;
    reduceMs = lengthMs;
  }

  /** Common to the runs of one program on like data. */
  void setSignature(long hash) {
    known |= FrameLayout.HINT_SIGNATURE;
    signature = hash;
  }

  @Override
  public void write(ByteBuffer buffer, int at) {
    buffer.putInt(at + FrameLayout.JOB_HINTS_KNOWN, known);
    buffer.putInt(at + FrameLayout.JOB_HINTS_MAPS, maps);
    buffer.putInt(at + FrameLayout.JOB_HINTS_REDUCES, reduces);
    buffer.putInt(at + FrameLayout.JOB_HINTS_SHUFFLE_PER_MILLE, shufflePerMille);
    buffer.putLong(at + FrameLayout.JOB_HINTS_INPUT_BYTES, inputBytes);
    buffer.putLong(at + FrameLayout.JOB_HINTS_DEADLINE_MS, deadlineMs);
    buffer.putLong(at + FrameLayout.JOB_HINTS_MAP_MS, mapMs);
    buffer.putLong(at + FrameLayout.JOB_HINTS_REDUCE_MS, reduceMs);
    buffer.putLong(at + FrameLayout.JOB_HINTS_SIGNATURE, signature);
  }
}
