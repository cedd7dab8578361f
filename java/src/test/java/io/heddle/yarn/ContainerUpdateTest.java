package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.scheduler.OpportunisticContainerContext;
import org.junit.Test;

/** Tests containers that grow, shrink, or switch between guaranteed and opportunistic. */
public class ContainerUpdateTest {
  private static Container one(TestCluster cluster, MockAM am, MockNM node, int memoryMb)
      throws Exception {
    ask(am, any(1, memoryMb, 1));
    cluster.heartbeat();
    List<Container> containers = fetch(am);
    assertEquals(1, containers.size());
    cluster.running(node, containers);
    return containers.get(0);
  }

  private static AllocateResponse update(
      MockAM am, Container container, ContainerUpdateType type, Resource size, ExecutionType to)
      throws Exception {
    AllocateResponse response = am.sendContainerUpdateRequest(Collections.singletonList(
        UpdateContainerRequest.newInstance(
            container.getVersion(), container.getId(), type, size, to)));
    assertTrue(response.getUpdateErrors().toString(), response.getUpdateErrors().isEmpty());
    return response;
  }

  private static Container resize(TestCluster cluster, MockAM am, Container container,
      ContainerUpdateType type, int memoryMb) throws Exception {
    AllocateResponse response =
        update(am, container, type, Resource.newInstance(memoryMb, 1), null);
    if (response.getUpdatedContainers().isEmpty()) {
      cluster.heartbeat();
      response = am.doHeartbeat();
    }
    cluster.rm.drainEvents();
    assertEquals(1, response.getUpdatedContainers().size());
    Container updated = response.getUpdatedContainers().get(0).getContainer();
    assertEquals(container.getId(), updated.getId());
    assertEquals(memoryMb, updated.getResource().getMemorySize());
    return updated;
  }

