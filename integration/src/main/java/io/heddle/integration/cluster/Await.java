/*
 * Waits for a condition up to a time limit, and names the condition when the limit is reached.
 */
package io.heddle.integration.cluster;

import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** Polls until a condition holds. */
public final class Await {
  /** Bounds hanging. Nothing takes so long, not even beside six busy loops on two processors. */
  public static final int SECONDS = 300;

  /** Between two looks at first. Many ask another process, which takes its processor time. */
  private static final long FIRST_POLL_MS = 50;
  /** The longest, once a wait has taken {@link #POLLS_PER_WAIT} times as long. */
  private static final long LAST_POLL_MS = 250;
  private static final int POLLS_PER_WAIT = 20;

  private Await() {}

  /**
   * Returns once the condition holds.
   *
   * @param what the condition in words, for the message
   * @param seconds the time limit: a bound on hanging, not a measure of speed
   * @param state describes the state when the limit is reached, may be null
   * @throws AssertionError if it does not hold in time
   */
  public static void until(
      String what, int seconds, Callable<Boolean> condition, Supplier<String> state)
      throws Exception {
    long startNanos = System.nanoTime();
    while (!condition.call()) {
      long waitedMs = (System.nanoTime() - startNanos) / 1_000_000;
      if (waitedMs > seconds * 1000L) {
        String now = state == null ? "" : "; now: " + state.get();
        throw new AssertionError("not within " + seconds + " s: " + what + now);
      }
      Thread.sleep(
          Math.max(FIRST_POLL_MS, Math.min(LAST_POLL_MS, waitedMs / POLLS_PER_WAIT)));
    }
  }

  /** Waits without a description of the state. */
  public static void until(String what, int seconds, Callable<Boolean> condition)
      throws Exception {
    until(what, seconds, condition, null);
  }
}
