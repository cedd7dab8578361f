/*
 * One job of the demo, from its plan to its end. Submits itself; what it did is read off it by
 * the picture and the closing table.
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
  /** Where a job is in its life. */
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
  /** What was expected when its tasks had just begun to be known. */
  private Forecast forecast;
  private volatile long expectedEndMs;

  /** A job of this plan, as the maker makes it; {@code goalMs} is 0 for none. */
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

  /** Why it failed; empty otherwise. */
  String problem() {
    return problem;
  }

  /** Its YARN application, null before it is submitted. */
  ApplicationId application() {
    Job submitted = job;
    return submitted == null ? null : JobClient.applicationId(submitted.getJobID());
  }

  /** From its submission to its end, or until now. */
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

  /** Marks it as submitted from now on; {@link #submit} does it. */
  void begin(long nowMs) {
    submittedMs = nowMs;
    refreshedMs = nowMs;
    state = State.WAITING;
  }

  /** Submits it; takes a second, so not in the thread that draws. */
  void submit() {
    try {
      job = JobClient.submit(user(), maker);
    } catch (Exception e) {
      problem = String.valueOf(e.getMessage());
      state = State.FAILED;
    }
  }

  /** What became of it; to be asked while the cluster that knows it runs. */
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

  /** Keeps what is expected of it when its ApplicationMaster has begun to ask, and shows now. */
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

  /** When it is expected to end, 0 if nobody can say. */
  long expectedEndMs() {
    return isOver() ? 0 : expectedEndMs;
  }

  /** Brings state and progress up to date. */
  void refresh(long nowMs, Applications applications) throws IOException, InterruptedException {
    Job submitted = job;
    if (submitted == null || isOver()) {
      return;
    }
    if (applications.waits(application())) {
      waitedMs += nowMs - refreshedMs;
    }
    refreshedMs = nowMs;
    // The ApplicationMaster is the first container; a task is one beyond.
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
