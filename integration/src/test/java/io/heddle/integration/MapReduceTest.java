/*
 * Real MapReduce jobs, one after the other, with their output verified. Faults of the cluster are
 * in FaultsTest and FailoverTest, many users at once in TenantsTest.
 */
package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

public class MapReduceTest {
  private static MiniCluster cluster;

  @BeforeClass
  public static void startCluster() throws Exception {
    long t = System.currentTimeMillis();
    cluster = MiniCluster.named("map-reduce").scheduler(System.getProperty("heddle.integration.scheduler")).start();
    System.out.println("start ms " + (System.currentTimeMillis() - t));
  }

  @AfterClass
  public static void stopCluster() {
    long t = System.currentTimeMillis();
    if (cluster != null) {
      cluster.close();
    }
    System.out.println("stop ms " + (System.currentTimeMillis() - t));
  }

  @Test
  public void wordCountWithSeveralReducers() throws Exception {
    long t = System.currentTimeMillis();
    FileSystem fs = cluster.fileSystem();
    Corpus corpus = Corpus.write(fs, new Path("/words/in"), 6, 200, 1);
    Path output = new Path("/words/out");
    Configuration conf = cluster.configuration();
    Job job =
        JobClient.submit(
            "ada", () -> TextJobs.wordCount(conf, "word count", corpus.folder(), output, 3));
    assertEquals(
        JobClient.describe(job), JobStatus.State.SUCCEEDED, JobClient.await(job, 120));
    assertEquals(corpus.counts(), JobOutput.counts(fs, output));
    System.out.println("words ms " + (System.currentTimeMillis() - t));
    System.out.println(job.getCounters());
  }
}
