package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.SetupJson;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * The state of one MapReduce job between two looks of {@link FactFeed}: the progress of its
 * reduces, and when its ApplicationMaster is next polled for counters.
 *
 * <p>The feed's own thread looks; at most one other polls at a time. Shared fields are volatile.
 */
final class JobWatch extends PollWatch {
  private final WatchedJob job;
  private volatile long reducesToldUntilMs = Long.MIN_VALUE;
  // The library's findings at the last look at the job's progress. For the feed's thread only.
  JsonNode progress;
  // Used by polls only, which run one after another.
  private long nextCountersMs = Long.MIN_VALUE;
  // The library's state of the polls of single tasks, and the answers since.
  JsonNode tasks = SetupJson.object();

  JobWatch(WatchedJob job) {
    this.job = job;
  }

  WatchedJob job() {
    return job;
  }

  ApplicationId id() {
    return job.applicationId();
  }

  /** Returns whether counters are due, and if so sets when they are next. */
  boolean beginCounters(long nowMs, long intervalMs) {
    if (nowMs < nextCountersMs) {
      return false;
    }
    nextCountersMs = nowMs + intervalMs;
    return true;
  }

  /** Sets until when the ApplicationMaster's answer about reduces replaces an estimate. */
  void setReducesToldUntilMs(long untilMs) {
    reducesToldUntilMs = untilMs;
  }

  boolean reducesAreTold(long nowMs) {
    return nowMs < reducesToldUntilMs;
  }
}
