package io.heddle.yarn.facts;

/**
 * Schedules the polls of one server, with a pause that doubles after each failure.
 *
 * <p>The feed's own thread begins polls; at most one other thread runs one. Shared fields are
 * volatile.
 */
class PollWatch {
  private static final long BACK_OFF_MS = 5_000;
  private static final long BACK_OFF_MAX_MS = 60_000;

  private volatile boolean polling;
  private volatile long nextPollMs = Long.MIN_VALUE;
  // Used by polls only, which run one after another.
  private long backOffMs = BACK_OFF_MS;

  /** Returns whether a poll is due. */
  final boolean isDue(long nowMs) {
    return !polling && nowMs >= nextPollMs;
  }

  /** Returns the time since which a poll is due. */
  final long nextPollMs() {
    return nextPollMs;
  }

  /** Begins a poll if one is due; returns whether it did. For the feed's thread. */
  final boolean beginPoll(long nowMs) {
    if (!isDue(nowMs)) {
      return false;
    }
    polling = true;
    return true;
  }

  /** Cancels a begun poll that got no thread; it stays due. */
  final void cancelPoll() {
    polling = false;
  }

  /** Ends a poll and sets when the next one is due. */
  final void endPoll(long nextMs) {
    nextPollMs = nextMs;
    polling = false;
  }

  /** Notes that the running poll failed; returns the pause before the next one. */
  final long failed() {
    long pauseMs = backOffMs;
    backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
    return pauseMs;
  }

  final void succeeded() {
    backOffMs = BACK_OFF_MS;
  }
}
