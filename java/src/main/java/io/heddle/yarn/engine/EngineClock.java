package io.heddle.yarn.engine;

import org.apache.hadoop.util.Time;

/** The monotonic clock that the engine lives by. */
public final class EngineClock {
  private EngineClock() {}

  /** Returns the reading of the engine's clock at a wall-clock time of YARN's records. */
  public static long toMonotonic(long wallMs) {
    return Time.monotonicNow() - (Time.now() - wallMs);
  }
}
