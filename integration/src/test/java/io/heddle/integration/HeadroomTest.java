package io.heddle.integration;

import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.junit.Test;

/**
 * Shows that {@link HeldBack} can fail: a stock scheduler's headroom tells a job truthfully that
 * there is no room for its map, and its ApplicationMaster kills its reduce. The tests of each
 * policy check that this does not happen under Heddle. Newest Hadoop only.
 */
public class HeadroomTest {
  @Test
  public void underAStockSchedulerAJobKillsItsReduce() throws Exception {
    try (MiniCluster cluster =
        MiniCluster.named("headroom").scheduler(CapacityScheduler.class.getName()).start()) {
      HeldBack held = new HeldBack(ClusterRule.of(cluster), "stock");
      held.awaitKill();
      held.makeRoom();
      long killed = held.finish();
      Slots.measured("capacity: %d reduces killed while a map was held back", killed);
      assertTrue("killed " + killed, killed > 0);
    }
  }
}
