package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.ShellService;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.After;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * HFSP on a real cluster: a small job without hints about its size goes before a big one that came
 * first, and then the big one goes on. Between the two, another ResourceManager takes over. The
 * same with reduces, without a takeover. The test decides when each task ends. Newest Hadoop only:
 * nothing here depends on the version.
 */
public class HfspTest {
  /** Tasks of the big job. */
  private static final int MANY = 16;

  /** Tasks of the small job. Fair sharing would let fewer of them run at once. */
  private static final int FEW = 10;

  private static final int SAMPLES = 2;

  private static final int TASK_MB = 1024;

  private static final int NODE_MB = 2 * TASK_MB;

  private static final int NODE_VCORES = 16;

  private static final int NEIGHBOURS = 2;

  /** One of eight slots has room for ApplicationMasters only. */
  private static final int AT_ONCE = 8 - 1 - NEIGHBOURS;

  /** The length that the big job claims for its tasks. So long that it cannot be late. */
  private static final int CLAIMED_MS = 3_600_000;

  /** Samples run for longer: what a busy machine adds to their end is little beside it. */
  private static final int SAMPLE_MS = 5000;

  /** The learnt and the measured times differ by at most this factor. */
  private static final double SLACK = 2.5;

  /**
   * Tasks must not wait for their data: they would let the other job's pass. No node is held for
   * them: smaller containers, such as the other job's ApplicationMaster, would wait for the hold's
   * end. What would be extrapolated from samples that a test holds means nothing.
   */
  private static final String CONFIGURATION =
      "{\"policy\": \"hfsp\", \"hfsp\": {\"samples\": " + SAMPLES
          + ", \"default_task_ms\": 1000, \"delta_ms\": 3600000},"
          + " \"delay\": {\"node_wait_ms\": 0, \"rack_wait_ms\": 0},"
          + " \"reservation\": {\"after_ms\": 3600000}}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("hfsp").highlyAvailable().engineConfiguration(CONFIGURATION));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  /** How many tasks {@link #makeRoom} has made room for. */
  private int made;

  private final List<HeldJob> submitted = new ArrayList<>();

  @Before
  public void resetNodes() throws Exception {
    CLUSTER.awaitIdle();
    for (String host : Topology.HOSTS) {
      CLUSTER.resize(host, NODE_MB, NODE_VCORES);
    }
  }

  /** Jobs of a failed test would hold their tasks for minutes. */
  @After
  public void killJobs() throws Exception {
    HeldJob.kill(submitted);
  }

  @Test
  public void aJobOfFewMapsOvertakesOneOfMany() throws Exception {
    checkOvertaking(TaskType.MAP, true,
        () -> maps("bob", "big", MANY, "heddle:map-ms=" + CLAIMED_MS),
        () -> maps("alice", "small", FEW));
  }

  @Test
  public void aJobOfFewReducesOvertakesOneOfMany() throws Exception {
    checkOvertaking(TaskType.REDUCE, false,
        () -> reduces("bob", "many", MANY, "heddle:reduce-ms=" + CLAIMED_MS),
        () -> reduces("alice", "few", FEW));
  }

  @Test
  public void aJobWhoseMapFindsNoRoomKeepsItsReduce() throws Exception {
    HeldBack.keepsItsReduce(CLUSTER, "hfsp");
  }

  private void checkOvertaking(
      TaskType kind, boolean failOver, Callable<HeldJob> submitMany, Callable<HeldJob> submitFew)
      throws Exception {
    ShellService neighbour =
        slots.service("grace", "default", NEIGHBOURS, Resource.newInstance(TASK_MB, 1));
    slots.await("the neighbour runs", () -> slots.held(neighbour) == NEIGHBOURS, neighbour);
    HeldJob many = submitMany.call();
    awaitTasks(AT_ONCE, many);
    // The new leader takes the first two of the tasks that it finds for samples.
    if (failOver) {
      CLUSTER.cluster().failOver();
      CLUSTER.cluster().awaitNodes(4);
      awaitTasks(AT_ONCE, many);
    }

    HeldJob few = submitFew.call();
    few.awaitPending();
    awaitPhase(kind, MANY, phase -> phase.get("size_ms").asDouble() == 1.0 * MANY * CLAIMED_MS);
    awaitPhase(kind, FEW, phase -> !phase.get("trained").asBoolean());
    assertEquals("nothing of it runs yet", 0, phase(kind, FEW).get("running").asInt());

    // Its samples, then the others: all room that comes. None of the big job's tasks ends.
    makeRoom(SAMPLES);
    awaitTasks(SAMPLES, few);
    Thread.sleep(SAMPLE_MS);
    letEnd(few, kind, SAMPLES);
    double fewMs = awaitLearnt(kind, FEW);
    awaitTasks(SAMPLES, few);
    makeRoom(FEW - 2 * SAMPLES);
    awaitTasks(FEW - SAMPLES, few);
    awaitTasks(AT_ONCE, many);
    // All of its tasks have begun.
    letEnd(few, kind, SAMPLES + 1);
    awaitTasks(AT_ONCE + 1, many);

    // With all that ran when the small job came, both of the big one's samples have ended.
    letEnd(many, kind, AT_ONCE);
    double learntMs = awaitLearnt(kind, MANY);
    letEnd(many, kind, MANY);
    few.finish();
    checkLearnt("small", kind, fewMs, first(SAMPLES, kind, few));
    many.finish();
    checkLearnt("big", kind, learntMs, first(AT_ONCE, kind, many));
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
  }

