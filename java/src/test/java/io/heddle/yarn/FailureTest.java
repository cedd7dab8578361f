package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.atLeastOnce;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.spy;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.nodelabels.NodeAttributesManager;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.api.records.NodeAction;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.log4j.Appender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.Test;
import org.mockito.ArgumentCaptor;

/** Tests that an error in an event or a heartbeat affects nothing else. */
public class FailureTest {
  private static final IllegalStateException PLANTED = new IllegalStateException("planted");

  @Test
  public void aCompletionThatFailsCostsNoOtherOfItsHeartbeat() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1).withoutAudit()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 3));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      cluster.running(node, containers);
      ContainerId first = containers.get(0).getId();
      RMContainer broken = spy(cluster.scheduler.getRMContainer(first));
      doThrow(PLANTED).when(broken).handle(any());
      cluster.attempt(am).getLiveContainersMap().put(first, broken);
      List<ContainerStatus> ended = new ArrayList<>();
      for (Container container : containers) {
        ended.add(ContainerStatus.newInstance(container.getId(), ContainerState.COMPLETE, "", 0));
      }
      ApplicationId app = am.getApplicationAttemptId().getApplicationId();
      node.nodeHeartbeat(Collections.singletonMap(app, ended), true);
      cluster.rm.drainEvents();
      assertEquals("only the AM runs", 1, cluster.attempt(am).getLiveContainers().size());
      assertEquals("all room is free again", 7 * GB, cluster.freeMb(node));
    }
  }

  /** Otherwise each container granted just before a failover would log an error. */
  @Test
  public void aStopBeforeAContainerIsHandedOverIsNoError() throws Exception {
    assertEquals(Level.INFO, loggedWhenHandedOver(
        new YarnRuntimeException(new InterruptedException("the dispatcher stops"))));
    assertEquals(Level.ERROR, loggedWhenHandedOver(PLANTED));
  }

  /** Returns the level of the line that is logged when the container's event throws this. */
  private static Level loggedWhenHandedOver(RuntimeException thrown) throws Exception {
    Appender appender = mock(Appender.class);
    Logger logger = Logger.getLogger(ContainerTokens.class);
    logger.setLevel(Level.INFO);
    logger.addAppender(appender);
    try (TestCluster cluster = new TestCluster().withoutAudit()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      HeddleAppAttempt attempt = cluster.attempt(am);
      RMContainer granted = spy(attempt.getLiveContainers().stream()
          .filter(container -> container.getState() == RMContainerState.ALLOCATED)
          .findFirst().orElseThrow(() -> new AssertionError("nothing was granted")));
      doThrow(thrown).when(granted).handle(any());
      List<RMContainer> fresh = new ArrayList<>(Collections.singletonList(granted));
      ContainerTokens tokens =
          new ContainerTokens(cluster.rm.getRMContext(), cluster.rm.getConfig());
      assertEquals(Collections.emptyList(), tokens.pull(fresh, attempt));
      assertEquals("it stays for the AM", Collections.singletonList(granted), fresh);
    } finally {
      logger.removeAppender(appender);
      logger.setLevel(null);
    }
    ArgumentCaptor<LoggingEvent> lines = ArgumentCaptor.forClass(LoggingEvent.class);
    verify(appender).doAppend(lines.capture());
    return lines.getValue().getLevel();
  }

  @Test
  public void aNodeThatIsHalfAddedRegistersAgain() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1)) {
      RMContext context = cluster.rm.getRMContext();
      NodeAttributesManager attributes = context.getNodeAttributesManager();
      NodeAttributesManager broken = spy(attributes);
      doThrow(PLANTED).when(broken).refreshNodeAttributesToScheduler(any());
      context.setNodeAttributesManager(broken);
      MockNM node = cluster.node("a1", 8 * GB);
      context.setNodeAttributesManager(attributes);
      assertEquals("nothing of it stays", 0, cluster.scheduler.getNumClusterNodes());
      assertNull(cluster.scheduler.inspection().books().node(node.getNodeId()));
      assertEquals(NodeAction.RESYNC, node.nodeHeartbeat(true).getNodeAction());
      node.registerNode();
      cluster.rm.drainEvents();
      cluster.run("alice", node);
      assertEquals(1, cluster.scheduler.getNumClusterNodes());
    }
  }

  @Test
  public void aContainerThatCannotBeRecoveredCostsNoOtherOfItsNode() throws Exception {
    Configuration conf = TestCluster.recovering("{\"heartbeat_fill\": 1.0}");
    try (TestCluster cluster = new TestCluster(conf).expectFailures(1)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      // The application is accepted and has no attempt yet.
      RMContext context = cluster.rm.getRMContext();
      ApplicationId early = ApplicationId.newInstance(1, 77);
      RMApp app = mock(RMApp.class);
      when(app.getApplicationId()).thenReturn(early);
      when(app.getApplicationSubmissionContext())
          .thenReturn(mock(ApplicationSubmissionContext.class));
      context.getRMApps().put(early, app);
      cluster.scheduler.handle(new AppAddedSchedulerEvent(early, "root.bob", "bob"));
      ContainerId orphan =
          ContainerId.newContainerId(ApplicationAttemptId.newInstance(early, 1), 1);
      MockNM second = new MockNM("b1:1234", 8 * GB, cluster.rm.getResourceTrackerService());
      NMContainerStatus mine = NMContainerStatus.newInstance(
          ContainerId.newContainerId(am.getApplicationAttemptId(), 99), 0,
          ContainerState.RUNNING, org.apache.hadoop.yarn.api.records.Resource.newInstance(GB, 1),
          "", 0, Priority.newInstance(1), 0);
      NMContainerStatus broken = NMContainerStatus.newInstance(orphan, 0,
          ContainerState.RUNNING, org.apache.hadoop.yarn.api.records.Resource.newInstance(GB, 1),
          "", 0, Priority.newInstance(1), 0);
      second.registerNode(Arrays.asList(broken, mine), Collections.emptyList());
      cluster.rm.drainEvents();
      assertEquals(2, cluster.attempt(am).getLiveContainers().size());
      assertEquals(7 * GB, cluster.freeMb(second));
      context.getRMApps().remove(early);
    }
  }

  @Test
  public void anApplicationThatCannotBeAcceptedIsRejected() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1)) {
      cluster.node("a1", 8 * GB);
      ApplicationId id = ApplicationId.newInstance(1, 77);
      RMApp app = mock(RMApp.class);
      when(app.getApplicationId()).thenReturn(id);
      when(app.getSubmitTime()).thenThrow(PLANTED);
      cluster.rm.getRMContext().getRMApps().put(id, app);
      cluster.scheduler.handle(new AppAddedSchedulerEvent(id, "root.alice", "alice"));
      cluster.rm.drainEvents();
      ArgumentCaptor<RMAppEvent> told = ArgumentCaptor.forClass(RMAppEvent.class);
      verify(app, atLeastOnce()).handle(told.capture());
      assertEquals(RMAppEventType.APP_REJECTED, told.getValue().getType());
      assertTrue(told.getValue().getDiagnosticMsg(),
          told.getValue().getDiagnosticMsg().contains("planted"));
      assertNull(cluster.scheduler.inspection().books().job(id));
      assertFalse(cluster.scheduler.getSchedulerApplications().containsKey(id));
      cluster.rm.getRMContext().getRMApps().remove(id);
    }
  }

  @Test
  public void anAttemptThatCannotBeginFails() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1)) {
      cluster.node("a1", 8 * GB);
      ApplicationId id = ApplicationId.newInstance(1, 77);
      ApplicationAttemptId attemptId = ApplicationAttemptId.newInstance(id, 1);
      RMAppAttempt attempt = mock(RMAppAttempt.class);
      RMApp app = mock(RMApp.class);
      when(app.getApplicationId()).thenReturn(id);
      when(app.getRMAppAttempt(attemptId)).thenReturn(attempt);
      ConcurrentMap<ApplicationId, RMApp> apps = cluster.rm.getRMContext().getRMApps();
      apps.put(id, app);
      cluster.scheduler.handle(new AppAddedSchedulerEvent(id, "root.alice", "alice"));
      // Drained first: a mock must not change while the dispatcher calls it.
      cluster.rm.drainEvents();
      when(app.getApplicationSubmissionContext()).thenThrow(PLANTED);
      cluster.scheduler.handle(new AppAttemptAddedSchedulerEvent(attemptId, false));
      cluster.rm.drainEvents();
      ArgumentCaptor<RMAppAttemptEvent> told = ArgumentCaptor.forClass(RMAppAttemptEvent.class);
      verify(attempt, atLeastOnce()).handle(told.capture());
      assertEquals(RMAppAttemptEventType.FAIL, told.getValue().getType());
      apps.remove(id);
    }
  }

  @Test
  public void aHeartbeatThatFailsIsAnsweredWithNothing() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ResourceRequest broken = any(1, GB, 1);
      broken.setCapability(null);
      assertEquals(0, cluster.scheduler.allocate(am.getApplicationAttemptId(),
          new ArrayList<>(Collections.singletonList(broken)), null,
          new ArrayList<ContainerId>(), null, null, null).getContainers().size());
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void aGrantThatIsTakenBackIsAskedForAgain() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", null);
      cluster.rm.drainEvents();
      ConcurrentMap<ApplicationId, RMApp> apps = cluster.rm.getRMContext().getRMApps();
      RMApp broken = spy(app);
      // Fails late in a commit, when the counts are already lowered.
      org.mockito.Mockito.doAnswer(call -> {
        for (StackTraceElement caller : new Throwable().getStackTrace()) {
          if (caller.getClassName().equals(ContainerCommit.class.getName())) {
            throw PLANTED;
          }
        }
        return call.callRealMethod();
      }).when(broken).getCurrentAppAttempt();
      apps.put(app.getApplicationId(), broken);
      cluster.heartbeat();
      apps.put(app.getApplicationId(), app);
      assertEquals("the commit failed", 1, cluster.scheduler.inspection().refusedGrants());
      assertEquals(8 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();
      // The job skips the node for a second.
      Thread.sleep(1_100);
      MockAM am = cluster.launch(app, node);
      assertEquals(1, cluster.attempt(am).getLiveContainers().size());
      assertEquals(1, cluster.scheduler.getRootQueueMetrics().getAllocatedContainers());
    }
  }

  @Test
  public void anApplicationReleasesOnlyItsOwnContainers() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM alice = cluster.run("alice", node);
      MockAM bob = cluster.run("bob", node);
      ask(bob, any(1, GB, 1));
      ask(alice, any(1, GB, 1));
      cluster.heartbeat();
      ContainerId bobs = fetch(bob).get(0).getId();
      ContainerId alices = fetch(alice).get(0).getId();
      // The ResourceManager's call for an application that keeps containers is unchecked.
      cluster.scheduler.allocate(alice.getApplicationAttemptId(),
          new ArrayList<ResourceRequest>(), null, Arrays.asList(bobs, alices), null, null, null);
      assertNotNull("another's", cluster.scheduler.getRMContainer(bobs));
      assertNull("its own", cluster.scheduler.getRMContainer(alices));
    }
  }

  @Test
  public void aNewHostCostsTheRowsThatNameIt() throws Exception {
    try (TestCluster cluster = new TestCluster().withoutAudit()) {
      MockAM am = cluster.run("alice", cluster.node("a1", 8 * GB));
      List<ResourceRequest> rows = new ArrayList<>();
      for (int i = 1; i <= 50; i++) {
        rows.addAll(onHost(i, "b" + i, GB, 1, false));
      }
      ask(am, rows);
      cluster.scheduler.update();
      for (int i = 1; i <= 50; i++) {
        cluster.node("b" + i, GB);
        FrameWriter out = new FrameWriter(new ResourceCodec(), 4096);
        cluster.attempt(am).writeChanges(out);
        // The first node is also the first of its rack, which all asks name.
        int most = i == 1 ? 1 + 2 * 50 : 2;
        assertTrue("node " + i + ": " + out.records() + " records",
            out.records() >= 1 && out.records() <= most);
      }
    }
  }

  @Test
  public void aNodeThatAnErrorLeftOutRegistersAgain() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.setLong(HeddleScheduler.AUDIT_PROPERTY, 50);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      HeddleScheduler scheduler = cluster.scheduler;
      EngineBooks books = scheduler.inspection().books();
      books.nodeRemoved(books.node(node.getNodeId()));
      for (int i = 0; i < 1_000 && cluster.rmNode(node) != null; i++) {
        Thread.sleep(20);
        cluster.tick();
      }
      assertEquals(NodeAction.RESYNC, node.nodeHeartbeat(true).getNodeAction());
      assertEquals(0, scheduler.getNumClusterNodes());
      node.registerNode();
      cluster.rm.drainEvents();
      cluster.run("alice", node);
      assertEquals(7 * GB, cluster.freeMb(node));
    }
  }
}
