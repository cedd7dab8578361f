package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.junit.Test;

/**
 * Tests heartbeats of nodes that no pending container fits: they do not reach the engine, but the
 * first one after a change that makes a container fit does.
 */
public class QuietHeartbeatTest {
  /** Two nodes of 8 GB, and an AM on the first whose pending ask fits neither. */
  private static final class Waiting implements AutoCloseable {
    final TestCluster cluster;
    final MockNM first;
    final MockNM second;
    final MockAM am;

    Waiting(TestCluster cluster) throws Exception {
      this.cluster = cluster;
      first = cluster.node("a1", 8 * GB);
      second = cluster.node("b1", 8 * GB);
      am = cluster.run("alice", first);
      ask(am, any(1, 5 * GB, 2));
      cluster.heartbeat();
      // 2 GB and 3 GB are free, and nothing pending fits.
      assertEquals(2, fetch(am).size());
      ask(am, any(1, 5 * GB, 1));
      cluster.heartbeat();
      cluster.heartbeat();
      assertEquals("the heartbeats are spared", 0, framesOfARound());
    }

    long framesOfARound() throws Exception {
      long before = cluster.scheduler.engine.frames();
      cluster.heartbeat();
      return cluster.scheduler.engine.frames() - before;
    }

    @Override
    public void close() {
      cluster.close();
    }
  }

  private static Waiting waiting() throws Exception {
    return new Waiting(new TestCluster());
  }

  @Test
  public void aSmallerAskIsServed() throws Exception {
    try (Waiting waiting = waiting()) {
      ask(waiting.am, any(2, 2 * GB, 2));
      waiting.cluster.heartbeat();
      assertEquals(2, fetch(waiting.am).size());
      waiting.cluster.heartbeat();
      assertEquals(0, waiting.framesOfARound());
      // The same size again, after none of it was pending.
      ask(waiting.am, any(3, GB, 1));
      waiting.cluster.heartbeat();
      assertEquals(1, fetch(waiting.am).size());
      ask(waiting.am, any(3, GB, 1));
      waiting.cluster.tick();
      assertEquals("told by the tick, served by the heartbeat", 0, fetch(waiting.am).size());
      assertTrue(waiting.cluster.freeMb(waiting.first) >= 0);
    }
  }

  @Test
  public void anAskThatTheTickToldIsServedByTheNextHeartbeat() throws Exception {
    try (Waiting waiting = waiting()) {
      ask(waiting.am, any(2, 2 * GB, 1));
      waiting.cluster.tick();
      assertEquals(0, fetch(waiting.am).size());
      waiting.cluster.heartbeat();
      assertEquals(1, fetch(waiting.am).size());
    }
  }

  @Test
  public void anotherJobsMasterIsServed() throws Exception {
    try (Waiting waiting = waiting()) {
      MockAM bob = waiting.cluster.run("bob", waiting.first);
      ask(bob, onHost(1, "b1", GB, 1, false));
      waiting.cluster.heartbeat();
      assertEquals(1, fetch(bob).size());
    }
  }

  @Test
  public void roomThatAppearsIsUsed() throws Exception {
    try (Waiting waiting = waiting()) {
      Container running = null;
      for (RMContainer container
          : waiting.cluster.attempt(waiting.am).getLiveContainers()) {
        if (container.getNodeId().equals(waiting.second.getNodeId())) {
          running = container.getContainer();
        }
      }
      waiting.cluster.running(waiting.second, Collections.singletonList(running));
      waiting.cluster.completed(waiting.second, running);
      waiting.cluster.heartbeat();
      assertEquals(1, fetch(waiting.am).size());
    }
  }

  @Test
  public void aNodeThatGrowsIsUsed() throws Exception {
    try (Waiting waiting = waiting()) {
      waiting.cluster.scheduler.updateNodeResource(waiting.cluster.rmNode(waiting.second),
          ResourceOption.newInstance(Resource.newInstance(10 * GB, 32), -1));
      waiting.cluster.heartbeat();
      assertEquals(1, fetch(waiting.am).size());
    }
  }

  @Test
  public void aNodeThatJoinsOrComesBackUnderItsNumberIsUsed() throws Exception {
    try (Waiting waiting = waiting()) {
      waiting.cluster.forget(waiting.second);
      waiting.cluster.rm.sendNodeLost(waiting.second);
      waiting.cluster.rm.drainEvents();
      waiting.cluster.heartbeat();
      MockNM third = waiting.cluster.node("c1", 8 * GB);
      waiting.cluster.heartbeat(third);
      assertEquals(1, fetch(waiting.am).size());
    }
  }

