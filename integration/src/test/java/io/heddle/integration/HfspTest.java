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
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * HFSP on a real cluster: of two jobs without hints about their sizes, the one with less work goes
 * first though it came second, and the big one is not starved. In between another ResourceManager
 * takes over. The same with reduces. Newest Hadoop only: nothing here depends on the version.
 */
public class HfspTest {
  /** At least ten are left when the small job comes, which has fewer. */
  private static final int BIG_MAPS = 16;

  private static final int SMALL_MAPS = 8;

  private static final int MANY_REDUCES = 12;

  private static final int MANY_AT_ONCE = 7;

  /** Half of them are its samples. */
  private static final int FEW_REDUCES = 4;

  /**
   * On a busy machine a JVM of either job may need ten seconds more than another. The big job must
   * be learnt as larger all the same: it has more than three times the work.
   */
  private static final int BIG_MAP_MS = 15_000;

  /** Five or six, depending on where the containers of half the size are. */
  private static final int AT_ONCE = 5;

  /**
   * An odd number together with the big job's ApplicationMaster. Maps take twice the size, so one
   * slot is always left over on some node: for the small job's ApplicationMaster.
   */
  private static final int NEIGHBOURS = 2;

  /** The learnt and the measured times differ by at most this factor. */
  private static final double SLACK = 2.5;

  /**
   * Tasks must not wait for their data: they would let the other job's pass. A phase counts as
   * short before its samples end, so that this time matters little for its order. What would be
   * extrapolated from samples that a test holds means nothing.
   */
  private static final String CONFIGURATION =
      "{\"policy\": \"hfsp\", \"hfsp\": {\"samples\": 2, \"default_task_ms\": 1000,"
          + " \"delta_ms\": 3600000},"
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
      conf.setInt(TextJobs.MAP_PAUSE_MS, BIG_MAP_MS);
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
    Await.until("the small job asks", ClusterRule.JOB_SECONDS,
        () -> phase("map", SMALL_MAPS) != null, HfspTest::stages);
    assertEquals("nothing of it runs yet", 0, phase("map", SMALL_MAPS).get("running").asInt());

