/*
 * How long the scheduler took for the heartbeats of nodes: CPU time of the thread, which a busy
 * machine does not change, and wall time, which includes the wait for the scheduler's lock.
 */
package io.heddle.integration.storm;

import java.util.Arrays;

/** Samples of one phase; written by one thread. */
final class HeartbeatTimes {
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
    return size == 0 ? 0 : sorted[(int) Math.min(size - 1L, (long) (quantile * size))] / 1e3;
  }
}
