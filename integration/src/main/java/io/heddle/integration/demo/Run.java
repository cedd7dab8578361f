/*
 * One run of a workload: a cluster with one scheduler, the jobs on it with live progress, and their
 * results. Compares nothing.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.ContainerLogs;
import io.heddle.integration.cluster.MiniCluster;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Runs once. */
final class Run {
  /** Room for one task and two ApplicationMasters. */
  static final int NODE_MEMORY_MB = JobPlan.TASK_MEMORY_MB + 2 * JobPlan.MASTER_MEMORY_MB;

  private static final long POLL_MS = 250;
  /** A bound on hanging, far more than a run takes. */
  private static final long LIMIT_MS = TimeUnit.MINUTES.toMillis(10);

  private final Contender contender;
  private final Workload workload;
  private final String title;
  private final boolean plain;
  private final List<String> remarks = new ArrayList<>();
  private double unitSeconds;

  /**
   * Makes a run of this workload.
   *
   * @param round text before the title
   * @param unitSeconds how long a job of one map takes; 0 to measure it if there are goals
   */
  Run(Contender contender, Workload workload, String round, double unitSeconds, boolean plain) {
    this.unitSeconds = unitSeconds;
    this.contender = contender;
    this.workload = workload;
    this.plain = plain;
    title = round + contender.title() + ", Hadoop " + VersionInfo.getVersion();
  }

  /** Starts a cluster, runs the jobs on it, and stops it. */
  List<JobResult> run() throws Exception {
    MiniCluster.Builder builder = MiniCluster.named("demo")
        .set(YarnConfiguration.NM_PMEM_MB, String.valueOf(NODE_MEMORY_MB));
    contender.install(builder, workload.settings());
    try (MiniCluster cluster = builder.start()) {
      if (workload.hasGoals() && unitSeconds == 0) {
        unitSeconds = measure(cluster);
        System.out.printf(
            "A job of one map takes %.0f s here; goals are multiples of that.%n", unitSeconds);
      }
      List<DemoJob> jobs = new ArrayList<>();
      for (JobPlan plan : workload.jobs()) {
        jobs.add(plan.prepare(cluster, unitSeconds));
      }
      return conclude(cluster, jobs, runJobs(cluster, jobs));
    }
  }

  private static double measure(MiniCluster cluster) throws Exception {
    DemoJob job = JobPlan.of("dave", "one map").prepare(cluster, 0);
    job.begin(0);
    long startNanos = System.nanoTime();
    job.submit();
    Applications applications = new Applications(cluster);
    while (!job.isOver()) {
      checkTime(millisSince(startNanos));
      job.refresh(millisSince(startNanos), applications);
      Thread.sleep(POLL_MS);
    }
    if (job.state() != DemoJob.State.SUCCEEDED) {
      // The time until a failure is no base for goals.
      throw new IllegalStateException("The job that goals are measured by failed: "
          + job.problem());
    }
    return job.tookMs(0) / 1000.0;
  }

  /** Returns how long a job of one map takes; 0 if it was not measured. */
  double unitSeconds() {
    return unitSeconds;
  }

  /** Returns the remarks to print after the run: why jobs failed. */
  List<String> remarks() {
    return Collections.unmodifiableList(remarks);
  }

  /** Returns when the last job ended. */
  private long runJobs(MiniCluster cluster, List<DemoJob> jobs) throws Exception {
    ExecutorService submitter = Executors.newCachedThreadPool();
    long startNanos = System.nanoTime();
    try (Screen screen = Screen.open(plain)) {
      while (!jobs.stream().allMatch(DemoJob::isOver)) {
        long nowMs = millisSince(startNanos);
        checkTime(nowMs);
        step(cluster, jobs, submitter, screen, nowMs);
        Thread.sleep(POLL_MS);
      }
    } finally {
      submitter.shutdownNow();
    }
    return millisSince(startNanos);
  }

  private void step(
      MiniCluster cluster, List<DemoJob> jobs, ExecutorService submitter, Screen screen, long nowMs)
      throws Exception {
    Applications applications = new Applications(cluster);
    for (DemoJob job : jobs) {
      if (job.isDue(nowMs)) {
        job.begin(nowMs);
        submitter.execute(job::submit);
      }
      job.refresh(nowMs, applications);
      job.foresee(cluster, nowMs);
    }
    Snapshot now = Snapshot.take(cluster, applications);
    screen.show(() -> Picture.live(title, nowMs, now, jobs), () -> Picture.line(nowMs, now));
  }

  private static void checkTime(long nowMs) {
    if (nowMs > LIMIT_MS) {
      throw new IllegalStateException("not over after " + LIMIT_MS / 1000 + " s");
    }
  }

  private static long millisSince(long startNanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
  }

  private List<JobResult> conclude(MiniCluster cluster, List<DemoJob> jobs, long nowMs)
      throws Exception {
    Applications applications = new Applications(cluster);
    List<JobResult> results = new ArrayList<>();
    for (DemoJob job : jobs) {
      results.add(job.result(nowMs, applications));
      if (job.state() != DemoJob.State.SUCCEEDED) {
        remarks.add(String.format("%s's %s failed: %s", job.user(), job.name(), job.problem()));
        if (job.application() != null) {
          remarks.add(ContainerLogs.tail(cluster.workFolder(), job.application()));
        }
      }
    }
    return results;
  }
}
