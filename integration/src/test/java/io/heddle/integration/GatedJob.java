package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.Node;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.Gate;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A word count that stays in its middle for as long as a test wants: maps end only when the test
 * lets them. Injects no fault.
 */
final class GatedJob {
  private final ClusterRule cluster;
  private final Corpus corpus;
  private final Path output;
  private final Gate gate;
  private final int maps;
  private final Job job;
  private boolean open;

  /** Submits the job; none of its maps ends before the test lets it. */
  GatedJob(ClusterRule cluster, String name, int maps) throws Exception {
    // Large, so that a few fill the cluster and some are left to be granted after a fault.
    this(cluster, "alice", name, maps, conf -> conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024));
  }

  /** Submits the job for this user, with a changed configuration. */
  GatedJob(
      ClusterRule cluster, String user, String name, int maps, Consumer<Configuration> change)
      throws Exception {
    this.cluster = cluster;
    this.maps = maps;
    Path folder = ClusterRule.path(name);
    corpus = Corpus.write(cluster.fileSystem(), new Path(folder, "in"), maps, 50, name.length());
    output = new Path(folder, "out");
    gate = new Gate(cluster.fileSystem(), new Path(folder, "gate"));
    Configuration conf = cluster.configuration();
    // No reduce asks before all maps ended: the last leader has to grant them.
    conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 1);
    change.accept(conf);
    gate.guard(conf);
    job =
        JobClient.submit(
            user,
            () ->
                TextJobs.wordCount(
                    conf,
                    name,
                    corpus.folder(),
                    output,
                    conf.getInt(MRJobConfig.NUM_REDUCES, 1)));
  }

  /** The cluster that it runs on. */
  ClusterRule cluster() {
    return cluster;
  }

  /** Kills the running attempts at maps; the job makes new ones. */
  void killRunningMaps() throws Exception {
    for (TaskReport task : job.getTaskReports(TaskType.MAP)) {
      for (TaskAttemptID attempt : task.getRunningTaskAttemptIds()) {
        job.killTask(attempt);
      }
    }
  }

  /** Kills the job and waits for its end. */
  void kill() throws Exception {
    job.killJob();
    Await.until("the job is killed", ClusterRule.JOB_SECONDS, job::isComplete, this::describe);
  }

  /** Lets all maps end from now on; before that, the job cannot have ended. */
  void open() throws Exception {
    if (!open) {
      assertFalse("the job was over before its maps were let go", job.isComplete());
      open = true;
      gate.letAll();
    }
  }

  /** The job itself, for its counters and times. */
  Job job() {
    return job;
  }

  /** Its application. */
  ApplicationId id() {
    return JobClient.applicationId(job.getJobID());
  }

  /** Lets this many maps end in total, and waits until they have. */
  void letEnd(int count) throws Exception {
    gate.let(count);
    // Waiting maps have read nothing, so progress counts those that ended.
    float done = (count - 0.1f) / maps;
    Await.until(
        count + " maps ended",
        ClusterRule.JOB_SECONDS,
        () -> job.mapProgress() > done || job.isComplete(),
        this::describe);
  }

  /**
   * Waits until this many of its maps have started, those that ended included. Where the others
   * fill the cluster, every container that was granted then runs.
   */
  void awaitStarted(int count) throws Exception {
    Await.until(
        count + " maps started", ClusterRule.JOB_SECONDS, () -> gate.started() >= count,
        this::describe);
  }

  /**
   * Waits until at least this many tasks run, maps at the gate among them, by the
   * ResourceManager's records: one that has ended still counts until its node reports.
   */
  void awaitRunning(int tasks) throws Exception {
    Applications applications = cluster.applications();
    Await.until(
        tasks + " tasks run", ClusterRule.JOB_SECONDS,
        () -> applications.taskHosts(id()).size() >= tasks, this::describe);
  }

  /** Waits until this many of its reduces run. */
  void awaitReduces(int count) throws Exception {
    Await.until(
        count + " reduces run", ClusterRule.JOB_SECONDS,
        () -> cluster.applications().reduceHosts(id()).size() == count, this::describe);
  }

  private String describe() {
    try {
      return JobClient.describe(job) + ", tasks on " + cluster.applications().taskHosts(id());
    } catch (Exception e) {
      return e.toString();
    }
  }

  /** Returns a node that runs tasks of this job but not its ApplicationMaster. */
  Node nodeWithTasksOnly() {
    String master = cluster.applications().masterHost(id());
    List<String> hosts = cluster.applications().taskHosts(id());
    return cluster.cluster().nodes().stream()
        .filter(node -> hosts.contains(node.host()) && !node.host().equals(master))
        .findFirst()
        .orElseThrow(() -> new AssertionError("tasks on " + hosts + ", master on " + master));
  }

  /** Lets all maps end; the job must succeed with the right result in its first attempt. */
  void finish() throws Exception {
    open();
    cluster.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(cluster.fileSystem(), output));
    // The first ApplicationMaster survived it all.
    assertEquals(1, cluster.applications().find(id()).getAppAttempts().size());
  }

  /** Returns its submission time by the ResourceManager's clock. */
  long submittedMs() {
    return cluster.applications().find(id()).getSubmitTime();
  }

  /** Asserts, after the end, that no map was started twice. */
  void assertNothingRanTwice() throws Exception {
    assertEquals("launched maps", maps, launchedMaps());
  }

  /** Counts the attempts at maps that were started. */
  long launchedMaps() throws Exception {
    return job.getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue();
  }
}
