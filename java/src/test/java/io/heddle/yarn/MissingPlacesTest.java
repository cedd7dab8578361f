package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;

import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.Test;

/** Asks for hosts that have no node yet. */
public class MissingPlacesTest {
  private static MissingPlaces places(TestCluster cluster) {
    return cluster.scheduler.inspection().books().missingPlaces();
  }

  @Test
  public void anAskForAHostIsServedWhenItsNodeJoins() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      MockAM other = cluster.run("bob", first);
      ask(am, onHost(1, "b1", GB, 2, false));
      ask(other, onHost(1, "c1", GB, 1, false));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      assertEquals("b1, c1 and their racks", 4, places(cluster).size());
      MockNM second = cluster.node("b1", 8 * GB);
      cluster.heartbeat();
      assertEquals(2, fetch(am).stream()
          .filter(one -> one.getNodeId().equals(second.getNodeId())).count());
      assertEquals(0, fetch(other).size());
      assertEquals("c1 and its rack", 2, places(cluster).size());
      cluster.assertBooksEqual();
    }
  }

  /** Users choose the names: they must not stay for ever. */
  @Test
  public void anAttemptThatEndsIsForgotten() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      MockAM other = cluster.run("bob", node);
      ask(am, onHost(1, "b1", GB, 2, true));
      ask(am, onHost(2, "b2", GB, 2, true));
      ask(other, onHost(1, "b1", GB, 1, false));
      cluster.heartbeat();
      assertEquals("b1, b2 and their rack", 3, places(cluster).size());
      RMApp app = cluster.rm.getRMContext().getRMApps()
          .get(am.getApplicationAttemptId().getApplicationId());
      MockRM.finishAMAndVerifyAppState(app, cluster.rm, node, am);
      cluster.rm.drainEvents();
      assertEquals("bob's", 2, places(cluster).size());
    }
  }
}
