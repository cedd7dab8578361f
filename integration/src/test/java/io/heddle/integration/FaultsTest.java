package io.heddle.integration;

import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Node;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Faults in the middle of a job: a NodeManager is lost, another is stopped and comes back, the
 * engine panics. No job is lost. ResourceManager failover is in FailoverTest. Newest Hadoop only:
 * the shim's own tests lose nodes and engines on every version.
 */
public class FaultsTest {
  /** Two end, four more fill the cluster, and the rest waits. */
  private static final int MAPS = 8;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("faults").engineConfiguration("{\"testing\": {\"faults\": true}}")
              // A node has room for one map beside the ApplicationMaster.
              .set(YarnConfiguration.NM_PMEM_MB, "1536")
              // A lost node is noticed soon.
              .set(YarnConfiguration.RM_NM_EXPIRY_INTERVAL_MS, "20000"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  /** Returns a job of which some maps are done, others run, and some wait for a container. */
  private static GatedJob jobInItsMiddle(String name) throws Exception {
    GatedJob job = new GatedJob(CLUSTER, name, MAPS);
    job.letEnd(2);
    job.awaitRunning(4);
    return job;
  }

  /** The node does not sign off: its tasks are found dead only when heartbeats are missing. */
  @Test
  public void nodeIsLostInMidJob() throws Exception {
    GatedJob job = jobInItsMiddle("lost");
    Node node = job.nodeWithTasksOnly();
    node.crash();
    CLUSTER.cluster().awaitNodes(3);
    job.finish();
    assertTrue("maps launched: " + job.launchedMaps(), job.launchedMaps() > MAPS);
    CLUSTER.cluster().restart(node);
    CLUSTER.cluster().awaitNodes(4);
  }

  @Test
  public void nodeIsStoppedAndComesBackInMidJob() throws Exception {
    GatedJob job = jobInItsMiddle("stopped");
    Node node = job.nodeWithTasksOnly();
    node.stop();
    CLUSTER.cluster().awaitNodes(3);
    CLUSTER.cluster().restart(node);
    CLUSTER.cluster().awaitNodes(4);
    job.finish();
  }

  /** The engine is rebuilt from the ResourceManager's state; running tasks continue. */
  @Test
  public void enginePanicsInMidJob() throws Exception {
    CLUSTER.expectRebuilds(1);
    GatedJob job = jobInItsMiddle("panic");
    long rebuilds = CLUSTER.heddle().inspection().engineRebuilds();
    EngineFault.panic(CLUSTER.heddle());
    Await.until(
        "the engine is rebuilt", Await.SECONDS,
        () -> CLUSTER.heddle().inspection().engineRebuilds() > rebuilds);
    job.finish();
    job.assertNothingRanTwice();
    // The new engine serves later jobs, too.
    new GatedJob(CLUSTER, "after-panic", 1).finish();
  }
}
