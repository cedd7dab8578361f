package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.Node;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToIntFunction;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * A job whose last map finds no room while its reduce runs. MapReduce's ApplicationMaster kills the
 * reduce if the scheduler's headroom says that nothing else makes room. The cluster must be idle at
 * the start.
 */
final class HeldBack {
  /** Empty nodes shrink to this: even all of them together have no room for a task. */
  private static final int EMPTY_MB = 128;

  /** The size of a task. Some node must be that large: YARN refuses the ask otherwise. */
  private static final int TASK_MB = 512;

  /** The ApplicationMaster and the reduce. */
  private static final int KEPT = 2;

  private static final int HOLD_S = 4;

  private final GatedJob job;
  private final Slots slots;

  /**
   * Submits it. One of its two maps has ended; the other was killed and finds no room. Its reduce
   * runs.
   */
  HeldBack(ClusterRule cluster, String name) throws Exception {
    job = new GatedJob(cluster, "alice", "held-" + name, 2, conf -> {
      conf.setInt(MRJobConfig.NUM_REDUCES, 1);
      conf.setFloat(MRJobConfig.COMPLETED_MAPS_FOR_REDUCE_SLOWSTART, 0.5f);
    });
    slots = new Slots(cluster);
    job.letEnd(1);
    job.awaitReduces(1);
    // The master, the remaining map, and the reduce, which waits for it.
    Await.until(
        "the first map's container is gone", ClusterRule.JOB_SECONDS,
        () -> slots.held(job.id()) == KEPT + 1);
    List<String> kept = new ArrayList<>(cluster.applications().reduceHosts(job.id()));
    kept.add(cluster.applications().masterHost(job.id()));
    resize(node -> kept.contains(node.host()) ? TASK_MB : EMPTY_MB);
    // Only what runs is killed.
    job.awaitStarted(2);
    job.killRunningMaps();
    Await.until(
        "the map is gone", ClusterRule.JOB_SECONDS, () -> slots.held(job.id()) <= KEPT);
  }

  /**
   * The same with {@code ./x test --all} only: the engine computes headroom without the policy.
   * FairTest and HfspTest check it each time.
   */
  static void keepsItsReduceToo(ClusterRule cluster, String policy) throws Exception {
    if (System.getenv("HEDDLE_TEST_ALL") != null) {
      keepsItsReduce(cluster, policy);
    }
  }

  /** Checks that under Heddle, with any policy, the reduce stays and the job ends well. */
  static void keepsItsReduce(ClusterRule cluster, String policy) throws Exception {
    cluster.awaitIdle();
    HeldBack held = new HeldBack(cluster, policy);
    try {
      long endNanos = System.nanoTime() + HOLD_S * 1_000_000_000L;
      while (System.nanoTime() - endNanos < 0) {
        assertEquals(policy + ": master and reduce", KEPT, held.slots.held(held.job.id()));
        Thread.sleep(100);
      }
    } catch (Throwable e) {
      // Its maps would hold their room for minutes.
      held.job.kill();
      throw e;
    } finally {
      held.makeRoom();
    }
    long killed = held.finish();
    Slots.measured("%s: %d reduces killed while a map was held back", policy, killed);
    assertEquals(0, killed);
  }

  /**
   * Waits until its ApplicationMaster has killed the reduce, which must not happen under Heddle.
   */
  void awaitKill() throws Exception {
    Await.until(
        "the master kills its reduce", ClusterRule.JOB_SECONDS, () -> killedReduces() > 0);
  }

  /** Gives the nodes their former size. */
  void makeRoom() throws Exception {
    int memoryMb = job.cluster().configuration().getInt(YarnConfiguration.NM_PMEM_MB, 0);
    resize(node -> memoryMb);
  }

  /** Lets the map end; returns how many reduces were killed until the job succeeded. */
  long finish() throws Exception {
    job.finish();
    return killedReduces();
  }

  private long killedReduces() throws Exception {
    return job.job().getCounters().findCounter(JobCounter.NUM_KILLED_REDUCES).getValue();
  }

  private void resize(ToIntFunction<Node> memoryMb) throws Exception {
    int vcores = job.cluster().configuration().getInt(YarnConfiguration.NM_VCORES, 0);
    for (Node node : job.cluster().cluster().nodes()) {
      job.cluster().resize(node.host(), memoryMb.applyAsInt(node), vcores);
    }
  }
}
