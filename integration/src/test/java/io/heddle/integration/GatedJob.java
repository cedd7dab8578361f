package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.Node;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.Gates;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A word count of fourteen maps, seven of which fill the cluster, that stays in its middle for as
 * long as a test wants: the maps of each gate wait until it is opened. Injects no fault.
 */
final class GatedJob {
  /** With two gates, half of them and the reduces are still more than the cluster holds. */
  private static final int MAPS = 14;
  private static final int REDUCES = 2;

  private final ClusterRule cluster;
  private final Corpus corpus;
  private final Path output;
  private final Gates gates;
  private final int gateCount;
  private final Job job;

  /** Submits the job; a third, a quarter or so of its maps can run when each gate is opened. */
  GatedJob(ClusterRule cluster, String name, int gateCount) throws Exception {
    this.cluster = cluster;
    this.gateCount = gateCount;
    Path folder = ClusterRule.path(name);
    corpus = Corpus.write(cluster.fileSystem(), new Path(folder, "in"), MAPS, 50, name.length());
    output = new Path(folder, "out");
    gates = new Gates(cluster.fileSystem(), new Path(folder, "gates"));
    Configuration conf = cluster.configuration();
    // Two to a node, so that some maps are always left to be granted after a fault.
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
    gates.guard(conf, gateCount);
    job =
        JobClient.submit(
            "alice", () -> TextJobs.wordCount(conf, name, corpus.folder(), output, REDUCES));
  }

  Job job() {
    return job;
  }

  ApplicationId id() {
    return JobClient.applicationId(job.getJobID());
  }

  /** Opens a gate and waits until its maps, and those of all gates before it, are done. */
  void pass(int gate) throws Exception {
    gates.open(gate);
    long behind = IntStream.range(0, MAPS).filter(map -> map % gateCount <= gate).count();
    // Maps behind closed gates have read nothing, so that progress counts finished maps.
    float done = (behind - 0.1f) / MAPS;
    Await.until(
        "the maps of gate " + gate + " are done",
        ClusterRule.JOB_SECONDS,
        () -> job.mapProgress() > done || job.isComplete(),
        this::describe);
  }

  /** Waits until at least so many tasks run, all of them behind a gate. */
  void awaitRunning(int tasks) throws Exception {
    Applications applications = cluster.applications();
    Await.until(
        tasks + " tasks run", ClusterRule.JOB_SECONDS,
        () -> applications.taskHosts(id()).size() >= tasks, this::describe);
  }

  private String describe() {
    try {
      return JobClient.describe(job) + ", tasks on " + cluster.applications().taskHosts(id());
    } catch (Exception e) {
      return e.toString();
    }
  }

  /** A node that runs tasks of this job but not its ApplicationMaster. */
  Node nodeWithTasksOnly() {
    String master = cluster.applications().masterHost(id());
    List<String> hosts = cluster.applications().taskHosts(id());
    return cluster.cluster().nodes().stream()
        .filter(node -> hosts.contains(node.host()) && !node.host().equals(master))
        .findFirst()
        .orElseThrow(() -> new AssertionError("tasks on " + hosts + ", master on " + master));
  }

  /** Opens all gates; the job must succeed with the right result in its first attempt. */
  void finish() throws Exception {
    assertFalse("the job was over before its maps were let go", job.isComplete());
    for (int gate = 0; gate < gateCount; gate++) {
      gates.open(gate);
    }
    cluster.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(cluster.fileSystem(), output));
    // The ApplicationMaster went on through it all.
    assertEquals(1, cluster.applications().find(id()).getAppAttempts().size());
  }

  /** How many maps it has; as many are launched if none had to run twice. */
  static int maps() {
    return MAPS;
  }
}
