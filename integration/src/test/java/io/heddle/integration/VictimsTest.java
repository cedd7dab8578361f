package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.Gate;
import io.heddle.integration.jobs.HeldOutput;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.ShellService;
import io.heddle.integration.jobs.TextJobs;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Which of a real job's maps a bidder displaces: those without progress, and none that commits.
 * Newest Hadoop only: nothing here depends on the version.
 */
public class VictimsTest {
  private static final int MAPS = 3;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("victims")
              .engineConfiguration(
                  "{\"policy\": \"dynamic-priority\", \"preemption\": {\"grace_ms\": 200},"
                      + " \"dynamic_priority\": {\"allocation_interval_ms\": 2000,"
                      + "   \"reclaim_interval_ms\": 1000},"
                      + " \"queues\": ["
                      + "   {\"path\": \"root.alice\", \"budget\": 1e9},"
                      + "   {\"path\": \"root.bob\", \"budget\": 1e9}]}")
              .set("heddle.am-poll.interval-ms", "250"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  /** Two maps wait at the gate without progress; the third has read its input and commits. */
  @Test
  public void theMapThatCommitsIsSpared() throws Exception {
    Path folder = ClusterRule.path("victims");
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), new Path(folder, "in"), MAPS, 50, 3);
    Gate gate = new Gate(CLUSTER.fileSystem(), new Path(folder, "gate"));
    Path release = new Path(folder, "release");
    Configuration conf = CLUSTER.configuration();
    conf.set(MRJobConfig.QUEUE_NAME, "root.alice");
    conf.set(HeldOutput.RELEASE, release.toString());
    gate.guard(conf);
    Job job =
        JobClient.submit(
            "alice",
            () -> {
              Job made =
                  TextJobs.upperCase(conf, "victims", corpus.folder(), new Path(folder, "out"));
              made.setOutputFormatClass(HeldOutput.class);
              return made;
            });
    ApplicationId id = JobClient.applicationId(job.getJobID());
    await("all maps run", () -> CLUSTER.applications().taskHosts(id).size() == MAPS, id);
    gate.let(1);
    await("one map commits", () -> committing(id).size() == 1, id);
    long spared = committing(id).get(0);

    bid("alice", 0);
    bid("bob", 10);
    ShellService bob = slots.service("bob", "root.bob", 16);
    await("the others are taken", () -> launched(job) == MAPS && slots.held(id) <= 2, id);
    assertEquals("the map that commits stays", spared, (long) committing(id).get(0));

    bob.stop();
    assertFalse("the job waits for its commit", job.isComplete());
    gate.letAll();
    CLUSTER.fileSystem().create(release, true).close();
    CLUSTER.assertSucceeds(job);
    assertEquals("two maps ran again", MAPS + 2, launched(job));
  }

  private static long launched(Job job) throws Exception {
    return job.getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue();
  }

  /** Returns the containers whose tasks commit, as the engine knows them. */
  private static List<Long> committing(ApplicationId id) throws Exception {
    String told = CLUSTER.heddle().describe(id);
    List<Long> keys = new ArrayList<>();
    if (told != null) {
      for (JsonNode task : new ObjectMapper().readTree(told).path("tasks")) {
        if (task.get(2).asBoolean()) {
          keys.add(task.get(0).asLong());
        }
      }
    }
    return keys;
  }

  private static void bid(String queue, double rate) throws Exception {
    EngineRequest.send(
        CLUSTER.heddle(),
        "{\"op\": \"setSpending\", \"queue\": \"root." + queue + "\", \"value\": " + rate
            + "}");
  }

  private static void await(
      String what, java.util.concurrent.Callable<Boolean> condition, ApplicationId id)
      throws Exception {
    Await.until(what, ClusterRule.JOB_SECONDS, condition, () -> describe(id));
  }

  private static String describe(ApplicationId id) {
    try {
      return String.valueOf(CLUSTER.heddle().describe(id));
    } catch (Exception e) {
      return e.toString();
    }
  }
}
