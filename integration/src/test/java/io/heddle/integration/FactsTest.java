package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.Gate;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.Assume;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * What Heddle learns of a running job without hints: it asks real ApplicationMasters over their own
 * web service, behind Hadoop's own filter.
 */
public class FactsTest {
  private static final int MAPS = 5;
  private static final int REDUCES = 2;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("facts")
              .engineConfiguration(
                  "{\"policy\": {\"share\": \"fair\", \"order\": \"hfsp\","
                      + " \"place\": \"shuffle-watcher\"},"
                      + " \"shuffle_watcher\": {\"uplink_bytes_per_s\": 1000000}}")
              .set("heddle.nm-poll.enable", "true")
              .set("heddle.nm-poll.interval-ms", "250")
              .set("heddle.am-poll.interval-ms", "250")
              .set("heddle.am-poll.counters-interval-ms", "250"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void aRunningJobTellsItsTotalsAndCounters() throws Exception {
    Assume.assumeTrue(ClusterRule.isHeddle());
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("facts/in"), MAPS, 500, 9);
    Path output = ClusterRule.path("facts/out");
    Configuration conf = CLUSTER.configuration();
    Gate reduces = new Gate(CLUSTER.fileSystem(), ClusterRule.path("facts/gate"));
    reduces.guardReduces(conf);
    conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 1);
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.wordCount(conf, "facts", corpus.folder(), output, REDUCES));
    Await.until(
        "all maps and their bytes are told", ClusterRule.JOB_SECONDS,
        () -> {
          JsonNode told = told(job);
          return told.at("/counters/done/0").asInt() == MAPS
              && told.at("/counters/input_bytes").asLong() > 0
              && told.at("/counters/map_output_bytes").asLong() > 0;
        },
        () -> told(job).toString());
    JsonNode told = told(job);
    assertEquals(told.toString(), MAPS, told.at("/hints/maps").asInt());
    assertEquals(told.toString(), REDUCES, told.at("/hints/reduces").asInt());
    assertEquals(told.toString(), MAPS, told.at("/counters/done/0").asInt());
    assertTrue(told.toString(), told.at("/counters/input_bytes").asLong() > 0);
    assertTrue(told.toString(), told.at("/counters/map_output_bytes").asLong() > 0);
    reduces.letAll();
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    checkNodes();
  }

  /** What the engine says of a job: nothing before it has it. */
  private static JsonNode told(Job job) {
    String now = CLUSTER.heddle().describe(JobClient.applicationId(job.getJobID()));
    try {
      return now == null ? MissingNode.getInstance() : new ObjectMapper().readTree(now);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Real NodeManagers answer as well. All run in one JVM, whose metrics know one shuffle service by
   * that name. How much each has sent therefore shows nothing here.
   */
  private static void checkNodes() throws Exception {
    JsonNode[] sent = new JsonNode[1];
    Await.until(
        "every NodeManager tells what it has sent", ClusterRule.JOB_SECONDS,
        () -> {
          JsonNode stages = EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}");
          sent[0] = stages.at("/place/sent_bytes");
          return sent[0].size() == CLUSTER.cluster().nodes().size();
        },
        () -> String.valueOf(sent[0]));
    for (JsonNode node : sent[0]) {
      assertTrue(sent[0].toString(), node.get(1).isIntegralNumber());
    }
  }
}
