package io.heddle.yarn.engine;

/**
 * Decides when a lost engine may be replaced: at once, or after repeated losses with a pause that
 * doubles each time. During the pause nothing is scheduled; running containers continue.
 *
 * <p>Has no clock: time is an argument.
 */
public final class RebuildLimiter {
  /** Rebuilds within {@link #WINDOW_MS} without a pause. */
  public static final int FREE_REBUILDS = 5;
  static final long WINDOW_MS = 60_000;
  public static final long PAUSE_MIN_MS = 1_000;
  static final long PAUSE_MAX_MS = 60_000;

  private final long[] times = new long[FREE_REBUILDS];
  private int count;
  private long pauseMs = PAUSE_MIN_MS;
  private long blockedUntilMs = Long.MIN_VALUE;

  /** Returns whether a rebuild may be tried. */
  boolean allows(long nowMs) {
    return nowMs >= blockedUntilMs;
  }

  /**
   * Notes that the engine was lost.
   *
   * @return how long to wait before the next attempt; 0 for no wait
   */
  long lost(long nowMs) {
    // The ring holds the last losses; this one replaces the oldest.
    long oldest = times[count % FREE_REBUILDS];
    times[count % FREE_REBUILDS] = nowMs;
    boolean often = count >= FREE_REBUILDS && nowMs - oldest < WINDOW_MS;
    count++;
    if (!often) {
      if (blockedUntilMs != Long.MIN_VALUE && nowMs - blockedUntilMs >= WINDOW_MS) {
        pauseMs = PAUSE_MIN_MS;
      }
      return 0;
    }
    long pause = pauseMs;
    blockedUntilMs = nowMs + pause;
    pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2);
    return pause;
  }
}
