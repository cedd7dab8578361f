package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.ShellService;
import java.util.Arrays;
import java.util.List;
import java.util.LongSummaryStatistics;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * HFSP on a real cluster: of two jobs without hints about their sizes, the one with less work goes
 * first though it came second, and then the big one goes on. In between another ResourceManager
 * takes over. The same with reduces. The test holds all tasks, so that their lengths are in its
 * hands. Newest Hadoop only: nothing here depends on the version.
 */
public class HfspTest {
  private static final int BIG_MAPS = 16;

  private static final int SMALL_MAPS = 8;

  private static final int MANY_REDUCES = 12;

  /** Nodes have room for two tasks each, one less beside the larger job's ApplicationMaster. */
  private static final int SLOTS = 7;

  /** Half of them are its samples. */
  private static final int FEW_REDUCES = 4;

  private static final int SAMPLES = 2;

  private static final int NEIGHBOURS = 2;

  private static final int TASK_MB = 1024;

  private static final int NODE_MB = 2 * TASK_MB;

  private static final int NODE_VCORES = 16;

  /** What a task counts as before samples tell: no job can be late before they do. */
  private static final int UNKNOWN_MS = 3_600_000;

  /** The learnt and the measured times differ by at most this factor. */
  private static final double SLACK = 2.5;

  /**
   * Tasks must not wait for their data: they would let the other job's pass. Nor must a node be
   * held for long for tasks that the test does not let begin: a smaller one of the other job waits
   * for it. What would be extrapolated from samples that a test holds means nothing.
   */
  private static final String CONFIGURATION =
      "{\"policy\": \"hfsp\", \"hfsp\": {\"samples\": " + SAMPLES
          + ", \"default_task_ms\": " + UNKNOWN_MS + ", \"delta_ms\": 3600000},"
          + " \"delay\": {\"node_wait_ms\": 0, \"rack_wait_ms\": 0},"
          + " \"reservation\": {\"hold_ms\": 1000, \"hold_max_ms\": 1000}}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("hfsp").highlyAvailable().engineConfiguration(CONFIGURATION));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  /** The tasks for which nodes were made larger. */
  private int made;

  @Before
  public void resetNodes() throws Exception {
    CLUSTER.awaitIdle();
    for (String host : Topology.HOSTS) {
      CLUSTER.resize(host, NODE_MB, NODE_VCORES);
    }
  }

  @Test
  public void aSmallJobOvertakesABigOneByWhatItsSamplesTold() throws Exception {
    ShellService neighbour =
        slots.service("grace", "default", NEIGHBOURS, Resource.newInstance(TASK_MB, 1));
    slots.await("the neighbour runs", () -> slots.held(neighbour) == NEIGHBOURS, neighbour);
    int atOnce = SLOTS - NEIGHBOURS;
    HeldJob big = job("bob", "big", BIG_MAPS, 0);
    awaitTasks(atOnce, big);

    CLUSTER.cluster().failOver();
    CLUSTER.cluster().awaitNodes(4);
    awaitTasks(atOnce, big);
    HeldJob small = job("alice", "small", SMALL_MAPS, 1);
    awaitUnstarted(small, "map", SMALL_MAPS);

    // Its samples, then the others: all room that comes. None of the big job's maps ends.
    makeRoom(SAMPLES);
    awaitTasks(SAMPLES, small);
    small.letMapsEnd(SAMPLES);
    double smallMs = awaitSize("map", SMALL_MAPS);
    awaitTasks(SAMPLES, small);
    makeRoom(SMALL_MAPS - 2 * SAMPLES);
    awaitTasks(SMALL_MAPS - SAMPLES, small);
    awaitTasks(atOnce, big);
    // All of its maps have begun.
    small.letMapsEnd(SAMPLES + 1);
    awaitTasks(atOnce + 1, big);

    // With all that ran when the small job came, both of the big one's samples have ended.
    big.letMapsEnd(atOnce);
    double bigMs = awaitSize("map", BIG_MAPS);
    big.letMapsEnd();
    small.finish();
    checkLearnt("small", smallMs, tasks(small.job(), TaskType.MAP));
    big.finish();
    checkLearnt("big", bigMs, tasks(big.job(), TaskType.MAP));
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
  }

