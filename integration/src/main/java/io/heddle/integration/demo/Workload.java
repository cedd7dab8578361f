/*
 * What the three users of the demo submit, and when. The jobs are real; only the seconds that each
 * map waits stand for the bytes of a bigger input.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.TextJobs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * One user with a job larger than the cluster, one with two that would fit, one with small jobs
 * while both run. A policy that shares lets the small ones pass; one line for all makes them wait.
 */
final class Workload {
  private static final int LINES_PER_FILE = 400;
  private static final int LARGE_MAPS = 20;
  private static final int MEDIUM_MAPS = 6;
  private static final int SMALL_MAPS = 3;
  private static final int MAP_PAUSE_MS = 2000;
  private static final int STEP_MS = 4000;

  private Workload() {}

  /** Writes the inputs into HDFS and plans the jobs. */
  static List<DemoJob> prepare(MiniCluster cluster) throws IOException {
    Corpus large = corpus(cluster, "large", LARGE_MAPS, 1);
    Corpus medium = corpus(cluster, "medium", MEDIUM_MAPS, 2);
    Corpus small = corpus(cluster, "small", SMALL_MAPS, 3);
    List<DemoJob> jobs = new ArrayList<>();
    jobs.add(wordCount(cluster, "alice", "large count", 0, large, 2));
    jobs.add(wordCount(cluster, "bob", "medium count 1", STEP_MS, medium, 1));
    jobs.add(wordCount(cluster, "bob", "medium count 2", 2 * STEP_MS, medium, 1));
    for (int i = 1; i <= 3; i++) {
      jobs.add(upperCase(cluster, "carol", "small job " + i, (1 + i) * STEP_MS, small));
    }
    return jobs;
  }

  private static Corpus corpus(MiniCluster cluster, String name, int files, long seed)
      throws IOException {
    Path folder = new Path("/demo/" + name);
    return Corpus.write(cluster.fileSystem(), folder, files, LINES_PER_FILE, seed);
  }

  private static DemoJob wordCount(
      MiniCluster cluster, String user, String name, long startMs, Corpus input, int reduces) {
    Path output = output(user, name);
    return new DemoJob(
        user,
        name,
        startMs,
        () -> TextJobs.wordCount(paced(cluster), name, input.folder(), output, reduces));
  }

  private static DemoJob upperCase(
      MiniCluster cluster, String user, String name, long startMs, Corpus input) {
    Path output = output(user, name);
    return new DemoJob(
        user,
        name,
        startMs,
        () -> TextJobs.upperCase(paced(cluster), name, input.folder(), output));
  }

  private static Path output(String user, String name) {
    return new Path("/demo/out/" + user + "/" + name.replace(' ', '-'));
  }

  private static Configuration paced(MiniCluster cluster) {
    Configuration conf = cluster.configuration();
    conf.setInt(TextJobs.MAP_PAUSE_MS, MAP_PAUSE_MS);
    return conf;
  }
}
