package io.heddle.yarn.facts;

/**
 * How far a job's running reduces are, from the one number that its ApplicationMaster sends with
 * each heartbeat: P = 0.05 for its setup, 0.45 for its maps, 0.45 for its reduces, 0.05 for its
 * cleanup ({@code JobImpl}). When all maps have ended what is beyond 0.5 is the reduces' alone: the
 * mean over all of them, and so over those that run. A reduce's own progress is a third each for
 * copying, sorting and reducing.
 *
 * <p>Holds what was seen of one job. Not thread-safe.
 */
final class ReduceProgress {
  private static final double BEFORE_REDUCES = 0.5;
  private static final double OF_REDUCES = 0.45;
  private static final double REDUCING_FROM = 2.0 / 3;
  /** Single precision, and a mean over many reduces. */
  private static final double NEWS = 0.002;
  private static final long NEVER = Long.MIN_VALUE;

  private double seen = -1;
  private long seenMs;
  private long reducingSinceMs = NEVER;

  /**
   * The mean progress of the running reduces.
   *
   * @param job progress of the whole job; all its maps have ended
   * @param all how many reduces it has in all
   * @param done all without those that are asked for or have a container; a second container of
   *     one reduce makes it too few, and negative when that shows
   * @return 0 to 1, or negative if it cannot be told
   */
  static double ofRunning(double job, int all, int done, int running) {
    if (running <= 0 || done < 0 || !(job >= BEFORE_REDUCES) || all < done + running) {
      return -1;
    }
    double sum = (job - BEFORE_REDUCES) / OF_REDUCES * all - done;
    return Math.max(0, Math.min(1, sum / running));
  }

  /**
   * Takes note of the running reduces' mean progress.
   *
   * @return whether there is news of their execution
   */
  boolean note(double progress, long nowMs) {
    if (progress < 0 || Math.abs(progress - seen) < NEWS) {
      return false;
    }
    if (progress <= REDUCING_FROM) {
      // Others run now than before, or they have not begun.
      reducingSinceMs = NEVER;
    } else if (reducingSinceMs == NEVER) {
      reducingSinceMs = crossed(progress, nowMs);
    }
    seen = progress;
    seenMs = nowMs;
    return reducingSinceMs != NEVER;
  }

  /** When the mean passed two thirds: between the two times that it was seen. */
  private long crossed(double progress, long nowMs) {
    if (seen < 0 || seen > REDUCING_FROM || progress <= seen) {
      return nowMs;
    }
    double part = (REDUCING_FROM - seen) / (progress - seen);
    return seenMs + Math.round(part * (nowMs - seenMs));
  }

  /** When the reduce functions began, about; after {@link #note} said that there is news. */
  long reducingSinceMs() {
    return reducingSinceMs;
  }

  /** How far a reduce's function is, 0 to 1,000, by the progress of all of the reduce. */
  static int executedPerMille(double progress) {
    return (int) Math.round(Math.max(0, Math.min(1, 3 * (progress - REDUCING_FROM))) * 1000);
  }

  /** Whether a reduce of this progress executes its function. */
  static boolean executes(double progress) {
    return progress > REDUCING_FROM;
  }
}
