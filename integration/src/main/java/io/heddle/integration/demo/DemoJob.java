/*
 * One job of the demo, from its plan to its end. Submits itself; the picture and the closing table
 * read its state.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.ShuffleTraffic;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** All times are milliseconds since the first job's submission. */
final class DemoJob {
  /** The state of a job. */
  enum State {
    PLANNED,
    WAITING,
    RUNNING,
    SUCCEEDED,
    FAILED
  }

  private final JobPlan plan;
  private final String name;
  private final long goalMs;
  private final JobClient.Maker maker;
  private volatile Job job;
  private volatile State state = State.PLANNED;
  private volatile String problem = "";
  private long submittedMs;
  private long refreshedMs;
  private long waitedMs;
  private long endedMs;
  private float mapProgress;
  private float reduceProgress;
  /** The first prediction, made when its tasks became known. */
  private Forecast forecast;
  private volatile long expectedEndMs;

  /** Makes a job of this plan with this maker; {@code goalMs} is 0 for none. */
  DemoJob(JobPlan plan, String name, long goalMs, JobClient.Maker maker) {
    this.plan = plan;
    this.name = name;
    this.goalMs = goalMs;
    this.maker = maker;
  }

  String user() {
    return plan.user();
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

  /** Returns why it failed; empty otherwise. */
  String problem() {
    return problem;
  }

  /** Returns its YARN application, or null before it is submitted. */
  ApplicationId application() {
    Job submitted = job;
    return submitted == null ? null : JobClient.applicationId(submitted.getJobID());
  }

  /** Returns the time from its submission to its end, or until now. */
  long tookMs(long nowMs) {
    return (isOver() ? endedMs : nowMs) - submittedMs;
  }

  float mapProgress() {
    return mapProgress;
  }

  float reduceProgress() {
    return reduceProgress;
  }

  boolean isDue(long nowMs) {
    return state == State.PLANNED && nowMs >= TimeUnit.SECONDS.toMillis(plan.startSeconds());
  }

  /** Marks it as submitted; {@link #submit} submits it. */
  void begin(long nowMs) {
    submittedMs = nowMs;
    refreshedMs = nowMs;
    state = State.WAITING;
  }

  /** Submits it. Takes a second, so the drawing thread must not call it. */
  void submit() {
    try {
      job = JobClient.submit(user(), maker);
    } catch (Exception e) {
      problem = String.valueOf(e.getMessage());
      state = State.FAILED;
    }
  }

  /** Returns its result. Call it while its cluster runs. */
  JobResult result(long nowMs, Applications applications)
      throws IOException, InterruptedException {
    JobResult result = new JobResult(user(), plan.name(), name);
    result.state = state;
    result.waitedMs = waitedMs;
    result.tookMs = tookMs(nowMs);
    result.goalMs = goalMs;
    result.endedMs = endedMs;
    result.forecast = forecast;
    if (application() != null) {
      result.localities = applications.localities(application());
    }
    if (state == State.SUCCEEDED && plan.shuffles()) {
      ShuffleTraffic shuffle = ShuffleTraffic.of(job, Topology::rackOf);
      result.shuffledBytes = shuffle.bytes();
      result.crossRackBytes = shuffle.crossRackBytes();
    }
    return result;
  }

  /** Asks for a prediction of its end while it runs, and keeps the first one. */
  void foresee(MiniCluster cluster, long nowMs) throws IOException {
    if (state != State.RUNNING || application() == null) {
      return;
    }
    Optional<Forecast> now = Forecast.ask(cluster, application(), nowMs);
    if (forecast == null && now.isPresent()) {
      forecast = now.get();
    }
    expectedEndMs = now.map(one -> one.expectedMs).orElse(0L);
  }

  /** Returns when it is expected to end; 0 if that is unknown. */
  long expectedEndMs() {
    return isOver() ? 0 : expectedEndMs;
  }

  /** Updates state and progress. */
  void refresh(long nowMs, Applications applications) throws IOException, InterruptedException {
    Job submitted = job;
    if (submitted == null || isOver()) {
      return;
    }
    if (applications.waits(application())) {
      waitedMs += nowMs - refreshedMs;
    }
    refreshedMs = nowMs;
    // The first container is the ApplicationMaster's; the second is a task's.
    if (state == State.WAITING && applications.allocated(application()) > 1) {
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
