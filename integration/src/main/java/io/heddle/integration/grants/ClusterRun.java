/*
 * One cluster with one scheduler: asks and small jobs while it is idle, then while half of it is
 * taken. Compares nothing.
 */
package io.heddle.integration.grants;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.GrantProbe;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.TextJobs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/** Measures once. */
final class ClusterRun {
  static final int NODE_MEMORY_MB = 8192;
  private static final int NODES = 4;
  /** Whole GB, to which the Fair scheduler rounds what is asked for. */
  private static final int TASK_MB = 1024;
  /** YARN's default, for nodes and for MapReduce's ApplicationMaster. */
  private static final int REPORT_MS = 1_000;
  private static final int JOB_SECONDS = 300;
  private static final int MAPS = 4;
  private static final int LINES_PER_MAP = 200;
  /** Every scheduler has this queue, or makes it. */
  private static final String QUEUE = "root.default";

  private final Contender contender;
  private final int asks;
  private final int jobs;
  private final Random random;

  /** Makes a run that asks and submits this often in each of the two states. */
  ClusterRun(Contender contender, int asks, int jobs, long seed) {
    this.contender = contender;
    this.asks = asks;
    this.jobs = jobs;
    random = new Random(seed);
  }

  /** Starts a cluster, measures, and stops it. */
  List<Reading> run() throws Exception {
    MiniCluster.Builder builder = MiniCluster.named("grants-" + contender.label)
        .set(YarnConfiguration.NM_PMEM_MB, String.valueOf(NODE_MEMORY_MB))
        .set(YarnConfiguration.NM_VCORES, "32")
        .set(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, String.valueOf(REPORT_MS))
        .set(MRJobConfig.MR_AM_TO_RM_HEARTBEAT_INTERVAL_MS, String.valueOf(REPORT_MS));
    contender.install(builder);
    List<Reading> readings = new ArrayList<>();
    try (MiniCluster cluster = builder.start()) {
      Corpus input = Corpus.write(cluster.fileSystem(), new Path("/in"), MAPS, LINES_PER_MAP, 1);
      // The first job loads what all later ones use.
      turnAround(cluster, input, "warm-up");
      measure(cluster, input, "idle", readings);
      try (GrantProbe holder =
          new GrantProbe(cluster.configuration(), "holder", QUEUE, random.nextLong())) {
        holder.hold(Resource.newInstance(TASK_MB, 1), NODES * NODE_MEMORY_MB / TASK_MB / 2);
        measure(cluster, input, "half-full", readings);
      }
    }
    return readings;
  }

  private void measure(MiniCluster cluster, Corpus input, String load, List<Reading> readings)
      throws Exception {
    try (GrantProbe probe =
        new GrantProbe(cluster.configuration(), "alice", QUEUE, random.nextLong())) {
      for (GrantProbe.Sample sample : probe.measure(Resource.newInstance(TASK_MB, 1), asks)) {
        readings.add(new Reading(load, Reading.GRANT, sample.grantMs));
        readings.add(new Reading(load, Reading.START, sample.startMs));
      }
    }
    for (int i = 0; i < jobs; i++) {
      Thread.sleep(random.nextInt(REPORT_MS));
      readings.add(new Reading(load, Reading.JOB, turnAround(cluster, input, load + "-" + i)));
    }
  }

  /** Returns the ms from the submission of a word count to its end, by YARN's own record. */
  private static long turnAround(MiniCluster cluster, Corpus input, String name) throws Exception {
    Job job = JobClient.submit("bob", () -> wordCount(cluster.configuration(), name, input));
    if (JobClient.await(job, JOB_SECONDS) != JobStatus.State.SUCCEEDED) {
      throw new IllegalStateException(JobClient.describe(job));
    }
    RMApp app = new Applications(cluster).find(JobClient.applicationId(job.getJobID()));
    // The client hears of the end a moment before YARN has recorded it.
    while (app.getFinishTime() == 0) {
      Thread.sleep(20);
    }
    return app.getFinishTime() - app.getSubmitTime();
  }

  private static Job wordCount(Configuration conf, String name, Corpus input) throws IOException {
    conf.set(MRJobConfig.QUEUE_NAME, QUEUE);
    for (String size : new String[] {
        MRJobConfig.MR_AM_VMEM_MB, MRJobConfig.MAP_MEMORY_MB, MRJobConfig.REDUCE_MEMORY_MB}) {
      conf.setInt(size, TASK_MB);
    }
    return TextJobs.wordCount(conf, name, input.folder(), new Path("/out/" + name), 1);
  }
}
