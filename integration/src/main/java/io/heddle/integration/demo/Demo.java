/*
 * ./x demo: an embedded cluster, three users, real MapReduce jobs under a policy of the user's
 * choice, with live progress and a closing table. The exit code says whether all jobs succeeded.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.ClusterLog;
import io.heddle.integration.cluster.ContainerLogs;
import io.heddle.integration.cluster.MiniCluster;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.commons.cli.ParseException;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** The demo's main class. */
public final class Demo {
  private static final int OK = 0;
  private static final int JOBS_FAILED = 1;
  private static final int WRONG_ARGUMENTS = 2;
  /** How the engine names what --policy sets. */
  private static final String POLICY_KEY = "key `policy";
  private static final long POLL_MS = 250;
  /** Far more than it takes: a bound on hanging. */
  private static final long LIMIT_MS = TimeUnit.MINUTES.toMillis(10);

  private final DemoOptions options;
  private final Utilisation utilisation = new Utilisation();

  private Demo(DemoOptions options) {
    this.options = options;
  }

  /** Runs the demo and ends the process. */
  public static void main(String[] arguments) {
    DemoOptions options;
    try {
      options = DemoOptions.parse(arguments);
    } catch (ParseException e) {
      System.err.println("demo: " + e.getMessage());
      System.exit(WRONG_ARGUMENTS);
      return;
    }
    if (options.help()) {
      DemoOptions.printHelp(new PrintWriter(System.out));
      System.exit(OK);
    }
    // Hadoop's threads, some not daemons, would keep the process alive after an error.
    System.exit(new Demo(options).run());
  }

  private int run() {
    ClusterLog.quiet();
    if (options.keep()) {
      System.setProperty(MiniCluster.KEEP_PROPERTY, "true");
    }
    System.out.printf(
        "%s, on Hadoop %s: starting HDFS and YARN, four nodes on two racks ...%n",
        options.title(), VersionInfo.getVersion());
    try (MiniCluster cluster =
        MiniCluster.named("demo")
            .scheduler(options.schedulerClass())
            .engineConfiguration(options.engineConfiguration())
            .start()) {
      return runJobs(cluster);
    } catch (Exception | Error e) {
      return explain(e);
    }
  }

  /** Says why there is no demo. A policy that the engine refused is the user's to put right. */
  private static int explain(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      // The engine's own words; the file before them is one that the demo wrote.
      String text = String.valueOf(cause.getMessage());
      int said = text.indexOf(POLICY_KEY);
      if (said >= 0) {
        System.err.println("demo: --policy: " + text.substring(said));
        return WRONG_ARGUMENTS;
      }
    }
    System.err.println("demo: the cluster failed:");
    failure.printStackTrace();
    return JOBS_FAILED;
  }

  private int runJobs(MiniCluster cluster) throws Exception {
    List<DemoJob> jobs = Workload.prepare(cluster);
    ExecutorService submitter = Executors.newCachedThreadPool();
    long startNanos = System.nanoTime();
    try (Screen screen = Screen.open(options.plain())) {
      while (!jobs.stream().allMatch(DemoJob::isOver)) {
        long nowMs = millisSince(startNanos);
        if (nowMs > LIMIT_MS) {
          throw new IllegalStateException("not over after " + LIMIT_MS / 1000 + " s");
        }
        step(cluster, jobs, submitter, screen, nowMs);
        Thread.sleep(POLL_MS);
      }
    } finally {
      submitter.shutdownNow();
    }
    return conclude(cluster, jobs, millisSince(startNanos));
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
    }
    Snapshot now = Snapshot.take(cluster, applications);
    utilisation.add(nowMs, now);
    String title = options.title() + ", Hadoop " + VersionInfo.getVersion();
    screen.show(() -> Picture.live(title, nowMs, now, jobs), () -> Picture.line(nowMs, now));
  }

  private static long millisSince(long startNanos) {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
  }

  private int conclude(MiniCluster cluster, List<DemoJob> jobs, long nowMs) throws Exception {
    Applications applications = new Applications(cluster);
    int[] containers = new int[jobs.size()];
    int[][] localities = new int[jobs.size()][3];
    for (int i = 0; i < jobs.size(); i++) {
      ApplicationId id = jobs.get(i).application();
      if (id != null) {
        containers[i] = applications.allocated(id);
        localities[i] = applications.localities(id);
      }
    }
    Picture.table(nowMs, jobs, containers, localities).forEach(System.out::println);
    System.out.println();
    System.out.println(utilisation.describe());
    boolean succeeded = true;
    for (DemoJob job : jobs) {
      if (job.state() != DemoJob.State.SUCCEEDED) {
        succeeded = false;
        System.out.printf("%s's %s failed: %s%n", job.user(), job.name(), job.problem());
        if (job.application() != null) {
          System.out.println(ContainerLogs.tail(cluster, job.application()));
        }
      }
    }
    System.out.println(succeeded ? "All jobs succeeded." : "Not all jobs succeeded.");
    return succeeded ? OK : JOBS_FAILED;
  }
}