  @Test
  public void anotherLabelIsNoticed() throws Exception {
    Configuration conf = TestCluster.labelled(TestCluster.conf("{\"heartbeat_fill\": 1.0}"));
    try (Waiting waiting = new Waiting(new TestCluster(conf))) {
      waiting.cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      ResourceRequest labelled = any(7, GB, 1);
      labelled.setNodeLabelExpression("gpu");
      ask(waiting.am, labelled);
      waiting.cluster.heartbeat();
      waiting.cluster.heartbeat();
      assertEquals("no node has the label", 0, waiting.framesOfARound());
      waiting.cluster.rm.getRMContext().getNodeLabelManager().replaceLabelsOnNode(
          Collections.singletonMap(waiting.second.getNodeId(), Collections.singleton("gpu")));
      waiting.cluster.rm.drainEvents();
      // The first node's heartbeat tells the engine; the second's must not be skipped.
      waiting.cluster.heartbeat(waiting.first);
      waiting.cluster.heartbeat(waiting.second);
      assertEquals(1, fetch(waiting.am).size());
    }
  }

  @Test
  public void aJobWhoseTurnComesIsServed() throws Exception {
    String limited = "{\"heartbeat_fill\": 1.0, \"queues\": ["
        + "{\"path\": \"root.one\", \"max_running_jobs\": 1, \"max_am_share\": 1.0}]}";
    try (Waiting waiting = new Waiting(new TestCluster(TestCluster.conf(limited)))) {
      TestCluster cluster = waiting.cluster;
      RMApp running = cluster.submit("bob", "root.one");
      cluster.launch(running, waiting.first);
      RMApp next = cluster.submit("carol", "root.one");
      cluster.heartbeat();
      cluster.heartbeat();
      cluster.rm.killApp(running.getApplicationId());
      cluster.rm.waitForState(running.getApplicationId(), RMAppState.KILLED);
      cluster.rm.waitForAppRemovedFromScheduler(running.getApplicationId());
      cluster.heartbeat();
      assertEquals(1, cluster.scheduler.getApplicationAttempt(
          next.getCurrentAppAttempt().getAppAttemptId()).getLiveContainers().size());
    }
  }

