/*
 * Submits MapReduce jobs for ./x soak, whose driver (integration/soak) is not a JVM. Starting a
 * client takes a second of processor time, so one client serves all jobs.
 */
package io.heddle.integration.soak;

import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.TextJobs;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Reads a job from each line of standard input, {@code USER NAME INPUT OUTPUT REDUCES PAUSE_MS},
 * and answers on standard output with {@code submitted NAME APPLICATION} or {@code refused NAME
 * REASON}, in any order. The cluster is that of the configuration on the class path.
 */
public final class Submitter {
  /** Several: one that blocks while no ResourceManager is active must not block the others. */
  private static final int THREADS = 4;

  private Submitter() {}

  /** Runs until the end of its input. */
  public static void main(String[] args) throws IOException {
    Configuration conf = new YarnConfiguration();
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      threads.execute(() -> answer(submit(conf, words)));
    }
    threads.shutdownNow();
  }

  private static String submit(Configuration conf, String[] words) {
    String name = words[1];
    try {
      Job job = JobClient.submit(words[0], () -> job(conf, words));
      return "submitted " + name + " " + JobClient.applicationId(job.getJobID());
    } catch (IOException | InterruptedException | RuntimeException refused) {
      refused.printStackTrace();
      return "refused " + name + " " + refused.toString().replace('\n', ' ');
    }
  }

  private static Job job(Configuration conf, String[] words) throws IOException {
    Path input = new Path(words[2]);
    Path output = new Path(words[3]);
    Job job = TextJobs.wordCount(conf, words[1], input, output, Integer.parseInt(words[4]));
    job.getConfiguration().set("mapreduce.job.queuename", words[0]);
    job.getConfiguration().set(TextJobs.MAP_PAUSE_MS, words[5]);
    job.getConfiguration().set(TextJobs.REDUCE_PAUSE_MS, words[5]);
    return job;
  }

  private static synchronized void answer(String line) {
    System.out.println(line);
  }
}
