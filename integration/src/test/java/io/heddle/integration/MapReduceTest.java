package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.Time;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.RuleChain;
import org.junit.rules.TestRule;

/**
 * What depends on the version of MapReduce: its client's hints and its ApplicationMaster's asks.
 * All output is verified, and the engine's journal is replayed. TeraSortTest has jobs of other
 * shapes, TenantsTest many users at once; FaultsTest and FailoverTest have faults of the cluster
 * and the engine.
 */
public class MapReduceTest {
  private static final ReplayedJournal JOURNAL = new ReplayedJournal("map-reduce");
  private static final ClusterRule CLUSTER =
      new ClusterRule(JOURNAL.record(MiniCluster.named("map-reduce")));

  /** The journal is replayed when the cluster has stopped. */
  @ClassRule
  public static final TestRule RECORDED = RuleChain.outerRule(JOURNAL).around(CLUSTER);

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  /** A map that failed comes back as a request without a host, at MapReduce's priority 5. */
  @Test
  public void jobWhoseTasksFailAndRetry() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("flaky/in"), 2, 200, 3);
    Path output = ClusterRule.path("flaky/out");
    Configuration conf = CLUSTER.configuration();
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.flakyWordCount(conf, "flaky", corpus.folder(), output, 1));
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    // Map 0 fails once.
    assertEquals(1, counter(job, JobCounter.NUM_FAILED_MAPS));
    assertEquals(3, counter(job, JobCounter.TOTAL_LAUNCHED_MAPS));
    long read = job.getCounters().findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue();
    assertEquals(corpus.lines().size(), read);
  }

  /** With the shipped template only: MapReduce's own client, a real AM, the engine. */
  @Test
  public void aJobWithSeveralReducesTellsTheEngineOfItself() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("hints/in"), 3, 200, 4);
    Path output = ClusterRule.path("hints/out");
    Configuration conf = CLUSTER.configuration();
    File folder = new File("").getAbsoluteFile();
    while (!new File(folder, "conf/mapred-site.xml").isFile()) {
      folder = folder.getParentFile();
    }
    conf.addResource(new File(folder, "conf/mapred-site.xml").toURI().toURL());
    conf.set("heddle.deadline", "+90m");
    conf.set("heddle.shuffle-ratio", "0.35");
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.wordCount(conf, "hints 1", corpus.folder(), output, 2));
    if (ClusterRule.isHeddle()) {
      checkHints(job);
    }
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    assertEquals(3, counter(job, JobCounter.TOTAL_LAUNCHED_MAPS));
    assertEquals(2, counter(job, JobCounter.TOTAL_LAUNCHED_REDUCES));
  }

  private static void checkHints(Job job) throws Exception {
    String told = CLUSTER.heddle().describe(JobClient.applicationId(job.getJobID()));
    assertNotNull("it has ended before it was asked about", told);
    JsonNode hints = new ObjectMapper().readTree(told).get("hints");
    // MapReduce's default is two; the client has counted the splits.
    assertEquals(told, 3, hints.get("maps").asInt());
    assertEquals(told, 2, hints.get("reduces").asInt());
    assertEquals(told, 350, hints.get("shuffle_per_mille").asInt());
    long deadlineMs = hints.get("deadline_ms").asLong();
    assertEquals(told, Time.monotonicNow() + 90 * 60_000, deadlineMs, 60_000);
    assertTrue(told, hints.get("input_bytes").isNull() && !hints.get("signature").isNull());
  }

  private static long counter(Job job, JobCounter counter) throws Exception {
    return job.getCounters().findCounter(counter).getValue();
  }
}
