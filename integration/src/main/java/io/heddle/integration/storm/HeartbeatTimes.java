/*
 * Times of the scheduler for the heartbeats of nodes: CPU time of the thread, which a busy machine
 * does not change, and wall time, which includes the wait for the scheduler's lock.
 */
package io.heddle.integration.storm;

import io.heddle.integration.Quantiles;
import java.util.Arrays;
import java.util.Locale;

/** Samples of one phase; written by one thread. */
final class HeartbeatTimes {
  /** Largest ratio of the slowest percent of heartbeats in the storm to that in the calm. */
  private static final double RATIO_MOST = 5;
  /** Smallest number of samples to judge by: its slowest percent is a hundred heartbeats. */
  private static final int SAMPLES_LEAST = 10_000;
  static final double SLOW = 0.99;

  private long[] cpu = new long[1 << 12];
  private long[] wall = new long[1 << 12];
  private int size;

  synchronized void add(long cpuNanos, long wallNanos) {
    if (size == cpu.length) {
      cpu = Arrays.copyOf(cpu, 2 * size);
      wall = Arrays.copyOf(wall, 2 * size);
    }
    cpu[size] = cpuNanos;
    wall[size++] = wallNanos;
  }

  /** Adds the samples of another, which must be complete. */
  void addAll(HeartbeatTimes other) {
    for (int n = 0; n < other.size(); n++) {
      add(other.cpu[n], other.wall[n]);
    }
  }

  synchronized int size() {
    return size;
  }

  synchronized double cpuMicros(double quantile) {
    return quantile(cpu, quantile);
  }

  synchronized double wallMicros(double quantile) {
    return quantile(wall, quantile);
  }

  private double quantile(long[] samples, double quantile) {
    long[] sorted = Arrays.copyOf(samples, size);
    Arrays.sort(sorted);
    return size == 0 ? 0 : sorted[Quantiles.index(size, quantile)] / 1e3;
  }

  /**
   * Describes a storm whose slowest percent of heartbeats took more than {@link #RATIO_MOST} times
   * as long as in this calm. Empty if it did not, or with fewer than {@link #SAMPLES_LEAST}.
   */
  String slowerIn(HeartbeatTimes storm) {
    double before = cpuMicros(SLOW);
    double after = storm.cpuMicros(SLOW);
    return Math.min(size(), storm.size()) < SAMPLES_LEAST || after <= RATIO_MOST * before ? ""
        : String.format(Locale.ROOT, "the slowest percent of heartbeats took %.0f us of the"
            + " processor in the calm and %.0f us in the storm: %.1f times as long", before, after,
            after / before);
  }
}
