package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeAttributeType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAttributesUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.junit.Test;

/** Tests every event that YARN sends to a scheduler, also those that no other test sends. */
public class EventTest {
  /** Sends events and records their types. */
  private static final class Sender {
    final HeddleScheduler scheduler;
    final EnumSet<SchedulerEventType> sent = EnumSet.noneOf(SchedulerEventType.class);

    Sender(HeddleScheduler scheduler) {
      this.scheduler = scheduler;
    }

    void send(SchedulerEvent event) {
      scheduler.handle(event);
      sent.add(event.getType());
    }
  }

  /** A ResourceManager that stops interrupts the threads that serve ApplicationMasters. */
  @Test
  public void anInterruptedHeartbeatIsNoFault() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat(node);
      Thread.currentThread().interrupt();
      try {
        Allocation answer = cluster.scheduler.allocate(am.getApplicationAttemptId(),
            Collections.<ResourceRequest>emptyList(), null, Collections.<ContainerId>emptyList(),
            null, null, new ContainerUpdates());
        assertEquals("the container's events cannot be sent", 0, answer.getContainers().size());
      } finally {
        // Also clears the mark, which the rest of the test must not see.
        Thread.interrupted();
      }
      assertEquals(0, cluster.scheduler.inspection().failures());
    }
  }

  @Test
  public void everyTypeOfEventOfThisVersionIsHandled() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 4));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(4, containers.size());
      cluster.running(node, containers);

      Sender sender = new Sender(cluster.scheduler);
      sendOfNodes(sender, cluster, node);
      sendOfApplications(sender, cluster);
      sendOfContainers(sender, cluster, am, containers);
      for (SchedulerEventType type : EnumSet.complementOf(sender.sent)) {
        // The other types concern the Capacity Scheduler only; later versions have more of them.
        assertTrue(type + " has a test of its own", type.name().contains("QUEUE"));
        sender.send(new SchedulerEvent(type));
      }
      cluster.rm.drainEvents();
      assertEquals(EnumSet.allOf(SchedulerEventType.class), sender.sent);
    }
  }

  private static void sendOfNodes(Sender sender, TestCluster cluster, MockNM node) {
    RMNode extra = MockNodes.newNodeInfo(1, Resource.newInstance(4 * GB, 4));
    sender.send(new NodeAddedSchedulerEvent(extra));
    assertEquals(12 * GB, cluster.scheduler.getClusterResource().getMemorySize());
    sender.send(new NodeUpdateSchedulerEvent(extra));
    sender.send(new NodeResourceUpdateSchedulerEvent(
        extra, ResourceOption.newInstance(Resource.newInstance(2 * GB, 4), -1)));
    assertEquals(10 * GB, cluster.scheduler.getClusterResource().getMemorySize());
    // YARN repeats a joining node's labels, here none, in an event of its own.
    cluster.rm.drainEvents();
    sender.send(new NodeLabelsUpdateSchedulerEvent(
        Collections.singletonMap(extra.getNodeID(), Collections.singleton("gpu"))));
    assertEquals("gpu",
        cluster.scheduler.getSchedulerNode(extra.getNodeID()).getPartition());
    sender.send(new NodeAttributesUpdateSchedulerEvent(Collections.singletonMap("a1",
        Collections.singleton(NodeAttribute.newInstance(
            "os", NodeAttributeType.STRING, "linux")))));
    assertEquals(1, cluster.scheduler.getSchedulerNode(node.getNodeId())
        .getNodeAttributes().size());
    sender.send(new NodeRemovedSchedulerEvent(extra));
    assertEquals(8 * GB, cluster.scheduler.getClusterResource().getMemorySize());
  }

  private static void sendOfApplications(Sender sender, TestCluster cluster) {
    ApplicationId application = ApplicationId.newInstance(1, 77);
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(application, 1);
    sender.send(new AppAddedSchedulerEvent(application, "root.bob", "bob"));
    sender.send(new AppAttemptAddedSchedulerEvent(attempt, false));
    assertNotNull(cluster.scheduler.getApplicationAttempt(attempt));
    sender.send(new AppAttemptRemovedSchedulerEvent(attempt, RMAppAttemptState.KILLED, false));
    sender.send(new AppRemovedSchedulerEvent(application, RMAppState.KILLED));
    assertNull(cluster.scheduler.getApplicationAttempt(attempt));
  }

  private static void sendOfContainers(
      Sender sender, TestCluster cluster, MockAM am, List<Container> containers) {
    HeddleAppAttempt attempt = cluster.attempt(am);
    RMContainer[] live = new RMContainer[containers.size()];
    for (int i = 0; i < live.length; i++) {
      live[i] = cluster.scheduler.getRMContainer(containers.get(i).getId());
    }
    sender.send(preempt(am, live[0], SchedulerEventType.MARK_CONTAINER_FOR_PREEMPTION));
    assertEquals(Collections.singleton(live[0].getContainerId()), attempt.preemptionMarks());
    sender.send(preempt(am, live[0], SchedulerEventType.MARK_CONTAINER_FOR_NONKILLABLE));
    assertTrue(attempt.preemptionMarks().isEmpty());
    sender.send(preempt(am, live[0], SchedulerEventType.KILL_RESERVED_CONTAINER));
    assertEquals("nothing is reserved", 5, attempt.getLiveContainers().size());
    sender.send(preempt(am, live[0], SchedulerEventType.MARK_CONTAINER_FOR_KILLABLE));
    assertEquals(4, attempt.getLiveContainers().size());
    sender.send(new ContainerExpiredSchedulerEvent(live[1].getContainerId()));
    assertEquals(3, attempt.getLiveContainers().size());
    sender.send(new ReleaseContainerEvent(live[2]));
    assertEquals(2, attempt.getLiveContainers().size());
  }

  private static ContainerPreemptEvent preempt(
      MockAM am, RMContainer container, SchedulerEventType type) {
    return new ContainerPreemptEvent(am.getApplicationAttemptId(), container, type);
  }

  @Test
  public void anErrorInOneEventEndsNeitherTheResourceManagerNorAnyJob() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(2)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 2));
      // An event without content, and one whose class does not match its type.
      cluster.scheduler.handle(new NodeUpdateSchedulerEvent(null));
      cluster.scheduler.handle(new SchedulerEvent(SchedulerEventType.NODE_ADDED));
      assertEquals(2, cluster.scheduler.inspection().failures());
      cluster.heartbeat();
      assertEquals("the next event is handled", 2, fetch(am).size());
      // The audit after these errors finds nothing.
      cluster.tick();
      cluster.tick();
      assertEquals(0, cluster.scheduler.inspection().engineRebuilds());
    }
  }

  private static void shrink(TestCluster cluster, MockNM node, int memoryMb, int timeoutMs) {
    cluster.scheduler.handle(new NodeResourceUpdateSchedulerEvent(cluster.rmNode(node),
        ResourceOption.newInstance(Resource.newInstance(memoryMb, 32), timeoutMs)));
    cluster.rm.drainEvents();
  }

  /** Runs an AM of 1 GB and three containers of 2 GB on one node of 8 GB. */
  private static MockAM threeRunning(TestCluster cluster, MockNM node) throws Exception {
    MockAM am = cluster.run("alice", node);
    ask(am, any(1, 2 * GB, 3));
    cluster.heartbeat(node);
    List<Container> containers = fetch(am);
    assertEquals(3, containers.size());
    cluster.running(node, containers);
    return am;
  }

  @Test
  public void anOvercommittedNodeGetsNothingUntilItHasRoomAgain() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = threeRunning(cluster, node);
      shrink(cluster, node, 4 * GB, -1);
      assertEquals(-3 * GB, cluster.freeMb(node));
      assertEquals(4 * GB, cluster.scheduler.getClusterResource().getMemorySize());
      ask(am, any(2, GB, 1));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      assertEquals("without a time-out nothing is taken back",
          4, cluster.attempt(am).getLiveContainers().size());
      cluster.assertBooksEqual();
      for (RMContainer container : cluster.attempt(am).getLiveContainers()) {
        if (!container.isAMContainer()) {
          cluster.completed(node, container.getContainer());
        }
      }
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void containersOfAnOvercommittedNodeAreKilledWhenItsTimeIsOver() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = threeRunning(cluster, node);
      shrink(cluster, node, 4 * GB, 0);
      cluster.heartbeat();
      AllocateResponse response = ask(am, new ResourceRequest[0]);
      assertEquals(2, response.getCompletedContainersStatuses().size());
      assertEquals(ContainerExitStatus.PREEMPTED,
          response.getCompletedContainersStatuses().get(0).getExitStatus());
      assertEquals("the AM stays", 2, cluster.attempt(am).getLiveContainers().size());
    }
  }

  @Test
  public void amsOfAnOvercommittedNodeAreWarnedFirst() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = threeRunning(cluster, node);
      shrink(cluster, node, 4 * GB, 3_600_000);
      AllocateResponse response = ask(am, new ResourceRequest[0]);
      assertNotNull(response.getPreemptionMessage());
      assertEquals(2, response.getPreemptionMessage().getStrictContract().getContainers().size());
      assertEquals(4, cluster.attempt(am).getLiveContainers().size());
    }
  }
}
