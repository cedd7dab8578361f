package io.heddle.yarn.engine;

import java.util.function.LongSupplier;
import org.apache.hadoop.util.Time;

/** The engine's clock, which is monotonic. */
public final class EngineClock {
  private static volatile LongSupplier clock = Time::monotonicNow;

  private EngineClock() {}

  /** Returns the time. */
  public static long nowMs() {
    return clock.getAsLong();
  }

  /**
   * Sets the clock of all engines of this JVM, for tests that play hours in seconds.
   *
   * @param other null for the machine's
   */
  public static void follow(LongSupplier other) {
    clock = other != null ? other : Time::monotonicNow;
  }

  /** Converts a wall-clock time of YARN's records to the engine's clock. */
  public static long toMonotonic(long wallMs) {
    return nowMs() - (Time.now() - wallMs);
  }

  /** Converts a time of the engine's clock to milliseconds since 1970. */
  public static long toWall(long engineMs) {
    return Time.now() - (nowMs() - engineMs);
  }
}