  @Test
  public void aContainerGrowsWhereItRuns() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      MockNM where = node;
      if (!container.getNodeId().equals(node.getNodeId())) {
        throw new AssertionError("the test expects the first node");
      }
      resize(cluster, am, container, ContainerUpdateType.INCREASE_RESOURCE, 4 * GB);
      assertEquals(3 * GB, cluster.freeMb(where));
      cluster.assertBooksEqual();
      cluster.completed(where, container);
      assertEquals(7 * GB, cluster.freeMb(where));
    }
  }

  @Test
  public void aContainerWaitsForRoomToGrow() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container blocker = one(cluster, am, node, 4 * GB);
      Container container = one(cluster, am, node, GB);
      update(am, container, ContainerUpdateType.INCREASE_RESOURCE,
          Resource.newInstance(5 * GB, 1), null);
      cluster.heartbeat();
      assertEquals(0, am.doHeartbeat().getUpdatedContainers().size());
      cluster.completed(node, blocker);
      cluster.heartbeat();
      assertEquals(1, am.doHeartbeat().getUpdatedContainers().size());
      cluster.rm.drainEvents();
      assertEquals(2 * GB, cluster.freeMb(node));
    }
  }

  @Test
  public void aContainerShrinksAtOnce() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, 6 * GB);
      resize(cluster, am, container, ContainerUpdateType.DECREASE_RESOURCE, 2 * GB);
      assertEquals(5 * GB, cluster.freeMb(node));
      assertEquals("with that of the ApplicationMaster", 2,
          cluster.scheduler.getRootQueueMetrics().getAllocatedContainers());
      assertEquals(3 * GB, cluster.scheduler.getRootQueueMetrics().getAllocatedMB());
      cluster.assertBooksEqual();
      ask(am, any(2, 5 * GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void growingAndShrinkingInTurnKeepsTheBooks() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 16 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      for (int i = 0; i < 3; i++) {
        container =
            resize(cluster, am, container, ContainerUpdateType.INCREASE_RESOURCE, 5 * GB);
        node.containerIncreaseStatus(container);
        cluster.rm.drainEvents();
        cluster.assertBooksEqual();
        container =
            resize(cluster, am, container, ContainerUpdateType.DECREASE_RESOURCE, 2 * GB);
        cluster.assertBooksEqual();
      }
      assertEquals(13 * GB, cluster.freeMb(node));
      cluster.completed(node, container);
      assertEquals(15 * GB, cluster.freeMb(node));
    }
  }

  @Test
  public void aContainerShrinksBeforeItsMasterHeardThatItHasGrown() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 16 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, 4 * GB);
      update(am, container, ContainerUpdateType.INCREASE_RESOURCE,
          Resource.newInstance(6 * GB, 1), null);
      cluster.heartbeat();
      update(am, container, ContainerUpdateType.DECREASE_RESOURCE,
          Resource.newInstance(2 * GB, 1), null);
      cluster.rm.drainEvents();
      cluster.assertBooksEqual();
      cluster.completed(node, container);
      assertEquals(15 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void anIncreaseThatTheAmDoesNotUseIsTakenBack() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      resize(cluster, am, container, ContainerUpdateType.INCREASE_RESOURCE, 4 * GB);
      assertEquals(3 * GB, cluster.freeMb(node));
      cluster.scheduler.handle(new ContainerExpiredSchedulerEvent(container.getId(), true));
      am.doHeartbeat();
      cluster.rm.drainEvents();
      assertEquals(6 * GB, cluster.freeMb(node));
    }
  }

  /** The AM never fetches the rollback, because its attempt ends before. */
  @Test
  public void anAttemptThatEndsWhileAContainerShrinksLeavesNothing() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      resize(cluster, am, container, ContainerUpdateType.INCREASE_RESOURCE, 4 * GB);
      cluster.scheduler.handle(new ContainerExpiredSchedulerEvent(container.getId(), true));
      cluster.scheduler.handle(new AppAttemptRemovedSchedulerEvent(
          am.getApplicationAttemptId(), RMAppAttemptState.KILLED, false));
      cluster.rm.drainEvents();
      assertEquals(0, cluster.scheduler.getRootQueueMetrics().getAllocatedContainers());
      assertEquals(0, cluster.scheduler.getRootQueueMetrics().getAllocatedMB());
      assertTrue(cluster.scheduler.getRootQueueMetrics().getPendingMB() >= 0);
      assertEquals(0, cluster.attempt(am).getLiveContainers().size());
    }
  }

  @Test
  public void anUpdateThatReplacesAnotherIsNoContainer() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      for (int tooMuch : new int[] {7 * GB + 512, 8 * GB}) {
        update(am, container, ContainerUpdateType.INCREASE_RESOURCE,
            Resource.newInstance(tooMuch, 1), null);
      }
      assertEquals("with that of the ApplicationMaster", 2,
          cluster.scheduler.getRootQueueMetrics().getAllocatedContainers());
      assertEquals("only the second waits", 7 * GB,
          cluster.scheduler.getRootQueueMetrics().getPendingMB());
      assertEquals(2 * GB, cluster.scheduler.getRootQueueMetrics().getAllocatedMB());
      resize(cluster, am, container, ContainerUpdateType.INCREASE_RESOURCE, 2 * GB);
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void aGrowingContainerThatEndsLeavesNothing() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      update(am, container, ContainerUpdateType.INCREASE_RESOURCE,
          Resource.newInstance(4 * GB, 1), null);
      cluster.heartbeat();
      // The room is taken, but the container ends before its AM knows.
      cluster.completed(node, container);
      am.doHeartbeat();
      cluster.rm.drainEvents();
      assertEquals(7 * GB, cluster.freeMb(node));
    }
  }

  @Test
  public void aContainerIsDemotedAndPromoted() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.setBoolean(YarnConfiguration.OPPORTUNISTIC_CONTAINER_ALLOCATION_ENABLED, true);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      HeddleAppAttempt attempt = cluster.attempt(am);
      if (attempt.getOpportunisticContainerContext() == null) {
        attempt.setOpportunisticContainerContext(new OpportunisticContainerContext());
      }
      Container container = one(cluster, am, node, 4 * GB);
      AllocateResponse response = update(am, container,
          ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC);
      if (response.getUpdatedContainers().isEmpty()) {
        response = am.doHeartbeat();
      }
      cluster.rm.drainEvents();
      assertEquals(1, response.getUpdatedContainers().size());
      assertEquals("opportunistic ones take no room", 7 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();

      Container demoted = response.getUpdatedContainers().get(0).getContainer();
      assertEquals(ExecutionType.OPPORTUNISTIC, demoted.getExecutionType());
      response = update(am, demoted,
          ContainerUpdateType.PROMOTE_EXECUTION_TYPE, null, ExecutionType.GUARANTEED);
      cluster.heartbeat();
      if (response.getUpdatedContainers().isEmpty()) {
        response = am.doHeartbeat();
      }
      cluster.rm.drainEvents();
      assertEquals(1, response.getUpdatedContainers().size());
      assertEquals(3 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();
      cluster.completed(node, container);
      assertEquals(7 * GB, cluster.freeMb(node));
    }
  }

  @Test
  public void nothingIsDemotedWhereNothingIsOpportunistic() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      Container container = one(cluster, am, node, GB);
      AllocateResponse response = update(am, container,
          ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, ExecutionType.OPPORTUNISTIC);
      assertEquals(0, response.getUpdatedContainers().size());
      assertEquals(ExecutionType.GUARANTEED,
          cluster.scheduler.getRMContainer(container.getId()).getExecutionType());
    }
  }
}
