package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * The state that {@link FactFeed} keeps of one MapReduce job between two looks at it: how far its
 * reduces were, when its ApplicationMaster is asked for counters next.
 *
 * <p>The feed's own thread looks; at most one other polls at a time. Shared fields are volatile.
 */
final class JobWatch extends PollWatch {
  private final WatchedJob job;
  private final ReduceProgress progress = new ReduceProgress();
  private volatile long reducesToldUntilMs = Long.MIN_VALUE;
  // Of polls alone, which follow one another.
  private long nextCountersMs = Long.MIN_VALUE;

  JobWatch(WatchedJob job) {
    this.job = job;
  }

  WatchedJob job() {
    return job;
  }

  ApplicationId id() {
    return job.applicationId();
  }

  ReduceProgress progress() {
    return progress;
  }

  /** Whether counters are due; then they count as fetched. */
  boolean beginCounters(long nowMs, long intervalMs) {
    if (nowMs < nextCountersMs) {
      return false;
    }
    nextCountersMs = nowMs + intervalMs;
    return true;
  }

  /** Sets the time until which the ApplicationMaster's word on reduces goes before a guess. */
  void setReducesToldUntilMs(long untilMs) {
    reducesToldUntilMs = untilMs;
  }

  boolean reducesAreTold(long nowMs) {
    return nowMs < reducesToldUntilMs;
  }
}
