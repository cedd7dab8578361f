package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import io.heddle.integration.jobs.TextJobs;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * HFSP on a real cluster: of two jobs that say nothing of their sizes, the one with less work goes
 * first though it came second; the big one is not starved.
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

  /** What was learnt and what YARN measured differ by at most this factor. */
  private static final double SLACK = 2.5;

  /**
   * Tasks that wait for their data would let the other job's pass. A phase is taken for short
   * before its samples end, so that the time until then counts for little in its order.
   */
  private static final String CONFIGURATION =
      "{\"policy\": \"hfsp\", \"hfsp\": {\"samples\": 2, \"default_task_ms\": 1000},"
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

    long openedMs = System.currentTimeMillis();
    big.open();
    double[] learnt = awaitSizes();
    CLUSTER.assertSucceeds(small.job());
    big.finish();
    checkLearnt("small", learnt[0], maps(small));
    // Its samples are of those that begin now; the maps before them waited at the gate.
    checkLearnt("big", learnt[1], startedAfter(openedMs, maps(big)));
    checkOrder(maps(small), maps(big));
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

  /** Each map's start and end by its ApplicationMaster, in the order of their starts. */
  private static List<TaskReport> maps(GatedJob job) throws Exception {
    List<TaskReport> maps = Arrays.asList(job.job().getTaskReports(TaskType.MAP));
    maps.sort(Comparator.comparingLong(TaskReport::getStartTime));
    return maps;
  }

  private static List<TaskReport> startedAfter(long timeMs, List<TaskReport> maps) {
    return maps.stream().filter(map -> map.getStartTime() > timeMs).collect(Collectors.toList());
  }

  private static long lengthMs(TaskReport map) {
    return map.getFinishTime() - map.getStartTime();
  }

  /** A machine that is busy makes the maps longer, and what is learnt of them with it. */
  private static void checkLearnt(String job, double learntMs, List<TaskReport> maps) {
    LongSummaryStatistics lengths = maps.stream().mapToLong(HfspTest::lengthMs).summaryStatistics();
    String figures =
        String.format("%s job: %.0f ms per map learnt; %s", job, learntMs, lengths);
    Slots.measured("hfsp: %s", figures);
    assertTrue(figures, learntMs > lengths.getMin() / SLACK);
    assertTrue(figures, learntMs < lengths.getMax() * SLACK);
  }

  /** The order of starts is the scheduler's work, whatever the machine's speed. */
  private static void checkOrder(List<TaskReport> small, List<TaskReport> big) {
    int behind = startedAfter(small.get(SMALL_MAPS - 1).getStartTime(), big).size();
    long workMs = Stream.of(small, big).flatMap(List::stream).mapToLong(HfspTest::lengthMs).sum();
    long endMs = big.stream().mapToLong(TaskReport::getFinishTime).max().orElse(0);
    double share = (double) (endMs - big.get(0).getStartTime()) * AT_ONCE / workMs;
    Slots.measured(
        "hfsp: %d of the big job's %d maps began after the small job's last;"
            + " its maps took %.2f times the work of both by slots",
        behind, BIG_MAPS, share);
    assertTrue("the big job's maps behind the small job's: " + behind, behind > 0);
    assertTrue("starved: " + share, share < 3);
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
