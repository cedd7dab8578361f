/*
 * The cost of one run of one workload on one scheduler. Only times inside scheduler calls count;
 * of all figures only {@code wallNanos} includes the driver's own work.
 */
package io.heddle.integration.bench;

import io.heddle.integration.Quantiles;
import java.util.Arrays;

/** The figures of one run. */
final class Measurement {
  private static final int MOST_SAMPLES = 200_000;

  long heartbeats;
  /** Time in handle(NODE_UPDATE). */
  long heartbeatNanos;
  long allocateCalls;
  long allocateNanos;
  long allocateLongestNanos;
  /** Scheduler events other than node heartbeats (applications, attempts, nodes). */
  long otherEvents;
  long otherEventNanos;
  long otherEventLongestNanos;
  /** Time in update(), which has its own thread in a ResourceManager; it is in no rate. */
  long updates;
  long updateNanos;
  long updateLongestNanos;
  /** CPU time of the scheduler's own placing threads; 0 unless it is asynchronous. */
  long placingThreadNanos;
  /** CPU time of all threads except the driver's: collector, compiler, update threads. */
  long backgroundCpuNanos;
  long wallNanos;
  long collectorMillis;
  long containers;
  /** Maps by locality, counted by the jobs: node-local, rack-local, off-switch. */
  final long[] maps = new long[3];
  private long[] samples = new long[4096];
  private int sampled;

  void heartbeat(long nanos) {
    heartbeats++;
    heartbeatNanos += nanos;
    if (sampled < MOST_SAMPLES) {
      if (sampled == samples.length) {
        samples = Arrays.copyOf(samples, sampled * 2);
      }
      samples[sampled++] = nanos;
    }
  }

  /** Sorts the samples; call it once, at the end. */
  void close() {
    samples = Arrays.copyOf(samples, sampled);
    Arrays.sort(samples);
  }

  /** Returns the q-quantile of the time of one heartbeat, in microseconds. */
  double quantileMicros(double q) {
    if (sampled == 0) {
      return Double.NaN;
    }
    return samples[Quantiles.index(sampled, q)] / 1e3;
  }

  private double placingSeconds() {
    return (heartbeatNanos + placingThreadNanos) / 1e9;
  }

  private double allSeconds() {
    return placingSeconds() + (allocateNanos + otherEventNanos) / 1e9;
  }

  double containersPerSecondInHeartbeats() {
    return containers / placingSeconds();
  }

  double containersPerSecondOverAll() {
    return containers / allSeconds();
  }

  double heartbeatsPerSecond() {
    return heartbeats / placingSeconds();
  }

  double heartbeatsPerSecondOverAll() {
    return heartbeats / allSeconds();
  }

  /** Returns the time of all calls, with those of the tick. */
  double allMicros() {
    return (heartbeatNanos + allocateNanos + otherEventNanos + updateNanos) / 1e3;
  }

  double meanUpdateMicros() {
    return updateNanos / 1e3 / updates;
  }

  double meanHeartbeatMicros() {
    return heartbeatNanos / 1e3 / heartbeats;
  }

  /** Returns the node-local maps in percent of all maps; NaN if the workload has none. */
  double nodeLocalPercent() {
    long sum = maps[0] + maps[1] + maps[2];
    return sum == 0 ? Double.NaN : 100.0 * maps[0] / sum;
  }
}
