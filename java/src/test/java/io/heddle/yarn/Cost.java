package io.heddle.yarn;

import static org.junit.Assert.fail;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Measures what a handler costs when its input grows. Compares processor times of one run, and the
 * least of several rounds, so that other work on the machine changes nothing.
 */
final class Cost {
  /** How much more twice the input may cost; quadratic costs would be 4 times as high. */
  private static final double GROWTH_MAX = 2.5;
  /** What a clock of threads cannot tell apart from nothing. */
  private static final long NOISE_NS = 100_000;

  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int ROUNDS = 5;
  private static final int ATTEMPTS = 4;

  /** A handler and its input. */
  interface Probe {
    /** Prepares an input, and returns the processor time of handling it. */
    long once(int size) throws Exception;
  }

  /** What is measured. */
  interface Work {
    void run() throws Exception;
  }

  private Cost() {}

  /** Returns the processor time of this thread for some work. */
  static long of(Work work) throws Exception {
    long begun = THREADS.getCurrentThreadCpuTime();
    work.run();
    return THREADS.getCurrentThreadCpuTime() - begun;
  }

  /** Returns the processor time of all threads for some work, which waits for theirs. */
  static long ofAll(Work work) throws Exception {
    long begun = all();
    work.run();
    return all() - begun;
  }

  private static long all() {
    long sum = 0;
    for (long id : THREADS.getAllThreadIds()) {
      sum += Math.max(0, THREADS.getThreadCpuTime(id));
    }
    return sum;
  }

  /** Returns the least of several rounds. */
  static long least(int rounds, Work work) throws Exception {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < rounds; i++) {
      least = Math.min(least, of(work));
    }
    return least;
  }

  /** Asserts that twice the input costs no more than a little above twice the time. */
  static void assertLinear(String what, int size, Probe probe) throws Exception {
    compare(what, size, 2 * size, probe);
  }

  /** Asserts that eight times as much of something else changes little. */
  static void assertFlat(String what, int size, Probe probe) throws Exception {
    compare(what, size, 8 * size, probe);
  }

  private static void compare(String what, int small, int large, Probe probe) throws Exception {
    long few = Long.MAX_VALUE;
    long many = Long.MAX_VALUE;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      for (int i = 0; i < ROUNDS; i++) {
        few = Math.min(few, probe.once(small));
        many = Math.min(many, probe.once(large));
      }
      if (many <= GROWTH_MAX * few + NOISE_NS) {
        System.out.printf("measured: %s: %d us with %d, %d us with %d%n", what, few / 1_000,
            small, many / 1_000, large);
        return;
      }
    }
    fail(String.format("%s: %d us with %d, %d us with %d, more than %.1f times as much", what,
        few / 1_000, small, many / 1_000, large, GROWTH_MAX));
  }
}
