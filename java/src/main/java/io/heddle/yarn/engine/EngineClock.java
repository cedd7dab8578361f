package io.heddle.yarn.engine;

import org.apache.hadoop.util.Time;

/** The engine's clock, which is monotonic. */
public final class EngineClock {
  private EngineClock() {}

  /** Converts a wall-clock time of YARN's records to the engine's clock. */
  public static long toMonotonic(long wallMs) {
    return Time.monotonicNow() - (Time.now() - wallMs);
  }
}