  /** Tasks held back by a limit wait outside the engine's backlog, which may be empty. */
  @Test
  public void aTaskThatWaitsForAnotherToEndIsServedAtOnce() throws Exception {
    String limited = "{\"policy\": {\"order\": \"deficit\"}, \"heartbeat_fill\": 1.0,"
        + " \"queues\": [{\"path\": \"root.one\", \"max_tasks_per_job\": 1}]}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(limited))) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.launch(cluster.submit("bob", "root.one"), node);
      ask(am, any(1, GB, 2));
      cluster.heartbeat();
      List<Container> first = fetch(am);
      assertEquals("one at a time", 1, first.size());
      cluster.running(node, first);
      cluster.heartbeat();
      assertEquals("the engine has nothing to grant", 0, fetch(am).size());
      cluster.completed(node, first.get(0));
      cluster.heartbeat();
      assertEquals("without waiting for a tick", 1, fetch(am).size());
    }
  }

  @Test
  public void aContainerThatIsToGrowIsServed() throws Exception {
    try (Waiting waiting = waiting()) {
      ask(waiting.am, any(2, GB, 1));
      waiting.cluster.heartbeat(waiting.second);
      List<Container> containers = fetch(waiting.am);
      waiting.cluster.running(waiting.second, containers);
      waiting.cluster.heartbeat();
      assertEquals(0, waiting.framesOfARound());
      waiting.am.sendContainerUpdateRequest(Collections.singletonList(
          UpdateContainerRequest.newInstance(containers.get(0).getVersion(),
              containers.get(0).getId(), ContainerUpdateType.INCREASE_RESOURCE,
              Resource.newInstance(2 * GB, 1), null)));
      waiting.cluster.heartbeat();
      assertEquals(1, waiting.am.doHeartbeat().getUpdatedContainers().size());
      waiting.cluster.rm.drainEvents();
    }
  }

  @Test
  public void aNewEngineIsToldOfEveryNodeAgain() throws Exception {
    String faults = "{\"heartbeat_fill\": 1.0, \"testing\": {\"faults\": true}}";
    try (Waiting waiting =
        new Waiting(new TestCluster(TestCluster.conf(faults)).expectFaults())) {
      waiting.cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      ask(waiting.am, any(2, 2 * GB, 2));
      waiting.cluster.heartbeat();
      assertEquals(2, fetch(waiting.am).size());
      waiting.cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      waiting.cluster.heartbeat();
      waiting.cluster.heartbeat();
      assertEquals(0, waiting.framesOfARound());
    }
  }

  /** The clocks of delay scheduling start when a node is passed over, so these must count. */
  @Test
  public void heartbeatsThatPassAnAskOverAreNeverSpared() throws Exception {
    String delay = "{\"heartbeat_fill\": 1.0,"
        + " \"delay\": {\"node_wait_ms\": 200, \"rack_wait_ms\": 0}}";
    try (Waiting waiting = new Waiting(new TestCluster(TestCluster.conf(delay)))) {
      // It waits for the first node, which has too little room; the second has enough.
      ask(waiting.am, onHost(2, "a1", 3 * GB, 1, true));
      waiting.cluster.heartbeat();
      assertEquals("only the first is left alone", 1, waiting.framesOfARound());
      Thread.sleep(250);
      waiting.cluster.tick();
      waiting.cluster.heartbeat();
      assertEquals("it has waited long enough", 1, fetch(waiting.am).size());
    }
  }

  @Test
  public void aNodeIsStillHeldForWhatFitsNowhere() throws Exception {
    String holding = "{\"heartbeat_fill\": 1.0,"
        + " \"reservation\": {\"after_ms\": 0, \"hold_ms\": 3600000}}";
    try (Waiting waiting = new Waiting(new TestCluster(TestCluster.conf(holding)))) {
      waiting.cluster.tick();
      // The node with the most room, 3 GB, is held for 5 GB; small containers use the other.
      ask(waiting.am, any(2, GB, 5));
      waiting.cluster.heartbeat();
      waiting.cluster.heartbeat();
      assertEquals(2, fetch(waiting.am).size());
      assertEquals(3 * GB, waiting.cluster.freeMb(waiting.second));
    }
  }

  /** Tests with random events that after two heartbeats of all nodes no fitting ask is left. */
  @Test
  public void nothingThatFitsIsEverLeftWaiting() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    try (TestCluster cluster = new TestCluster()) {
      List<MockNM> nodes = new ArrayList<>();
      for (int n = 0; n < 4; n++) {
        nodes.add(cluster.node((char) ('a' + n % 2) + "" + n, (6 + 2 * n) * GB));
      }
      List<MockAM> ams = new ArrayList<>();
      for (int a = 0; a < 3; a++) {
        ams.add(cluster.run("user" + a, nodes.get(a)));
      }
      List<Container> running = new ArrayList<>();
      long spared = 0;
      for (int step = 0; step < 150; step++) {
        MockAM am = ams.get(random.nextInt(ams.size()));
        if (random.nextInt(3) > 0) {
          int priority = 1 + random.nextInt(4);
          ask(am, any(priority, (1 + random.nextInt(8)) * GB, random.nextInt(3)));
        }
        if (random.nextInt(2) == 0 && !running.isEmpty()) {
          Container ended = running.remove(random.nextInt(running.size()));
          for (MockNM node : nodes) {
            if (node.getNodeId().equals(ended.getNodeId())) {
              cluster.running(node, Collections.singletonList(ended));
              cluster.completed(node, ended);
            }
          }
        }
        if (random.nextInt(4) == 0) {
          cluster.tick();
        }
        long before = cluster.scheduler.engine.frames();
        cluster.heartbeat();
        cluster.heartbeat();
        spared += 2 * nodes.size() - (cluster.scheduler.engine.frames() - before);
        assertNothingFits("seed " + seed + ", step " + step, cluster, nodes, ams);
        for (MockAM each : ams) {
          running.addAll(fetch(each));
        }
      }
      assertTrue("seed " + seed + ": no heartbeat was spared", spared > 0);
      assertFalse("seed " + seed + ": sizes pile up",
          cluster.scheduler.inspection().books().pendingSizes().count() > 12);
    }
  }

  private static void assertNothingFits(
      String where, TestCluster cluster, List<MockNM> nodes, List<MockAM> ams) {
    ResourceCodec resources = new ResourceCodec();
    for (MockAM am : ams) {
      for (ResourceRequest row : cluster.attempt(am).getAppSchedulingInfo()
          .getAllResourceRequests()) {
        for (MockNM node : nodes) {
          SchedulerNode books = cluster.scheduler.getSchedulerNode(node.getNodeId());
          assertFalse(where + ": " + row + " fits " + books, row.getNumContainers() > 0
              && resources.fits(row.getCapability(), books.getUnallocatedResource()));
        }
      }
    }
  }
}
