/*
 * Adds up call times during a measurement, and ignores them otherwise. Also reads the times of the
 * JVM's collector and other threads, which are reported separately.
 */
package io.heddle.integration.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;

/** One measurement at a time. */
final class Stopwatch {
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private final OperatingSystemMXBean system =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final SchedulerKind kind;
  private boolean cpuClock;
  private final List<Thread> placing = new ArrayList<>();
  private Measurement current;
  private long startedBefore;
  private long ownNanos;

  /**
   * @param cpuClock counts the calling thread's CPU time instead of real time. That excludes waits
   *     for locks, but also other work on a shared machine
   */
  Stopwatch(SchedulerKind kind, boolean cpuClock) {
    this.kind = kind;
    this.cpuClock = cpuClock;
    this.ownNanos = cost();
  }

  /** Counts real time from now on, with waits for locks. */
  void useWallClock() {
    cpuClock = false;
    ownNanos = cost();
  }

  /** Returns the least time of reading the clock twice, which is subtracted from every call. */
  private long cost() {
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 10_000; i++) {
      long before = now();
      least = Math.min(least, now() - before);
    }
    return least;
  }

  /** Returns the time since an earlier {@link #now()}, without the clock's own cost. */
  long since(long began) {
    return Math.max(0, now() - began - ownNanos);
  }

  /** Returns the time of the clock in use, in ns from an arbitrary origin. */
  long now() {
    return cpuClock ? threads.getCurrentThreadCpuTime() : System.nanoTime();
  }

  void start(long containersStarted) {
    Measurement measurement = new Measurement();
    startedBefore = containersStarted;
    placing.clear();
    if (kind.asynchronous()) {
      findPlacingThreads();
    }
    measurement.placingThreadNanos = -placingNanos();
    measurement.collectorMillis = -collectorMillis();
    measurement.backgroundCpuNanos = -backgroundNanos();
    measurement.wallNanos = -System.nanoTime();
    current = measurement;
  }

  Measurement stop(long containersStarted) {
    Measurement measurement = current;
    current = null;
    measurement.wallNanos += System.nanoTime();
    measurement.backgroundCpuNanos += backgroundNanos();
    measurement.collectorMillis += collectorMillis();
    measurement.placingThreadNanos += placingNanos();
    measurement.containers = containersStarted - startedBefore;
    measurement.close();
    return measurement;
  }

  void heartbeat(long nanos) {
    if (current != null) {
      current.heartbeat(nanos);
    }
  }

  void allocate(long nanos) {
    if (current != null) {
      current.allocateCalls++;
      current.allocateNanos += nanos;
      current.allocateLongestNanos = Math.max(nanos, current.allocateLongestNanos);
    }
  }

  void otherEvent(long nanos) {
    if (current != null) {
      current.otherEvents++;
      current.otherEventNanos += nanos;
      current.otherEventLongestNanos = Math.max(nanos, current.otherEventLongestNanos);
    }
  }

  void update(long nanos) {
    if (current != null) {
      current.updates++;
      current.updateNanos += nanos;
      current.updateLongestNanos = Math.max(nanos, current.updateLongestNanos);
    }
  }

  long heartbeats() {
    return current.heartbeats;
  }

  long callNanos() {
    return current.heartbeatNanos + current.allocateNanos + current.otherEventNanos;
  }

  long containersSince(long containersStarted) {
    return containersStarted - startedBefore;
  }

  private void findPlacingThreads() {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      String name = thread.getClass().getName();
      if (name.contains("AsyncScheduleThread") || name.contains("ResourceCommitterService")) {
        placing.add(thread);
      }
    }
    if (placing.isEmpty()) {
      throw new IllegalStateException("the asynchronous scheduler has no placing threads");
    }
  }

  private long placingNanos() {
    long sum = 0;
    for (Thread thread : placing) {
      sum += threads.getThreadCpuTime(thread.getId());
    }
    return sum;
  }

  private long backgroundNanos() {
    return system.getProcessCpuTime() - threads.getCurrentThreadCpuTime();
  }

  private static long collectorMillis() {
    long sum = 0;
    for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
      sum += collector.getCollectionTime();
    }
    return sum;
  }
}
