package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import io.heddle.integration.jobs.TextJobs;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * HFSP on a real cluster: of two jobs that say nothing of their sizes, the one with shorter tasks
 * ends first though it came second and has more tasks left to start; the big one is not starved.
 * In between another ResourceManager takes over. Newest Hadoop only: nothing here depends on the
 * version.
 */
public class HfspTest {
  /** Ten are left or more when the small job comes, which has fewer. */
  private static final int BIG_MAPS = 16;

  private static final int SMALL_MAPS = 8;

  /** Five or six, by where the containers of half the size are. */
  private static final int AT_ONCE = 5;

  /**
   * With the big job's ApplicationMaster an odd number, so that beside maps of twice the size one
   * slot is left over on some node whatever is where: for the small job's ApplicationMaster.
   */
  private static final int NEIGHBOURS = 2;

  /** Tasks that wait for their data would let the other job's pass. */
  private static final String CONFIGURATION =
      "{\"policy\": \"hfsp\", \"hfsp\": {\"samples\": 2},"
          + " \"delay\": {\"node_wait_ms\": 0, \"rack_wait_ms\": 0}}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("hfsp").highlyAvailable().engineConfiguration(CONFIGURATION));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  @Test
  public void aSmallJobOvertakesABigOneByWhatItsSamplesTold() throws Exception {
    ShellService neighbour = slots.service("grace", "default", NEIGHBOURS);
    slots.await("the neighbour runs", () -> slots.held(neighbour) == NEIGHBOURS, neighbour);
    GatedJob big = new GatedJob(CLUSTER, "bob", "big", BIG_MAPS, conf -> {
      halfNodes(conf);
      conf.setInt(TextJobs.MAP_PAUSE_MS, 6000);
    });
    big.awaitRunning(AT_ONCE);

    CLUSTER.cluster().failOver();
    CLUSTER.cluster().awaitNodes(4);
    big.awaitRunning(AT_ONCE);
    GatedJob small = new GatedJob(CLUSTER, "alice", "small", SMALL_MAPS, conf -> {
      halfNodes(conf);
      conf.setInt(MRJobConfig.NUM_REDUCES, 1);
      conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 0.5f);
    });
    small.open();
    Await.until("the small job asks", ClusterRule.JOB_SECONDS, () -> phase(SMALL_MAPS) != null,
        HfspTest::stages);
    assertEquals("nothing of it runs yet", 0, phase(SMALL_MAPS).get("running").asInt());

    big.open();
    double[] learnt = awaitSizes();
    Slots.measured(
        "hfsp learnt ms per map: small job %.0f, big job %.0f, ratio %.2f",
        learnt[0], learnt[1], learnt[1] / learnt[0]);
    assertTrue("sizes are as the tasks are long", learnt[1] > 1.5 * learnt[0]);
    CLUSTER.assertSucceeds(small.job());
    big.finish();
    checkTimes(small, big);
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
  }

  @Test
  public void aJobWhoseMapFindsNoRoomKeepsItsReduce() throws Exception {
    HeldBack.keepsItsReduce(CLUSTER, "hfsp");
  }

  /** Two to a node. */
  private static void halfNodes(Configuration conf) {
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
  }

  private static void checkTimes(GatedJob small, GatedJob big) throws Exception {
    long done = big.mapsEndedBefore(small.endedMs());
    double smallMs = small.endedMs() - small.submittedMs();
    double bigMs = big.endedMs() - big.submittedMs();
    Slots.measured(
        "hfsp: the small job ended when the big one had done %d of its %d maps; small %.1f s,"
            + " big %.1f s after submission",
        done, BIG_MAPS, smallMs / 1000, bigMs / 1000);
    assertTrue("the big job had done " + done, done < BIG_MAPS);
    double idealMs = (double) (mapMs(small) + mapMs(big)) / AT_ONCE;
    Slots.measured("hfsp: the big job took %.2f times the work of both by slots", bigMs / idealMs);
    assertTrue("starved: " + bigMs / idealMs, bigMs < 3 * idealMs);
  }

  private static long mapMs(GatedJob job) throws Exception {
    return job.job().getCounters().findCounter(JobCounter.MILLIS_MAPS).getValue();
  }

  /** What a map takes by what was learnt, of the small and of the big job, once both are known. */
  private static double[] awaitSizes() throws Exception {
    double[] sizes = new double[2];
    Await.until(
        "samples of both have told their sizes",
        ClusterRule.JOB_SECONDS,
        () -> {
          note(sizes, 0, SMALL_MAPS);
          note(sizes, 1, BIG_MAPS);
          return sizes[0] > 0 && sizes[1] > 0;
        },
        HfspTest::stages);
    return sizes;
  }

  private static void note(double[] sizes, int at, int tasks) throws Exception {
    JsonNode phase = phase(tasks);
    if (phase != null && phase.get("trained").asBoolean()) {
      sizes[at] = phase.get("size_ms").asDouble() / tasks;
    }
  }

  /** What the engine knows of the maps of the job that has so many; null before they are asked. */
  private static JsonNode phase(int tasks) throws Exception {
    JsonNode stages = EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}");
    assertNotNull(stages.toString(), stages.get("order").get("pools"));
    for (JsonNode pool : stages.get("order").get("pools")) {
      for (JsonNode phase : pool.get("phases")) {
        if (phase.get("kind").asText().equals("map") && phase.get("tasks").asInt() == tasks) {
          return phase;
        }
      }
    }
    return null;
  }

  private static String stages() {
    try {
      return EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}").toString();
    } catch (Exception e) {
      return e.toString();
    }
  }
}
