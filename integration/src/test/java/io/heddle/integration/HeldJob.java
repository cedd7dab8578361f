package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.Gate;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A word count whose running tasks stay until the test lets them end, maps and reduces alike. It
 * has no combiner, so its maps write twice what they read.
 */
final class HeldJob {
  private final ClusterRule cluster;
  private final Corpus corpus;
  private final Path output;
  private final Gate maps;
  private final Gate reduces;
  private final int mapCount;
  private final Job job;

  /**
   * Submits it to this user's queue; a map for each of these numbers of lines. Each host has all
   * input, so that a node that has room gets the largest map first.
   */
  HeldJob(
      ClusterRule cluster, String user, String name, int[] lines, int reduces,
      Consumer<Configuration> change)
      throws Exception {
    this.cluster = cluster;
    mapCount = lines.length;
    Path folder = ClusterRule.path(name);
    corpus =
        Corpus.write(
            cluster.fileSystem(), new Path(folder, "in"), lines, Topology.HOSTS.size(),
            name.hashCode());
    output = new Path(folder, "out");
    this.maps = new Gate(cluster.fileSystem(), new Path(folder, "maps"));
    this.reduces = new Gate(cluster.fileSystem(), new Path(folder, "reduces"));
    Configuration conf = cluster.configuration();
    conf.set(MRJobConfig.QUEUE_NAME, "root." + user);
    conf.setInt(MRJobConfig.MR_AM_VMEM_MB, 256);
    conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 1);
    change.accept(conf);
    this.maps.guard(conf);
    this.reduces.guardReduces(conf);
    job =
        JobClient.submit(
            user,
            () -> {
              Job made = TextJobs.wordCount(conf, name, corpus.folder(), output, reduces);
              made.getConfiguration().unset(MRJobConfig.COMBINE_CLASS_ATTR);
              return made;
            });
  }

  /** Submits one with equal maps. */
  HeldJob(
      ClusterRule cluster, String user, String name, int maps, int reduces,
      Consumer<Configuration> change)
      throws Exception {
    this(cluster, user, name, lines(maps), reduces, change);
  }

  private static int[] lines(int maps) {
    int[] lines = new int[maps];
    Arrays.fill(lines, 200);
    return lines;
  }

  Job job() {
    return job;
  }

  ApplicationId id() {
    return JobClient.applicationId(job.getJobID());
  }

  void letMapsEnd() throws Exception {
    maps.letAll();
  }

  void letReducesEnd() throws Exception {
    reduces.letAll();
  }

  /** Lets this many maps end in all, those that began first. */
  void letMapsEnd(int count) throws Exception {
    maps.let(count);
  }

  /** Lets this many reduces end in all, those that were done with their shuffle first. */
  void letReducesEnd(int count) throws Exception {
    reduces.let(count);
  }

  /** Lets all tasks end; the job must succeed with the right result in its first attempt. */
  void finish() throws Exception {
    letMapsEnd();
    letReducesEnd();
    cluster.assertSucceeds(job);
    assertEquals(1, cluster.applications().find(id()).getAppAttempts().size());
    if (job.getNumReduceTasks() > 0) {
      assertEquals(corpus.counts(), JobOutput.counts(cluster.fileSystem(), output));
    }
  }

  /** Kills those that have not ended. */
  static void kill(List<HeldJob> jobs) throws Exception {
    for (HeldJob job : jobs) {
      if (!job.job.isComplete()) {
        job.job.killJob();
      }
    }
  }

  /** Waits until nothing of it runs except its ApplicationMaster, which has asked for tasks. */
  void awaitPending() throws Exception {
    Applications applications = cluster.applications();
    Await.until(
        job.getJobName() + " waits for containers", ClusterRule.JOB_SECONDS,
        () -> applications.taskHosts(id()).isEmpty() && applications.waits(id())
            && applications.containers(id()) == 1,
        () -> applications.containers(id()) + " containers");
  }

  /** Returns its name and containers, for the message of a failure. */
  @Override
  public String toString() {
    return job.getJobName() + " " + cluster.applications().describe(id());
  }

  /** Waits until all of its maps have ended. */
  void awaitMapsDone() throws Exception {
    Await.until(
        "all " + mapCount + " maps ended", ClusterRule.JOB_SECONDS,
        () -> job.mapProgress() >= 1 && job.getStatus().getMapProgress() >= 1);
  }
}
