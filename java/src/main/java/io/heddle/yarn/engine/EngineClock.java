package io.heddle.yarn.engine;

import org.apache.hadoop.util.Time;

/** The engine's clock, which is monotonic. */
public final class EngineClock {
  private EngineClock() {}

  /** Converts a wall-clock time of YARN's records to the engine's clock. */
  public static long toMonotonic(long wallMs) {
    return Time.monotonicNow() - (Time.now() - wallMs);
  }

  /** Converts a time of the engine's clock to milliseconds since 1970. */
  public static long toWall(long engineMs) {
    return Time.now() - (Time.monotonicNow() - engineMs);
  }
}
