package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.FrameLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.Test;

/**
 * Tests preemption for a starved queue on the Java side: the warning, the kill and its status.
 * Tests of the engine's choice are in rust/core.
 */
public class EvictionTest {
  private static final String PREEMPTING = "{\"heartbeat_fill\": 1.0,"
      + " \"queues\": [{\"path\": \"root.starved\", \"max_am_share\": -1,"
      + " \"min_share\": {\"memory-mb\": 2048}},"
      + " {\"path\": \"root.greedy\", \"max_am_share\": 1.0}],"
      + " \"preemption\": {\"enabled\": true, \"min_share_timeout_ms\": 0, \"grace_ms\": 0}}";

  private static void starve(TestCluster cluster) throws Exception {
    MockRMAppSubmitter.submit(cluster.rm, cluster.submission("bob", "root.starved").build());
    cluster.rm.drainEvents();
    for (int tick = 0; tick < 3; tick++) {
      cluster.scheduler.update();
      cluster.rm.drainEvents();
    }
  }

  @Test
  public void aStarvedQueueGetsTheNewestContainerBackAndItsOwnerIsNotBlamed() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(PREEMPTING))) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
      ask(am, any(20, GB, 3));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(3, containers.size());
      cluster.running(node, containers);
      starve(cluster);
      AllocateResponse response = ask(am, any(20, GB, 0));
      assertEquals(1, response.getCompletedContainersStatuses().size());
      assertEquals(ContainerExitStatus.PREEMPTED,
          response.getCompletedContainersStatuses().get(0).getExitStatus());
      assertEquals(3, cluster.attempt(am).getLiveContainers().size());
      assertEquals(1,
          cluster.attempt(am).getQueue().getMetrics().getAggregatePreemptedContainers());
    }
  }

  @Test
  public void afterARestartApplicationMastersAreStillNeverTakenBack() throws Exception {
    Configuration conf = TestCluster.recovering(PREEMPTING);
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 2 * GB);
      List<NMContainerStatus> masters = new ArrayList<>();
      List<ApplicationId> applications = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        RMApp app = old.submit("alice", "root.greedy");
        MockAM am = old.launch(app, node);
        applications.add(app.getApplicationId());
        masters.add(TestCluster.amReport(am, GB));
      }
      try (TestCluster next = new TestCluster(conf, store)) {
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        node.registerNode(masters, applications);
        next.rm.drainEvents();
        assertEquals(0, next.freeMb(node));
        starve(next);
        for (NMContainerStatus master : masters) {
          assertNotNull("evicted: " + master.getContainerId(),
              next.scheduler.getRMContainer(master.getContainerId()));
        }
      }
    }
  }

  @Test
  public void theAmIsWarnedBeforeAContainerIsTaken() throws Exception {
    String patient = PREEMPTING.replace("\"grace_ms\": 0", "\"grace_ms\": 3600000");
    try (TestCluster cluster = new TestCluster(TestCluster.conf(patient))) {
      MockNM node = cluster.node("a1", 2 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
      ask(am, any(20, GB, 1));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      cluster.running(node, containers);
      starve(cluster);
      AllocateResponse response = ask(am, any(20, GB, 0));
      assertNotNull("no warning", response.getPreemptionMessage());
      assertTrue(response.getPreemptionMessage().toString(), Arrays.asList(
          containers.get(0).getId()).equals(Collections.singletonList(
              response.getPreemptionMessage().getStrictContract().getContainers().iterator()
                  .next().getId())));
      assertEquals("it still runs", 2, cluster.attempt(am).getLiveContainers().size());
    }
  }

  @Test
  public void aWarningDoesNotOutliveTheEngineThatGaveIt() throws Exception {
    String patient = PREEMPTING.replace("\"grace_ms\": 0",
        "\"grace_ms\": 1}, \"testing\": {\"faults\": true");
    try (TestCluster cluster = new TestCluster(TestCluster.conf(patient)).expectFaults()) {
      MockNM node = cluster.node("a1", 2 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
      ask(am, any(20, GB, 1));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      cluster.running(node, containers);
      ContainerId id = containers.get(0).getId();
      cluster.scheduler.applier.evict(cluster.attempt(am).job().id(),
          ContainerKeys.of(id), FrameLayout.EVICT_FAIR_SHARE, 1);
      assertEquals(1, cluster.attempt(am).preemptionMarks().size());
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      assertEquals("no warning", 0, cluster.attempt(am).preemptionMarks().size());
      Thread.sleep(2);
      cluster.tick();
      assertNotNull("it runs on", cluster.scheduler.getRMContainer(id));
    }
  }

  /** An AM cannot give a container back that it has not fetched. */
  @Test
  public void theAmIsWarnedOnlyOfContainersThatItWasHanded() throws Exception {
    String patient = PREEMPTING.replace("\"grace_ms\": 0", "\"grace_ms\": 3600000");
    try (TestCluster cluster = new TestCluster(TestCluster.conf(patient))) {
      MockNM node = cluster.node("a1", 3 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
      ask(am, any(20, GB, 2));
      cluster.heartbeat();
      starve(cluster);
      AllocateResponse handing = ask(am, any(20, GB, 0));
      assertEquals(2, handing.getAllocatedContainers().size());
      assertNull("warned of a container in the same answer", handing.getPreemptionMessage());
      AllocateResponse next = ask(am, any(20, GB, 0));
      assertNotNull("no warning", next.getPreemptionMessage());
      ContainerId warned = next.getPreemptionMessage().getStrictContract().getContainers()
          .iterator().next().getId();
      assertTrue(warned.toString(), handing.getAllocatedContainers().stream()
          .anyMatch(container -> container.getId().equals(warned)));
    }
  }

  @Test
  public void aSparkApplicationGivesContainersBackButNeverItsMaster() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(PREEMPTING))) {
      MockNM node = cluster.node("a1", 4 * GB);
      RMApp app = MockRMAppSubmitter.submit(
          cluster.rm, cluster.submission("alice", "root.greedy").withAppType("SPARK").build());
      MockAM am = cluster.launch(app, node);
      assertEquals("SPARK", app.getApplicationType());
      ask(am, any(20, GB, 3));
      cluster.heartbeat();
      cluster.running(node, fetch(am));
      starve(cluster);
      AllocateResponse response = ask(am, any(20, GB, 0));
      assertEquals(1, response.getCompletedContainersStatuses().size());
      assertEquals(ContainerExitStatus.PREEMPTED,
          response.getCompletedContainersStatuses().get(0).getExitStatus());
      assertTrue(cluster.attempt(am).getLiveContainers().stream()
          .anyMatch(container -> container.isAMContainer()));
    }
  }

  @Test
  public void anApplicationMasterGoesOnlyIfTheConfigurationAllowsIt() throws Exception {
    for (boolean allowed : new boolean[] {false, true}) {
      String masters = PREEMPTING.replace(
          "\"enabled\": true", "\"enabled\": true, \"masters\": " + allowed);
      try (TestCluster cluster = new TestCluster(TestCluster.conf(masters))) {
        MockNM node = cluster.node("a1", 2 * GB);
        List<ContainerId> ids = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
          MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
          ids.add(ContainerId.newContainerId(am.getApplicationAttemptId(), 1));
        }
        starve(cluster);
        long left = ids.stream()
            .filter(id -> cluster.scheduler.getRMContainer(id) != null).count();
        assertEquals(allowed ? 1 : 2, left);
      }
    }
  }

  @Test
  public void anApplicationKeepsWhatItsQueueSpares() throws Exception {
    String closed = PREEMPTING.replace(
        "\"max_am_share\": 1.0", "\"max_am_share\": 1.0, \"preempt_opaque\": false");
    assertTrue(closed, closed.contains("preempt_opaque"));
    try (TestCluster cluster = new TestCluster(TestCluster.conf(closed))) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.greedy"), node);
      ask(am, any(20, GB, 3));
      cluster.heartbeat();
      cluster.running(node, fetch(am));
      starve(cluster);
      AllocateResponse response = ask(am, any(20, GB, 0));
      assertNull("a warning", response.getPreemptionMessage());
      assertEquals(4, cluster.attempt(am).getLiveContainers().size());
    }
  }
}
