package io.heddle.yarn.facts;

/**
 * Estimates the progress of a job's running reduces from the one number in its ApplicationMaster's
 * heartbeats: P = 0.05 for its setup, 0.45 for its maps, 0.45 for its reduces, 0.05 for its
 * cleanup ({@code JobImpl}). When all maps have ended, the part beyond 0.5 comes from the reduces
 * alone. It gives the mean over all of them, and so over those that run. A reduce's own progress is
 * a third each for copying, sorting and reducing.
 *
 * <p>Holds the last progress of one job. Not thread-safe.
 */
final class ReduceProgress {
  private static final double BEFORE_REDUCES = 0.5;
  private static final double OF_REDUCES = 0.45;
  private static final double REDUCING_FROM = 2.0 / 3;
  /** Smallest change that counts: P has single precision and is a mean over many reduces. */
  private static final double NEWS = 0.002;
  private static final long NEVER = Long.MIN_VALUE;

  private double seen = -1;
  private long seenMs;
  private long reducingSinceMs = NEVER;

  /**
   * Returns the mean progress of the running reduces.
   *
   * @param job progress of the whole job; all its maps have ended
   * @param all number of reduces in all
   * @param done all minus those that are asked for or have a container. A reduce with two
   *     containers makes it too small, perhaps negative
   * @return 0 to 1, or negative if it is unknown
   */
  static double ofRunning(double job, int all, int done, int running) {
    if (running <= 0 || done < 0 || !(job >= BEFORE_REDUCES) || all < done + running) {
      return -1;
    }
    double sum = (job - BEFORE_REDUCES) / OF_REDUCES * all - done;
    return Math.max(0, Math.min(1, sum / running));
  }

  /**
   * Notes the mean progress of the running reduces.
   *
   * @return whether it changed while they execute their functions
   */
  boolean note(double progress, long nowMs) {
    if (progress < 0 || Math.abs(progress - seen) < NEWS) {
      return false;
    }
    if (progress <= REDUCING_FROM) {
      // They have not begun, or other reduces run now.
      reducingSinceMs = NEVER;
    } else if (reducingSinceMs == NEVER) {
      reducingSinceMs = crossed(progress, nowMs);
    }
    seen = progress;
    seenMs = nowMs;
    return reducingSinceMs != NEVER;
  }

  /** Interpolates when the mean passed two thirds, between this and the previous look. */
  private long crossed(double progress, long nowMs) {
    if (seen < 0 || seen > REDUCING_FROM || progress <= seen) {
      return nowMs;
    }
    double part = (REDUCING_FROM - seen) / (progress - seen);
    return seenMs + Math.round(part * (nowMs - seenMs));
  }

  /** Returns about when the reduce functions began; valid after {@link #note} returned true. */
  long reducingSinceMs() {
    return reducingSinceMs;
  }

  /** Returns the progress of a reduce's function, 0 to 1,000, from that of the whole reduce. */
  static int executedPerMille(double progress) {
    return (int) Math.round(Math.max(0, Math.min(1, 3 * (progress - REDUCING_FROM))) * 1000);
  }

  /** Returns whether a reduce with this progress executes its function. */
  static boolean executes(double progress) {
    return progress > REDUCING_FROM;
  }
}