  @Test
  public void aJobOfFewReducesOvertakesOneOfMany() throws Exception {
    HeldJob many = reduces("many", MANY_REDUCES);
    awaitTasks(SLOTS, many);
    HeldJob few = reduces("few", FEW_REDUCES);
    // Which of a job's tasks are reduces, its ApplicationMaster's web service tells, when it does.
    Await.until("the engine has the many", ClusterRule.JOB_SECONDS,
        () -> phase("reduce", MANY_REDUCES) != null, HfspTest::stages);
    awaitUnstarted(few, "reduce", FEW_REDUCES);

    // Its samples, then the others, as above.
    makeRoom(SAMPLES);
    awaitTasks(SAMPLES, few);
    few.letReducesEnd(SAMPLES);
    double fewMs = awaitSize("reduce", FEW_REDUCES);
    awaitTasks(FEW_REDUCES - SAMPLES, few);
    awaitTasks(SLOTS, many);
    few.letReducesEnd(SAMPLES + 1);
    awaitTasks(SLOTS + 1, many);
    few.finish();
    checkLearnt("few reduces", fewMs, tasks(few.job(), TaskType.REDUCE));

    // With all that ran when it came, both of the many's samples have ended.
    many.letReducesEnd(SLOTS);
    double manyMs = awaitSize("reduce", MANY_REDUCES);
    many.finish();
    checkLearnt("many reduces", manyMs, tasks(many.job(), TaskType.REDUCE));
  }

  /** Makes room for tasks: one node after the other becomes larger by one. */
  private void makeRoom(int tasks) throws Exception {
    for (int i = 0; i < tasks; i++) {
      String host = Topology.HOSTS.get(made % Topology.HOSTS.size());
      int more = made / Topology.HOSTS.size() + 1;
      CLUSTER.resize(host, NODE_MB + more * TASK_MB, NODE_VCORES);
      made++;
    }
  }

  private static HeldJob job(String user, String name, int maps, int reduces) throws Exception {
    return new HeldJob(CLUSTER, user, name, maps, reduces,
        conf -> conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MB));
  }

  private static HeldJob reduces(String name, int reduces) throws Exception {
    HeldJob job = new HeldJob(CLUSTER, "bob", name, 1, reduces, conf -> {
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, 256);
      conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, TASK_MB);
    });
    job.letMapsEnd();
    job.awaitMapsDone();
    return job;
  }

  /** Waits until a job has asked, and the engine knows how many tasks it has; none may run. */
  private static void awaitUnstarted(HeldJob job, String kind, int tasks) throws Exception {
    job.awaitPending();
    Await.until("the engine has " + tasks + " tasks", ClusterRule.JOB_SECONDS,
        () -> phase(kind, tasks) != null, HfspTest::stages);
    assertEquals("nothing of it runs yet", 0, phase(kind, tasks).get("running").asInt());
    assertEquals("of an unknown size", 1.0 * tasks * UNKNOWN_MS, sizeMs(kind, tasks), 0);
  }

  private static void awaitTasks(int count, HeldJob job) throws Exception {
    Await.until(
        count + " tasks of " + job.job().getJobName() + " run", ClusterRule.JOB_SECONDS,
        () -> CLUSTER.applications().taskHosts(job.id()).size() == count,
        () -> job + " " + stages());
  }

  /** Waits until the samples of a phase have ended; returns the learnt length of a task. */
  private static double awaitSize(String kind, int tasks) throws Exception {
    Await.until(
        "samples of " + tasks + " tasks have told their size", ClusterRule.JOB_SECONDS,
        () -> {
          JsonNode phase = phase(kind, tasks);
          return phase != null && phase.get("trained").asBoolean();
        },
        HfspTest::stages);
    return sizeMs(kind, tasks) / tasks;
  }

  /** Returns what the engine thinks of a phase. */
  private static double sizeMs(String kind, int tasks) throws Exception {
    return phase(kind, tasks).get("size_ms").asDouble();
  }

  @Test
  public void aJobWhoseMapFindsNoRoomKeepsItsReduce() throws Exception {
    HeldBack.keepsItsReduce(CLUSTER, "hfsp");
  }

  private static List<TaskReport> tasks(Job job, TaskType kind) throws Exception {
    return Arrays.asList(job.getTaskReports(kind));
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
