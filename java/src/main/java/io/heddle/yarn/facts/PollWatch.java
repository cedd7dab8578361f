package io.heddle.yarn.facts;

/**
 * Schedules the polls of one server, with a pause that doubles after each failure.
 *
 * <p>The feed's own thread begins polls; at most one other runs one. Shared fields are volatile.
 */
class PollWatch {
  private static final long BACK_OFF_MS = 5_000;
  private static final long BACK_OFF_MAX_MS = 60_000;

  private volatile boolean polling;
  private volatile long nextPollMs = Long.MIN_VALUE;
  // Of polls alone, which follow one another.
  private long backOffMs = BACK_OFF_MS;

  /** Whether a poll is due. */
  final boolean isDue(long nowMs) {
    return !polling && nowMs >= nextPollMs;
  }

  /** Returns the time since which a poll is due. */
  final long nextPollMs() {
    return nextPollMs;
  }

  /** Whether a poll is due; then it counts as begun. For the feed's thread. */
  final boolean beginPoll(long nowMs) {
    if (!isDue(nowMs)) {
      return false;
    }
    polling = true;
    return true;
  }

  /** The poll that had begun got no thread: it is due as before. */
  final void cancelPoll() {
    polling = false;
  }

  /** A poll ended; the next one comes so much later. */
  final void endPoll(long nextMs) {
    nextPollMs = nextMs;
    polling = false;
  }

  /** The poll that runs has failed. Returns how long not to ask again. */
  final long failed() {
    long pauseMs = backOffMs;
    backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
    return pauseMs;
  }

  final void succeeded() {
    backOffMs = BACK_OFF_MS;
  }
}
