package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterResponse;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.junit.Test;

/**
 * Tests applications as the AMRMProxy of a federation has them in the sub-clusters that do not have
 * the ApplicationMaster: without a master's container, and registering again when the proxy did.
 */
public class UnmanagedTest {
  /** More than fits into the engine's keys of containers. */
  private static final long EPOCH = 70_000;

  private static RMApp submit(TestCluster cluster, String name, String... tags) throws Exception {
    return MockRMAppSubmitter.submit(cluster.rm, cluster.submission("alice", null)
        .withAppName(name).withAppType("MAPREDUCE").withUnmanagedAM(true).withKeepContainers(true)
        .withApplicationTags(new HashSet<>(Arrays.asList(tags))).build());
  }

  private static MockAM launch(TestCluster cluster, RMApp app) throws Exception {
    ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
    cluster.rm.waitForState(attempt, RMAppAttemptState.LAUNCHED);
    return new MockAM(
        cluster.rm.getRMContext(), cluster.rm.getApplicationMasterService(), attempt);
  }

  @Test
  public void aProxyThatRegistersAgainGetsTheContainers() throws Exception {
    // Hadoop counts epochs only where applications outlive the ResourceManager.
    Configuration conf = TestCluster.recovering("{\"heartbeat_fill\": 1.0}");
    conf.setLong(YarnConfiguration.RM_EPOCH, EPOCH);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = submit(cluster, "UnmanagedAM-first");
      MockAM am = launch(cluster, app);
      am.registerAppAttempt();
      ask(am, any(20, GB, 3));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(3, containers.size());
      assertEquals(EPOCH, containers.get(0).getId().getContainerId() >>> 40);
      cluster.running(node, containers);
      cluster.assertBooksEqual();

      // As after a restart of the proxy's node.
      RegisterApplicationMasterResponse again = am.registerAppAttempt(false);
      assertEquals(3, again.getContainersFromPreviousAttempts().size());
      cluster.completed(node, containers.get(0));
      ask(am, any(20, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
      cluster.assertBooksEqual();

      // The engine's decisions have the key, of which the id has to be found again.
      ContainerId taken = containers.get(1).getId();
      long key = ContainerKeys.of(taken);
      assertNotEquals(taken, ContainerKeys.toId(app.getApplicationId(), key));
      cluster.scheduler.applier.evict(
          cluster.attempt(am).job().id(), key, FrameLayout.EVICT_FAIR_SHARE, 0);
      cluster.tick();
      assertNull(cluster.scheduler.getRMContainer(taken));
      List<ContainerStatus> ended = ask(am, any(20, GB, 0)).getCompletedContainersStatuses();
      assertEquals(taken, ended.get(ended.size() - 1).getContainerId());
      assertEquals(ContainerExitStatus.PREEMPTED, ended.get(ended.size() - 1).getExitStatus());
      cluster.assertBooksEqual();

      am.unregisterAppAttempt();
      cluster.rm.waitForState(app.getApplicationId(), RMAppState.FINISHED);
      cluster.rm.drainEvents();
      assertNull(cluster.scheduler.getApplicationAttempt(am.getApplicationAttemptId()));
      // Their room is free when the node reports their ends.
      cluster.completed(node, containers.get(1));
      cluster.completed(node, containers.get(2));
      assertEquals(8 * GB, cluster.freeMb(node));
    }
  }

  @Test
  public void itsContainersOutliveTheResourceManager() throws Exception {
    Configuration conf = TestCluster.recovering("{\"heartbeat_fill\": 1.0}");
    conf.setLong(YarnConfiguration.RM_EPOCH, EPOCH);
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 8 * GB);
      RMApp app = submit(old, "UnmanagedAM-first");
      MockAM am = launch(old, app);
      am.registerAppAttempt();
      ask(am, any(20, GB, 2));
      old.heartbeat();
      List<Container> containers = fetch(am);
      old.running(node, containers);

      try (TestCluster next = new TestCluster(conf, store)) {
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        List<NMContainerStatus> reports = new ArrayList<>();
        for (Container container : containers) {
          reports.add(TestCluster.report(container, ContainerState.RUNNING));
        }
        node.registerNode(reports, Collections.singletonList(app.getApplicationId()));
        next.rm.drainEvents();
        assertEquals(6 * GB, next.freeMb(node));
        am.setAMRMProtocol(next.rm.getApplicationMasterService(), next.rm.getRMContext());
        next.rm.waitForState(am.getApplicationAttemptId(), RMAppAttemptState.LAUNCHED);
        assertEquals(2, am.registerAppAttempt(false).getContainersFromPreviousAttempts().size());
        ask(am, any(20, GB, 1));
        node.nodeHeartbeat(true);
        next.rm.drainEvents();
        assertEquals(1, fetch(am).size());
        next.assertBooksEqual();
        assertEquals(3, next.scheduler.getRootQueueMetrics().getAllocatedContainers());
      }
    }
  }

  /**
   * All jobs of a user have one name there: it says nothing of them. It matters where a proxy
   * passes on the type (Hadoop 3.5.0's do not): only MapReduce jobs have signatures by name.
   */
  @Test
  public void aProxysNameIsNoSignature() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      RMApp proxys = submit(cluster, "UnmanagedAM-first");
      RMApp tagged = submit(cluster, "UnmanagedAM-first", "heddle:signature=nightly",
          "heddle:reduces=4");
      RMApp named = submit(cluster, "nightly");
      cluster.rm.drainEvents();
      cluster.tick();
      assertTrue(hints(cluster, proxys).get("signature").isNull());
      assertFalse(hints(cluster, tagged).get("signature").isNull());
      assertEquals(4, hints(cluster, tagged).get("reduces").asInt());
      assertFalse(hints(cluster, named).get("signature").isNull());
    }
  }

  private static JsonNode hints(TestCluster cluster, RMApp app) {
    return SetupJson.read(cluster.scheduler.describe(app.getApplicationId())).get("hints");
  }
}
