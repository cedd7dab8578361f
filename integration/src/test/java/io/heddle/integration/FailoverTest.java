package io.heddle.integration;

import static org.junit.Assert.assertNotSame;

import io.heddle.integration.cluster.MiniCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Two ResourceManagers in one JVM. The active one gives up in the middle of a job: to the other and
 * back, then by stopping for good. Running containers are kept, and no job is lost.
 */
public class FailoverTest {
  /** What the cluster has room for: a map on each node, beside the ApplicationMaster on one. */
  private static final int AT_ONCE = 4;

  /** Each leader must grant some: the last one, too, which grants two and the reduce. */
  private static final int MAPS = 2 + 3 * AT_ONCE + 2;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("failover").highlyAvailable()
              .set(YarnConfiguration.NM_PMEM_MB, "1536"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  /**
   * Runs one job through three changes of the active ResourceManager. The first two are orderly:
   * the first one leads again with a second scheduler in the same JVM. The third change ends it.
   * Before each change, all tasks run that the previous leader granted: a NodeManager refuses to
   * start a container of a ResourceManager that no longer leads, and the map would run again.
   */
  @Test
  public void jobOutlivesItsResourceManagers() throws Exception {
    MiniCluster cluster = CLUSTER.cluster();
    GatedJob job = new GatedJob(CLUSTER, "failover", MAPS);
    job.letEnd(2);
    job.awaitStarted(2 + AT_ONCE);
    ResourceScheduler first = cluster.scheduler();

    cluster.failOver();
    awaitRecovery(job);
    // The running maps end, so the next ones were granted by the second leader.
    job.letEnd(2 + AT_ONCE);
    job.awaitStarted(2 + 2 * AT_ONCE);

    cluster.failOver();
    assertNotSame("who leads again has a new scheduler", first, cluster.scheduler());
    awaitRecovery(job);
    job.letEnd(2 + 2 * AT_ONCE);
    job.awaitStarted(2 + 3 * AT_ONCE);

    cluster.stopActiveAndFailOver();
    CLUSTER.cluster().awaitNodes(4);
    job.finish();
    job.assertNothingRanTwice();
  }

  /** Waits until the new leader knows all nodes and the tasks that kept running. */
  private static void awaitRecovery(GatedJob job) throws Exception {
    CLUSTER.cluster().awaitNodes(4);
    job.awaitRunning(AT_ONCE);
  }
}
