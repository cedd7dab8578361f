package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.report;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.config.ConfigFile;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.junit.Test;

/** Tests restarts of ResourceManagers and ApplicationMasters while containers run on. */
public class RestartTest {
  @Test
  public void aNewResourceManagerFindsEverythingAsItWas() throws Exception {
    Configuration conf = TestCluster.recovering("{\"heartbeat_fill\": 1.0}");
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 8 * GB);
      RMApp app = old.submit("alice", "root.dynamic");
      MockAM am = old.launch(app, node);
      ask(am, any(20, GB, 3));
      old.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(3, containers.size());
      old.running(node, containers);
      ask(am, any(20, GB, 2));

      try (TestCluster next = new TestCluster(conf, store)) {
        RMApp recovered = next.rm.getRMContext().getRMApps().get(app.getApplicationId());
        assertNotNull(recovered);
        assertEquals("root.dynamic", recovered.getQueue());
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        node.registerNode(Arrays.asList(TestCluster.amReport(am, GB),
            report(containers.get(0), ContainerState.RUNNING),
            report(containers.get(1), ContainerState.RUNNING),
            report(containers.get(2), ContainerState.COMPLETE)),
            Collections.singletonList(app.getApplicationId()));
        next.rm.drainEvents();
        assertEquals(5 * GB, next.freeMb(node));
        RMContainer kept = next.scheduler.getRMContainer(containers.get(0).getId());
        assertEquals(RMContainerState.RUNNING, kept.getState());
        assertNull(next.scheduler.getRMContainer(containers.get(2).getId()));
        next.assertBooksEqual();
        assertEquals(3, next.scheduler.getRootQueueMetrics().getAllocatedContainers());

        // The AM registers again and repeats its asks.
        am.setAMRMProtocol(next.rm.getApplicationMasterService(), next.rm.getRMContext());
        next.rm.waitForState(am.getApplicationAttemptId(), RMAppAttemptState.LAUNCHED);
        am.registerAppAttempt(true);
        ask(am, any(20, GB, 2));
        node.nodeHeartbeat(true);
        next.rm.drainEvents();
        assertEquals(2, fetch(am).size());
        assertEquals(3 * GB, next.freeMb(node));
        next.rm.waitForState(app.getApplicationId(), RMAppState.RUNNING);
      }
    }
  }

  /** The application that waited does not take its place, though it was submitted first. */
  @Test
  public void anApplicationThatRanKeepsItsPlaceAmongTheRunning() throws Exception {
    Configuration conf = TestCluster.recovering("{\"queues\": ["
        + "{\"path\": \"root.one\", \"max_running_jobs\": 1}]}");
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 8 * GB);
      RMApp first = old.submit("alice", "one");
      old.launch(first, node);
      RMApp waits = old.submit("alice", "one");
      RMApp runs = MockRMAppSubmitter.submit(old.rm,
          old.submission("bob", "one").withAppPriority(Priority.newInstance(5)).build());
      old.rm.killApp(first.getApplicationId());
      old.rm.waitForAppRemovedFromScheduler(first.getApplicationId());
      MockAM am = old.launch(runs, node);
      assertEquals(RMAppState.ACCEPTED, waits.getState());

      try (TestCluster next = new TestCluster(conf, store)) {
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        node.registerNode(Collections.singletonList(TestCluster.amReport(am, GB)),
            Collections.singletonList(runs.getApplicationId()));
        next.rm.drainEvents();
        String ran = next.scheduler.describe(runs.getApplicationId());
        assertTrue(ran, ran.contains("\"runnable\":true"));
        String waited = next.scheduler.describe(waits.getApplicationId());
        assertTrue(waited, waited.contains("\"runnable\":false"));
      }
    }
  }

  /** Its number may be another application's by the time of the tick that tells the engine. */
  @Test
  public void anApplicationThatEndsBeforeTheFirstTickIsNotTold() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      cluster.submit("alice", "root.a");
      EngineBooks books = cluster.scheduler.inspection().books();
      HeddleJob job = new HeddleJob(ApplicationId.newInstance(17, 1),
          cluster.scheduler.queues.leaf("root.a"), "alice", 0, 0, 0, 0, null);
      books.jobAdded(job, true);
      books.jobRemoved(job);
      cluster.tick();
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void anApplicationWhoseQueueIsGoneGoesOnSomewhere() throws Exception {
    String queues = "{\"heartbeat_fill\": 1.0, \"queues\": [{\"path\": \"root.old.ads\"}],"
        + " \"placement\": [{\"rule\": \"specified\", \"create\": false}]}";
    Configuration conf = TestCluster.recovering(queues);
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 8 * GB);
      RMApp app = old.submit("alice", "ads");
      MockAM am = old.launch(app, node);
      conf.set(ConfigFile.FILE_PROPERTY,
          TestCluster.write(queues.replace("root.old.ads", "root.new")).getPath());
      try (TestCluster next = new TestCluster(conf, store)) {
        RMApp recovered = next.rm.getRMContext().getRMApps().get(app.getApplicationId());
        assertEquals("root.recovery", recovered.getQueue());
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        node.registerNode(Collections.singletonList(TestCluster.amReport(am, GB)),
            Collections.singletonList(app.getApplicationId()));
        next.rm.drainEvents();
        assertEquals(7 * GB, next.freeMb(node));
      }
    }
  }

  @Test
  public void aNewApplicationMasterGetsTheContainersOfTheOld() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 16 * GB);
      RMApp app = MockRMAppSubmitter.submit(cluster.rm,
          cluster.submission("alice", null).withKeepContainers(true)
              .withMaxAppAttempts(3).build());
      MockAM am = cluster.launch(app, node);
      ask(am, any(1, GB, 2), any(2, 64 * GB / 8, 1));
      cluster.heartbeat();
      List<Container> containers = new ArrayList<>(fetch(am));
      cluster.running(node, containers.subList(0, 2));
      int kept = 2;
      cluster.assertBooksEqual();

      node.nodeHeartbeat(am.getApplicationAttemptId(), 1, ContainerState.COMPLETE);
      cluster.rm.waitForState(am.getApplicationAttemptId(), RMAppAttemptState.FAILED);
      cluster.rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
      cluster.rm.drainEvents();
      assertEquals(kept, liveOf(cluster, app));
      cluster.assertBooksEqual();

      MockAM second = cluster.rm.waitForNewAMToLaunchAndRegister(
          app.getApplicationId(), 2, node);
      assertEquals(kept + 1, liveOf(cluster, app));
      ask(second, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(second).size());
      cluster.completed(node, containers.get(0));
      assertEquals(kept + 1, liveOf(cluster, app));
      cluster.assertBooksEqual();
    }
  }

  private static int liveOf(TestCluster cluster, RMApp app) {
    return cluster.scheduler.getApplicationAttempt(
        app.getCurrentAppAttempt().getAppAttemptId()).getLiveContainers().size();
  }

  @Test
  public void withoutKeepingThemTheContainersEndWithTheirApplicationMaster() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 16 * GB);
      RMApp app = MockRMAppSubmitter.submit(cluster.rm,
          cluster.submission("alice", null).withMaxAppAttempts(3).build());
      MockAM am = cluster.launch(app, node);
      ask(am, any(1, GB, 2), any(2, GB, 30));
      cluster.heartbeat();
      assertTrue(fetch(am).size() > 2);
      node.nodeHeartbeat(am.getApplicationAttemptId(), 1, ContainerState.COMPLETE);
      cluster.rm.waitForState(am.getApplicationAttemptId(), RMAppAttemptState.FAILED);
      MockAM second = cluster.rm.waitForNewAMToLaunchAndRegister(
          app.getApplicationId(), 2, node);
      cluster.rm.drainEvents();
      assertEquals(15 * GB, cluster.freeMb(node));
      assertEquals(0, cluster.scheduler.getRootQueueMetrics().getPendingContainers());
      ask(second, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(second).size());
    }
  }

  @Test
  public void twoSchedulersInOneJvmDoNotMeet() throws Exception {
    try (TestCluster one = new TestCluster(); TestCluster two = new TestCluster()) {
      MockNM first = one.node("a1", 8 * GB);
      MockNM second = two.node("b1", 8 * GB);
      MockAM alice = one.run("alice", first);
      MockAM bob = two.run("bob", second);
      ask(alice, any(1, GB, 2));
      ask(bob, any(1, GB, 3));
      one.heartbeat();
      two.heartbeat();
      assertEquals(2, fetch(alice).size());
      assertEquals(3, fetch(bob).size());
      assertNull(one.scheduler.getAppsInQueue("root.bob"));
    }
  }

  @Test
  public void readersOutliveTheService() throws Exception {
    TestCluster cluster = new TestCluster();
    MockNM node = cluster.node("a1", 8 * GB);
    MockAM am = cluster.run("alice", node);
    cluster.rm.stop();
    // Web pages and late calls may still arrive.
    assertNotNull(cluster.scheduler.getQueueInfo("root", true, true));
    assertNotNull(cluster.scheduler.getRootQueueMetrics());
    cluster.scheduler.update();
    assertNull(cluster.scheduler.inspection().differences());
    cluster.scheduler.allocate(am.getApplicationAttemptId(),
        new ArrayList<ResourceRequest>(), null, new ArrayList<ContainerId>(), null, null, null);
    assertEquals(0, cluster.scheduler.inspection().failures());
  }
}
