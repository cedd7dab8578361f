package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
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

  /** An attempt may live for months and ask for other hosts in each heartbeat. */
  @Test
  public void placesWithoutAnAskAreForgotten() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      for (int i = 0; i < 3; i++) {
        String host = "b" + i;
        ask(am, onHost(1, host, GB, 1, false));
        ask(am, onHost(2, host, GB, 1, true));
        cluster.tick();
        assertEquals("the host and its rack", 2, places(cluster).size());
        ask(am, onHost(1, host, GB, 0, false));
        cluster.tick();
        assertEquals("the other ask has them too", 2, places(cluster).size());
        ask(am, onHost(2, host, GB, 0, true));
        cluster.tick();
        assertEquals(0, places(cluster).size());
      }
      ask(am, onHost(1, "c1", GB, 1, true));
      cluster.heartbeat();
      assertEquals("granted elsewhere", 1, fetch(am).size());
      // YARN keeps the rows of hosts until the AM withdraws them or the whole ask.
      ask(am, TestCluster.any(1, GB, 0));
      cluster.tick();
      assertEquals(0, places(cluster).size());
    }
  }

  @Test
  public void aPlaceOfARowAndOfABlacklistIsKeptForEither() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, onHost(1, "b1", GB, 1, false));
      blacklist(am, Collections.singletonList("b1"), null);
      cluster.tick();
      assertEquals(2, places(cluster).size());
      ask(am, onHost(1, "b1", GB, 0, false));
      cluster.tick();
      assertEquals("on the blacklist", 1, places(cluster).size());
      MockNM joined = cluster.node("b1", 8 * GB);
      assertEquals(0, places(cluster).size());
      ask(am, TestCluster.any(1, GB, 12));
      cluster.heartbeat();
      assertEquals("nothing on b1", 8 * GB, cluster.freeMb(joined));
      blacklist(am, null, Collections.singletonList("b1"));
      cluster.heartbeat();
      assertEquals(3 * GB, cluster.freeMb(joined));
    }
  }

  private static void blacklist(MockAM am, List<String> additions, List<String> removals)
      throws Exception {
    am.allocate(AllocateRequest.newInstance(0, 0f, new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>(),
        ResourceBlacklistRequest.newInstance(additions, removals)));
  }
}
