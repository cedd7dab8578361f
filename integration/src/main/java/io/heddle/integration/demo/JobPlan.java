/*
 * The plan of one job of a workload: its user, start, tasks and goal. The jobs are real; only the
 * seconds that a map waits simulate a larger input.
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
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;

/** A plan in a workload; it makes the same job on every cluster. */
final class JobPlan {
  private static final int LINES_PER_FILE = 400;
  private static final int MAP_PAUSE_MS = 3000;
  /** With {@link Run#NODE_MEMORY_MB} a node has room for one task and ApplicationMasters. */
  static final int TASK_MEMORY_MB = 1024;
  static final int MASTER_MEMORY_MB = 256;

  private final String user;
  private final String name;
  private int startSeconds;
  private int maps = 1;
  private int reduces;
  private double goal;
  private boolean combines = true;
  private String queue;
  private final List<String> hints = new ArrayList<>();

  private JobPlan(String user, String name) {
    this.user = user;
    this.name = name;
  }

  /** Makes a job with one map, submitted at once. Each user has a queue, `root.USER`. */
  static JobPlan of(String user, String name) {
    return new JobPlan(user, name);
  }

  /** Sets how many seconds after the first job it is submitted. */
  JobPlan after(int seconds) {
    startSeconds = seconds;
    return this;
  }

  /** Sets the queue that it names; without one the rules of placement find it. */
  JobPlan queue(String path) {
    queue = path;
    return this;
  }

  /** Sets the numbers of tasks. */
  JobPlan tasks(int mapTasks, int reduceTasks) {
    maps = mapTasks;
    reduces = reduceTasks;
    return this;
  }

  /**
   * Sets a completion goal as a multiple of the time for a job of one map, and submits it as a
   * hint. A goal in seconds would be impossible on one machine and trivial on another.
   */
  JobPlan goal(double times) {
    goal = times;
    return this;
  }

  /** Shuffles every word, more bytes than the maps read, and submits the ratio as a hint. */
  JobPlan shufflesAll() {
    combines = false;
    // "word123 " is 8 bytes of input. It shuffles 14: the word and its length, a count of 4 bytes,
    // and 2 bytes of the file format.
    hints.add("heddle:shuffle-ratio=1.7");
    return this;
  }

  String user() {
    return user;
  }

  String name() {
    return name;
  }

  int tasks() {
    return maps + reduces;
  }

  int startSeconds() {
    return startSeconds;
  }

  boolean hasGoal() {
    return goal > 0;
  }

  boolean shuffles() {
    return !combines;
  }

  /**
   * Writes its input into HDFS.
   *
   * @param unitSeconds how long a job of one map takes; needed with a goal
   */
  DemoJob prepare(MiniCluster cluster, double unitSeconds) throws IOException {
    long goalSeconds = Math.round(goal * unitSeconds);
    String title = hasGoal() ? name + " in " + goalSeconds + " s" : name;
    String folder = user + "/" + name.replace(' ', '-');
    // The same text in every run, so that two runs differ in the scheduler only.
    Corpus input =
        Corpus.write(
            cluster.fileSystem(), new Path("/demo/in/" + folder), maps, LINES_PER_FILE,
            folder.hashCode());
    Path output = new Path("/demo/out/" + folder);
    return new DemoJob(
        this,
        title,
        goalSeconds * 1000,
        () -> {
          Configuration conf = cluster.configuration();
          List<String> said = new ArrayList<>(hints);
          if (hasGoal()) {
            said.add("heddle:deadline=+" + goalSeconds + "s");
          }
          conf.setStrings(MRJobConfig.JOB_TAGS, said.toArray(new String[0]));
          return make(conf, title, input.folder(), output);
        });
  }

  private Job make(Configuration conf, String title, Path input, Path output)
      throws IOException {
    conf.setInt(TextJobs.MAP_PAUSE_MS, MAP_PAUSE_MS);
    if (queue != null) {
      conf.set(MRJobConfig.QUEUE_NAME, queue);
    }
    conf.setInt(MRJobConfig.MR_AM_VMEM_MB, MASTER_MEMORY_MB);
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MEMORY_MB);
    conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, TASK_MEMORY_MB);
    // Reduces are placed late, when it is known where the maps ran.
    conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 0.9f);
    if (reduces == 0) {
      return TextJobs.upperCase(conf, title, input, output);
    }
    Job job = TextJobs.wordCount(conf, title, input, output, reduces);
    if (!combines) {
      job.getConfiguration().unset(MRJobConfig.COMBINE_CLASS_ATTR);
    }
    return job;
  }
}