  /** Its reduce waits for the last map. */
  private HeldJob maps(String user, String name, int maps, String... tags) throws Exception {
    HeldJob job = new HeldJob(CLUSTER, user, name, maps, 1, conf -> {
      conf.setStrings(MRJobConfig.JOB_TAGS, tags);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MB);
    });
    submitted.add(job);
    return job;
  }

  private HeldJob reduces(String user, String name, int reduces, String... tags)
      throws Exception {
    HeldJob job = new HeldJob(CLUSTER, user, name, 1, reduces, conf -> {
      conf.setStrings(MRJobConfig.JOB_TAGS, tags);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, 256);
      conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, TASK_MB);
    });
    submitted.add(job);
    job.letMapsEnd();
    job.awaitMapsDone();
    return job;
  }

  private static void letEnd(HeldJob job, TaskType kind, int count) throws Exception {
    if (kind == TaskType.MAP) {
      job.letMapsEnd(count);
    } else {
      job.letReducesEnd(count);
    }
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

  private static void awaitTasks(int count, HeldJob job) throws Exception {
    Await.until(
        count + " tasks of " + job.job().getJobName() + " run", ClusterRule.JOB_SECONDS,
        () -> CLUSTER.applications().taskHosts(job.id()).size() == count,
        () -> job + " " + stages());
  }

  /**
   * Waits for a state of a phase. Which of a job's tasks are reduces, its ApplicationMaster's web
   * service tells, when it does.
   */
  private static JsonNode awaitPhase(TaskType kind, int tasks, Predicate<JsonNode> state)
      throws Exception {
    Await.until(
        "a state of " + tasks + " tasks", ClusterRule.JOB_SECONDS,
        () -> {
          JsonNode phase = phase(kind, tasks);
          return phase != null && state.test(phase);
        },
        HfspTest::stages);
    return phase(kind, tasks);
  }

  /** Waits until the samples of a phase have ended; returns the learnt length of a task. */
  private static double awaitLearnt(TaskType kind, int tasks) throws Exception {
    JsonNode phase = awaitPhase(kind, tasks, seen -> seen.get("trained").asBoolean());
    return phase.get("size_ms").asDouble() / tasks;
  }

  /** Returns the tasks of a kind that began first. */
  private static List<TaskReport> first(int count, TaskType kind, HeldJob job) throws Exception {
    List<TaskReport> tasks = Arrays.asList(job.job().getTaskReports(kind));
    tasks.sort(Comparator.comparingLong(TaskReport::getStartTime));
    return tasks.subList(0, count);
  }

  private static long lengthMs(TaskReport task) {
    return task.getFinishTime() - task.getStartTime();
  }

  /** A busy machine makes the tasks longer, and with them what is learnt. */
  private static void checkLearnt(
      String job, TaskType kind, double learntMs, List<TaskReport> tasks) {
    LongSummaryStatistics lengths =
        tasks.stream().mapToLong(HfspTest::lengthMs).summaryStatistics();
    String figures =
        String.format("%s job: %.0f ms per %s learnt; %s", job, learntMs, kind, lengths);
    Slots.measured("hfsp: %s", figures);
    assertTrue(figures, learntMs > lengths.getMin() / SLACK);
    assertTrue(figures, learntMs < lengths.getMax() * SLACK);
  }

  /**
   * Returns the phase with this many tasks of a kind, as the engine knows it; null before they are
   * asked for.
   */
  private static JsonNode phase(TaskType kind, int tasks) throws Exception {
    JsonNode stages = EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}");
    assertNotNull(stages.toString(), stages.get("order").get("pools"));
    for (JsonNode pool : stages.get("order").get("pools")) {
      for (JsonNode phase : pool.get("phases")) {
        if (phase.get("kind").asText().equalsIgnoreCase(kind.name())
            && phase.get("tasks").asInt() == tasks) {
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
