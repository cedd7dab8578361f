package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotSame;

import io.heddle.integration.cluster.MiniCluster;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Two ResourceManagers in one JVM, and the active one gives up in the middle of a job: to the other
 * and back, then by stopping for good. Running containers are kept, and no job is lost.
 */
public class FailoverTest {
  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(MiniCluster.named("failover").highlyAvailable());

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  /**
   * One job through three changes of the active ResourceManager. The first two are orderly, so the
   * first one gets the lead back with a second scheduler in the same JVM; the third is its end.
   * After each, maps that the new leader granted must finish before the next.
   */
  @Test
  public void jobOutlivesItsResourceManagers() throws Exception {
    MiniCluster cluster = CLUSTER.cluster();
    GatedJob job = new GatedJob(CLUSTER, "failover");
    job.letEnd(3);
    job.awaitRunning(4);
    ResourceScheduler first = cluster.scheduler();

    cluster.failOver();
    awaitRecovery(job);
    job.letEnd(6);

    cluster.failOver();
    assertNotSame("who leads again has a new scheduler", first, cluster.scheduler());
    awaitRecovery(job);
    job.letEnd(9);

    cluster.stopActiveAndFailOver();
    awaitRecovery(job);
    job.finish();
    assertEquals(
        "no map ran twice",
        GatedJob.maps(),
        job.job().getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue());
  }

  /** The new leader knows all nodes and the tasks that ran on through the change. */
  private static void awaitRecovery(GatedJob job) throws Exception {
    CLUSTER.cluster().awaitNodes(4);
    job.awaitRunning(3);
  }
}
