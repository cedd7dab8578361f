package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.release;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.junit.Test;

/** Tests applications and containers from first to last event, through a ResourceManager. */
public class LifeCycleTest {
  @Test
  public void anApplicationRunsFromSubmissionToEnd() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", null);
      assertEquals("root.alice", app.getQueue());
      MockAM am = cluster.launch(app, node);
      assertEquals(7 * GB, cluster.freeMb(node));

      ask(am, any(1, 2 * GB, 3));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(3, containers.size());
      assertEquals(GB, cluster.freeMb(node));
      for (Container container : containers) {
        assertNotNull(container.getContainerToken());
        assertEquals(2 * GB, container.getResource().getMemorySize());
      }
      cluster.assertBooksEqual();

      cluster.running(node, containers);
      cluster.completed(node, containers.get(0));
      assertEquals(3 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();

      MockRM.finishAMAndVerifyAppState(app, cluster.rm, node, am);
      cluster.rm.drainEvents();
      assertNull(cluster.scheduler.getApplicationAttempt(am.getApplicationAttemptId()));
      // The other two end when the node reports it.
      cluster.completed(node, containers.get(1));
      cluster.completed(node, containers.get(2));
      assertEquals(8 * GB, cluster.freeMb(node));
      QueueMetrics metrics = cluster.scheduler.getRootQueueMetrics();
      assertEquals(0, metrics.getAllocatedContainers());
      assertEquals(0, metrics.getAllocatedMB());
      assertEquals(8 * GB, metrics.getAvailableMB());
      assertEquals(1, metrics.getAppsCompleted());
    }
  }

  @Test
  public void nothingIsAllocatedBeyondWhatANodeHas() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * GB, 3);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 10));
      cluster.heartbeat();
      cluster.heartbeat();
      // Three vcores, one of them the AM's.
      assertEquals(2, fetch(am).size());
      assertEquals(GB, cluster.freeMb(node));
      QueueMetrics metrics = cluster.scheduler.getRootQueueMetrics();
      assertEquals(8, metrics.getPendingContainers());
    }
  }

  @Test
  public void anAskIsForManyNodesAndLargeContainersWaitForRoom() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 4 * GB);
      MockNM second = cluster.node("b1", 4 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, any(1, 4 * GB, 1));
      cluster.heartbeat(first);
      assertEquals(0, fetch(am).size());
      cluster.heartbeat(second);
      List<Container> containers = fetch(am);
      assertEquals(1, containers.size());
      assertEquals(second.getNodeId(), containers.get(0).getNodeId());
    }
  }

  @Test
  public void aReleasedContainerGivesItsRoomBack() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, 3 * GB, 1));
      cluster.heartbeat();
      List<Container> first = fetch(am);
      assertEquals(1, first.size());
      AllocateResponse response = release(am, first.get(0).getId());
      assertEquals(1,
          response.getCompletedContainersStatuses().size() + releasedLater(cluster, am));
      assertEquals(3 * GB, cluster.freeMb(node));
      // No heartbeat has followed.
      assertEquals(GB, cluster.scheduler.getRootQueueMetrics().getAllocatedMB());
      assertEquals(3 * GB, cluster.scheduler.getRootQueueMetrics().getAvailableMB());
      ask(am, any(1, 3 * GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  private static int releasedLater(TestCluster cluster, MockAM am) throws Exception {
    cluster.rm.drainEvents();
    return ask(am, new ResourceRequest[0]).getCompletedContainersStatuses().size();
  }

  @Test
  public void aRunningContainersRoomIsFreeOnlyWhenItsNodeSaysSo() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, 3 * GB, 1));
      cluster.heartbeat();
      List<Container> first = fetch(am);
      cluster.running(node, first);
      release(am, first.get(0).getId());
      ask(am, any(1, 3 * GB, 1));
      cluster.heartbeat();
      assertEquals("its process may still be there", 0, fetch(am).size());
      cluster.completed(node, first.get(0));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void aContainerThatNobodyFetchesInTimeExpires() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, 3 * GB, 1));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      cluster.scheduler.handle(
          new ContainerExpiredSchedulerEvent(containers.get(0).getId()));
      cluster.rm.drainEvents();
      assertEquals(3 * GB, cluster.freeMb(node));
      assertEquals(ContainerExitStatus.ABORTED, ask(am, new ResourceRequest[0])
          .getCompletedContainersStatuses().get(0).getExitStatus());
    }
  }

  @Test
  public void aLostNodesContainersAreLostAndAskedForAgain() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, any(1, GB, 2));
      cluster.heartbeat(second);
      List<Container> fetched = fetch(am);
      assertEquals(2, fetched.size());
      cluster.running(second, fetched);
      ask(am, any(1, GB, 1));
      cluster.heartbeat(second);
      // The third is allocated but not fetched: YARN restores its ask.
      cluster.forget(second);
      cluster.rm.sendNodeLost(second);
      cluster.rm.drainEvents();
      assertEquals(1, cluster.scheduler.getNumClusterNodes());
      AllocateResponse response = ask(am, new ResourceRequest[0]);
      assertEquals(0, response.getAllocatedContainers().size());
      cluster.heartbeat(first);
      assertEquals(1, fetch(am).size());
      assertEquals(8 * GB, cluster.scheduler.getClusterResource().getMemorySize());
    }
  }

  @Test
  public void aDrainingNodeGetsNothingNew() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      cluster.rm.sendNodeGracefulDecommission(second, 3600);
      cluster.rm.waitForState(second.getNodeId(), NodeState.DECOMMISSIONING);
      ask(am, any(1, 7 * GB, 2));
      cluster.heartbeat();
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(1, containers.size());
      assertEquals(first.getNodeId(), containers.get(0).getNodeId());
    }
  }

  @Test
  public void aKilledApplicationLeavesNothingBehind() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", null);
      MockAM am = cluster.launch(app, node);
      ask(am, any(1, GB, 20));
      cluster.heartbeat();
      cluster.rm.killApp(app.getApplicationId());
      cluster.rm.waitForState(app.getApplicationId(), RMAppState.KILLED);
      cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
      assertEquals(8 * GB, cluster.freeMb(node));
      QueueMetrics metrics = cluster.scheduler.getRootQueueMetrics();
      assertEquals(0, metrics.getPendingContainers());
      assertEquals(0, metrics.getAllocatedContainers());
      assertEquals(1, metrics.getAppsKilled());
      // Its numbers are reused.
      MockAM next = cluster.run("bob", node);
      ask(next, any(1, GB, 2));
      cluster.heartbeat();
      assertEquals(2, fetch(next).size());
    }
  }

  @Test
  public void aPreemptedContainerIsNotTheAmsFault() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      cluster.running(node, containers);
      cluster.scheduler.killContainer(
          cluster.scheduler.getRMContainer(containers.get(0).getId()));
      cluster.rm.drainEvents();
      AllocateResponse response = ask(am, new ResourceRequest[0]);
      assertEquals(ContainerExitStatus.PREEMPTED,
          response.getCompletedContainersStatuses().get(0).getExitStatus());
    }
  }

  @Test
  public void unknownThingsAreNoErrors() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      Container container = fetch(am).get(0);
      cluster.running(node, java.util.Collections.singletonList(container));
      assertEquals(RMContainerState.RUNNING,
          cluster.scheduler.getRMContainer(container.getId()).getState());
      cluster.completed(node, container);
      // Twice, and for an application that never existed.
      cluster.completed(node, container);
      cluster.scheduler.handle(new ContainerExpiredSchedulerEvent(container.getId()));
      cluster.scheduler.completedContainer(null,
          SchedulerUtils.createAbnormalContainerStatus(container.getId(), "?"), null);
      assertTrue(cluster.scheduler.inspection().engineRebuilds() == 0);
    }
  }
}
