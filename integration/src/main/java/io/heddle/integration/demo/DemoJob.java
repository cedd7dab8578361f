/*
 * One job of the demo, from its plan to its end. Submits itself; what it did is read off it by the
 * picture and the closing table.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.jobs.JobClient;
import java.io.IOException;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** All times are milliseconds since the first job's submission. */
final class DemoJob {
  /** Where a job is in its life. */
  enum State {
    PLANNED,
    WAITING,
    RUNNING,
    SUCCEEDED,
    FAILED
  }

  private final String user;
  private final String name;
  private final long startMs;
  private final JobClient.Maker maker;
  private volatile Job job;
  private volatile State state = State.PLANNED;
  private volatile String problem = "";
  private long submittedMs;
  private long firstTaskMs = -1;
  private long endedMs;
  private float mapProgress;
  private float reduceProgress;

  /** A job of this user that is to be submitted so many ms after the first. */
  DemoJob(String user, String name, long startMs, JobClient.Maker maker) {
    this.user = user;
    this.name = name;
    this.startMs = startMs;
    this.maker = maker;
  }

  String user() {
    return user;
  }

  String name() {
    return name;
  }

  State state() {
    return state;
  }

  boolean isOver() {
    return state == State.SUCCEEDED || state == State.FAILED;
  }

  /** Why it failed; empty otherwise. */
  String problem() {
    return problem;
  }

  /** Its YARN application, null before it is submitted. */
  ApplicationId application() {
    Job submitted = job;
    return submitted == null ? null : JobClient.applicationId(submitted.getJobID());
  }

  /** From the submission to its first task's container, or until now. */
  long waitedMs(long nowMs) {
    return (firstTaskMs >= 0 ? firstTaskMs : isOver() ? endedMs : nowMs) - submittedMs;
  }

  /** From its first task's container to its end, or until now; 0 before. */
  long ranMs(long nowMs) {
    return firstTaskMs < 0 ? 0 : (isOver() ? endedMs : nowMs) - firstTaskMs;
  }

  float mapProgress() {
    return mapProgress;
  }

  float reduceProgress() {
    return reduceProgress;
  }

  boolean isDue(long nowMs) {
    return state == State.PLANNED && nowMs >= startMs;
  }

  /** Marks it as submitted from now on; {@link #submit} does it. */
  void begin(long nowMs) {
    submittedMs = nowMs;
    state = State.WAITING;
  }

  /** Submits it; takes a second, so not in the thread that draws. */
  void submit() {
    try {
      job = JobClient.submit(user, maker);
    } catch (Exception e) {
      problem = String.valueOf(e.getMessage());
      state = State.FAILED;
    }
  }

  /** Brings state and progress up to date. */
  void refresh(long nowMs, Applications applications) throws IOException, InterruptedException {
    Job submitted = job;
    if (submitted == null || isOver()) {
      return;
    }
    // The ApplicationMaster is the first container; a task is one beyond.
    if (firstTaskMs < 0 && applications.allocated(application()) > 1) {
      firstTaskMs = nowMs;
      state = State.RUNNING;
    }
    JobStatus status = submitted.getStatus();
    mapProgress = status.getMapProgress();
    reduceProgress = status.getReduceProgress();
    if (status.isJobComplete()) {
      endedMs = nowMs;
      boolean succeeded = status.getState() == JobStatus.State.SUCCEEDED;
      problem = succeeded ? "" : status.getState() + ": " + status.getFailureInfo();
      state = succeeded ? State.SUCCEEDED : State.FAILED;
    }
  }
}