    long openedMs = System.currentTimeMillis();
    big.open();
    double[] learnt = awaitSizes();
    CLUSTER.assertSucceeds(small.job());
    big.finish();
    checkLearnt("small", learnt[0], maps(small));
    // Its samples are maps that begin now; earlier ones waited at the gate.
    checkLearnt("big", learnt[1], startedAfter(openedMs, maps(big)));
    checkOrder(maps(small), maps(big));
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
  }

  /**
   * Nodes have room for two reduces each, one less beside the larger job's ApplicationMaster. That
   * job claims an hour for each, so that it cannot be late before the small one comes. Samples of
   * both tell how long reduces are.
   */
  @Test
  public void aJobOfFewReducesOvertakesOneOfMany() throws Exception {
    CLUSTER.awaitIdle();
    HeldJob many = reduces("many", MANY_REDUCES, "heddle:reduce-ms=3600000");
    awaitReduces(MANY_AT_ONCE, many);
    HeldJob few = reduces("few", FEW_REDUCES);
    few.awaitPending();
    // Which of a job's tasks are reduces, its ApplicationMaster's web service tells, when it does.
    Await.until("the engine has its hours as claimed", ClusterRule.JOB_SECONDS,
        () -> sizeMs(MANY_REDUCES) == MANY_REDUCES * 3_600_000.0, HfspTest::stages);
    Await.until("the engine has the few", ClusterRule.JOB_SECONDS,
        () -> phase("reduce", FEW_REDUCES) != null, HfspTest::stages);
    int runs = phase("reduce", FEW_REDUCES).get("running").asInt();
    assertEquals("nothing of it runs yet", 0, runs);

    // Its samples, then the others: each time all that has become free.
    many.letReducesEnd(FEW_REDUCES / 2);
    awaitReduces(FEW_REDUCES / 2, few);
    awaitReduces(MANY_AT_ONCE - FEW_REDUCES / 2, many);
    few.letReducesEnd(FEW_REDUCES / 2);
    double fewMs = awaitSize(FEW_REDUCES);
    awaitReduces(FEW_REDUCES / 2, few);
    awaitReduces(MANY_AT_ONCE - FEW_REDUCES / 2, many);
    few.finish();
    checkLearnt("few reduces", fewMs, tasks(few.job(), TaskType.REDUCE));

    // With all that ran when it came, both of its samples have ended.
    many.letReducesEnd(MANY_AT_ONCE);
    double manyMs = awaitSize(MANY_REDUCES);
    many.finish();
    checkLearnt("many reduces", manyMs, tasks(many.job(), TaskType.REDUCE));
  }

  private static HeldJob reduces(String name, int reduces, String... tags) throws Exception {
    HeldJob job = new HeldJob(CLUSTER, "bob", name, 1, reduces, conf -> {
      conf.setStrings(MRJobConfig.JOB_TAGS, tags);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, 256);
      conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, 1024);
    });
    job.letMapsEnd();
    job.awaitMapsDone();
    return job;
  }

  private static void awaitReduces(int count, HeldJob job) throws Exception {
    Await.until(
        count + " reduces of " + job.job().getJobName() + " run", ClusterRule.JOB_SECONDS,
        () -> CLUSTER.applications().reduceHosts(job.id()).size() == count, HfspTest::stages);
  }

  /** Waits until the samples of a reduce phase have ended; returns the learnt length of a task. */
  private static double awaitSize(int reduces) throws Exception {
    Await.until(
        "samples of " + reduces + " reduces have told their size", ClusterRule.JOB_SECONDS,
        () -> {
          JsonNode phase = phase("reduce", reduces);
          return phase != null && phase.get("trained").asBoolean();
        },
        HfspTest::stages);
    return sizeMs(reduces) / reduces;
  }

  /** Returns what the engine thinks of a phase of reduces; -1 before it knows it. */
  private static double sizeMs(int reduces) throws Exception {
    JsonNode phase = phase("reduce", reduces);
    return phase == null ? -1 : phase.get("size_ms").asDouble();
  }

  @Test
  public void aJobWhoseMapFindsNoRoomKeepsItsReduce() throws Exception {
    HeldBack.keepsItsReduce(CLUSTER, "hfsp");
  }

  /** Sizes nodes for two containers each. */
  private static void halfNodes(Configuration conf) {
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
  }

  /** Returns each map's start and end by its ApplicationMaster, by start. */
  private static List<TaskReport> maps(GatedJob job) throws Exception {
    return tasks(job.job(), TaskType.MAP);
  }

  private static List<TaskReport> tasks(Job job, TaskType kind) throws Exception {
    List<TaskReport> tasks = Arrays.asList(job.getTaskReports(kind));
    tasks.sort(Comparator.comparingLong(TaskReport::getStartTime));
    return tasks;
  }

  private static List<TaskReport> startedAfter(long timeMs, List<TaskReport> maps) {
    return maps.stream().filter(map -> map.getStartTime() > timeMs).collect(Collectors.toList());
  }

  private static long lengthMs(TaskReport map) {
    return map.getFinishTime() - map.getStartTime();
  }

  /** A busy machine makes the tasks longer, and with them what is learnt. */
  private static void checkLearnt(String job, double learntMs, List<TaskReport> tasks) {
    LongSummaryStatistics lengths =
        tasks.stream().mapToLong(HfspTest::lengthMs).summaryStatistics();
    String figures =
        String.format("%s job: %.0f ms per task learnt; %s", job, learntMs, lengths);
    Slots.measured("hfsp: %s", figures);
    assertTrue(figures, learntMs > lengths.getMin() / SLACK);
    assertTrue(figures, learntMs < lengths.getMax() * SLACK);
  }

  /** The order of starts is the scheduler's work, independent of the machine's speed. */
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

  /**
   * Waits until both sizes are known; returns the learnt time of a map of the small and the big
   * job.
   */
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
    JsonNode phase = phase("map", tasks);
    if (phase != null && phase.get("trained").asBoolean()) {
      sizes[at] = phase.get("size_ms").asDouble() / tasks;
    }
  }

  /**
   * Returns the phase with this many tasks of a kind, as the engine knows it; null before they are
   * asked for.
   */
  private static JsonNode phase(String kind, int tasks) throws Exception {
    JsonNode stages = EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}");
    assertNotNull(stages.toString(), stages.get("order").get("pools"));
    for (JsonNode pool : stages.get("order").get("pools")) {
      for (JsonNode phase : pool.get("phases")) {
        if (phase.get("kind").asText().equals(kind) && phase.get("tasks").asInt() == tasks) {
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
