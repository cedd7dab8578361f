package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.engine.EngineClock;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.Lock;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.junit.Test;

/** Tests that AMs get what they ask for in the same call, as far as room for it is known. */
public class OffersTest {
  private static Configuration offering() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0,"
        + " \"delay\": {\"node_wait_ms\": 3600000, \"rack_wait_ms\": 3600000}}");
    conf.unset(Offers.PROPERTY); // It is on by default.
    return conf;
  }

  /** Runs a job: its ApplicationMaster has a container before any node reports. */
  private static MockAM run(TestCluster cluster, MockNM node) throws Exception {
    RMApp app = MockRMAppSubmitter.submit(cluster.rm,
        cluster.submission("alice", null).withWaitForAppAcceptedState(false).build());
    cluster.rm.waitForState(app.getApplicationId(), RMAppState.ACCEPTED);
    RMAppAttempt attempt = app.getCurrentAppAttempt();
    cluster.rm.waitForState(attempt.getAppAttemptId(), RMAppAttemptState.ALLOCATED);
    assertEquals("without a report", node.getNodeId(), attempt.getMasterContainer().getNodeId());
    MockAM am = cluster.rm.sendAMLaunched(attempt.getAppAttemptId());
    am.registerAppAttempt();
    // The dispatcher has the lock while it handles what this began.
    cluster.rm.drainEvents();
    return am;
  }

  /** Asks once, and returns what the same answer has. */
  private static List<Container> at(MockAM am, List<ResourceRequest> rows) throws Exception {
    return ask(am, rows).getAllocatedContainers();
  }

  private static List<Container> at(MockAM am, ResourceRequest row) throws Exception {
    return at(am, Collections.singletonList(row));
  }

  @Test
  public void theSameCallAnswersWithTheContainers() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = run(cluster, first);
      List<Container> got = ask(am, any(1, GB, 4)).getAllocatedContainers();
      assertEquals(4, got.size());
      long onSecond = got.stream()
          .filter(one -> one.getNodeId().equals(second.getNodeId())).count();
      assertTrue("five on two nodes: " + got, onSecond == 2 || onSecond == 3);
      assertEquals("what has been granted is not granted again", 0, fetch(am).size());
      QueueMetrics root = cluster.scheduler.getRootQueueMetrics();
      cluster.tick();
      assertEquals("as operators see it", 16 * GB - root.getAllocatedMB(),
          root.getAvailableMB());
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      cluster.assertBooksEqual();
    }
  }

  /** RMAppAttemptImpl would lose the container, and wait until it expires. */
  @Test
  public void aReportDuringTheAskForAMasterPutsNothingIntoItsAnswer() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM node = cluster.node("a1", 8 * GB);
      // The node reports whenever the scheduler reads the time: before the ask is in the books, and
      // when they are unlocked.
      AtomicBoolean reporting = new AtomicBoolean();
      cluster.scheduler.setClock(() -> {
        if (reporting.compareAndSet(false, true)) {
          cluster.scheduler.handle(new NodeUpdateSchedulerEvent(cluster.rmNode(node)));
          reporting.set(false);
        }
        return Time.now();
      });
      run(cluster, node);
      cluster.assertBooksEqual();
    }
  }

  /** The engine must know the room of a node that came with its containers after a restart. */
  @Test
  public void afterARestartNoMoreThanTheRestOfANodeIsOffered() throws Exception {
    offerRest(0);
    offerRest(1);
  }

  /** Restarts the ResourceManager, and asks for two more containers than {@code rest}. */
  private static void offerRest(int rest) throws Exception {
    Configuration conf = TestCluster.recovering("{\"heartbeat_fill\": 1.0}");
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", (3 + rest) * GB);
      RMApp app = old.submit("alice", "dynamic");
      MockAM am = old.launch(app, node);
      ask(am, any(20, GB, 2));
      old.heartbeat();
      List<Container> two = fetch(am);
      assertEquals(2, two.size());
      old.running(node, two);
      conf.unset(Offers.PROPERTY);
      try (TestCluster next = new TestCluster(conf, store)) {
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        List<NMContainerStatus> kept = new ArrayList<>();
        kept.add(TestCluster.amReport(am, GB));
        for (Container task : two) {
          kept.add(TestCluster.report(task, ContainerState.RUNNING));
        }
        node.registerNode(kept, Collections.singletonList(app.getApplicationId()));
        next.rm.drainEvents();
        am.setAMRMProtocol(next.rm.getApplicationMasterService(), next.rm.getRMContext());
        next.rm.waitForState(am.getApplicationAttemptId(), RMAppAttemptState.LAUNCHED);
        am.registerAppAttempt(true);
        assertEquals(rest, at(am, any(20, GB, rest + 2)).size());
        assertEquals("grants without room", 0, next.scheduler.inspection().refusedGrants());
        next.assertBooksEqual();
      }
    }
  }

  @Test
  public void itCanBeOff() throws Exception {
    Configuration conf = offering();
    conf.setBoolean(Offers.PROPERTY, false);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockAM am = cluster.run("alice", cluster.node("a1", 8 * GB));
      assertEquals(0, ask(am, any(1, GB, 4)).getAllocatedContainers().size());
      cluster.heartbeat();
      assertEquals(4, fetch(am).size());
    }
  }

  @Test
  public void dataComesFirstAndIsWaitedFor() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM asked = cluster.node("b1", 2 * GB);
      cluster.node("b2", 8 * GB);
      MockAM am = run(cluster, first);
      List<Container> got = at(am, onHost(1, "b1", GB, 3, true));
      List<String> hosts = got.stream().map(one -> one.getNodeId().getHost())
          .collect(Collectors.toList());
      assertEquals("two fit, and the third waits: " + hosts, 2, hosts.size());
      assertTrue(hosts.toString(), hosts.stream().allMatch("b1"::equals));
      for (Container container : got) {
        cluster.running(asked, Collections.singletonList(container));
      }
      cluster.completed(asked, got.get(0));
      assertEquals("by the report of the end", 1, fetch(am).size());
    }
  }

  /** Fills a node of 4 GB beside the ApplicationMaster: a young job gets one container at once. */
  private static List<Container> fill(TestCluster cluster, MockAM am, int asked) throws Exception {
    List<Container> got = new ArrayList<>(at(am, any(1, GB, asked)));
    assertEquals("at once", 1, got.size());
    cluster.heartbeat();
    got.addAll(fetch(am));
    assertEquals("the node is full", 3, got.size());
    return got;
  }

  /** AMs repeat what they still want, and lower it with every container. */
  @Test
  public void onlyNewAsksAreTried() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 4 * GB);
      MockAM am = run(cluster, first);
      fill(cluster, am, 5);
      long frames = cluster.scheduler.engine.frames();
      assertEquals(0, at(am, any(1, GB, 2)).size());
      assertEquals(0, at(am, any(1, GB, 1)).size());
      assertEquals("without a step", frames, cluster.scheduler.engine.frames());
      at(am, any(1, GB, 2));
      assertEquals("one more", frames + 1, cluster.scheduler.engine.frames());
      at(am, any(1, 2 * GB, 2));
      assertEquals("as many, but larger", frames + 2, cluster.scheduler.engine.frames());
    }
  }

  /** Nothing told the engine of the room while no job waited. */
  @Test
  public void roomThatBecameFreeOnAnIdleClusterIsKnown() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 4 * GB);
      MockAM am = run(cluster, first);
      List<Container> got = fill(cluster, am, 3);
      cluster.running(first, got);
      for (Container container : got) {
        cluster.completed(first, container);
      }
      cluster.heartbeat();
      assertEquals(1, ask(am, any(1, GB, 1)).getAllocatedContainers().size());
      cluster.assertBooksEqual();
    }
  }

  /** A node that reported while no job waited, and left; another one may have its number. */
  @Test
  public void aNodeThatHasLeftIsNotTold() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 2 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = run(cluster, first);
      List<Container> got = new ArrayList<>(at(am, any(1, 2 * GB, 4)));
      cluster.heartbeat();
      got.addAll(fetch(am));
      assertEquals(4, got.size());
      cluster.running(second, got);
      cluster.completed(second, got.get(0));
      cluster.heartbeat();
      second.unRegisterNode();
      cluster.rm.drainEvents();
      cluster.forget(second);
      MockNM third = cluster.node("b2", 4 * GB);
      got = new ArrayList<>(at(am, any(1, 2 * GB, 4)));
      cluster.heartbeat();
      got.addAll(fetch(am));
      assertEquals("as many as fit on the new one", 2, got.size());
      assertEquals(third.getNodeId(), got.get(0).getNodeId());
      cluster.assertBooksEqual();
    }
  }

  /** RMAppAttemptImpl drops containers that come with the answer to the ask for its own. */
  @Test
  public void theContainerOfAnApplicationMasterIsNotLost() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = run(cluster, node);
      assertEquals(1, ask(am, any(1, GB, 1)).getAllocatedContainers().size());
      cluster.assertBooksEqual();
    }
  }

  /** An AM waits for a short time at most: a report serves it then. */
  @Test
  public void whileTheLockIsTakenTheAskWaitsForAReport() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockAM am = run(cluster, cluster.node("a1", 8 * GB));
      CountDownLatch asked = new CountDownLatch(1);
      Thread other = lockUntil(cluster, asked::await);
      int got = ask(am, any(1, GB, 2)).getAllocatedContainers().size();
      asked.countDown();
      other.join();
      assertEquals(0, got);
      cluster.heartbeat();
      assertEquals(2, fetch(am).size());
    }
  }

  /** The event that began an attempt may still have the lock when its AM's container is asked. */
  @Test
  public void anAskWaitsForTheEndOfTheEventBeforeIt() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockAM am = run(cluster, cluster.node("a1", 128 * GB));
      // The holder may be off the processor for longer than an ask waits: once is enough.
      for (int attempt = 1; attempt <= 100; attempt++) {
        Thread asking = Thread.currentThread();
        Thread other = lockUntil(cluster, () -> {
          while (asking.getState() != Thread.State.TIMED_WAITING && !Thread.interrupted()) {
            Thread.yield();
          }
        });
        int got = ask(am, any(1, GB, 1)).getAllocatedContainers().size();
        other.interrupt();
        other.join();
        if (got > 0) {
          return;
        }
        cluster.heartbeat();
        assertEquals("by the report", 1, fetch(am).size());
      }
      fail("no ask was served although the lock was let go while it waited");
    }
  }

  @Test
  public void aHundredAsksASecondAreTried() {
    Offers offers =
        new Offers(new Configuration(false), null, null, null, null, null, null, null, null);
    for (int ask = 0; ask < Offers.BURST; ask++) {
      assertTrue("ask " + ask, offers.admits(7_000));
      offers.tried(7_000);
    }
    assertFalse("a burst", offers.admits(7_000));
    int tried = 0;
    for (long now = 7_001; now <= 8_000; now++) {
      if (offers.admits(now)) {
        offers.tried(now);
        tried++;
      }
    }
    assertEquals(100, tried);
  }

  /** It stops what is granted to it, and reports that it is being taken out only later. */
  @Test
  public void aNodeThatIsBeingDecommissionedGetsNothing() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = run(cluster, first);
      cluster.rm.sendNodeGracefulDecommission(second, 3600);
      cluster.rm.waitForState(second.getNodeId(), NodeState.DECOMMISSIONING);
      assertAllOn(first, at(am, any(1, GB, 2)));
      cluster.assertBooksEqual();
    }
  }

  /** YARN waits for ten minutes before it takes a silent node for lost. */
  @Test
  public void aNodeThatFellSilentGetsNothingUntilItReports() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = run(cluster, first);
      HeddleNode silent = cluster.scheduler.inspection().books().node(second.getNodeId());
      long nowMs = Time.monotonicNow();
      cluster.scheduler.offers.reported(silent, nowMs - 7_000);
      cluster.scheduler.offers.reported(silent, nowMs - 6_000);
      assertAllOn(first, at(am, any(1, GB, 2)));
      second.nodeHeartbeat(true);
      cluster.rm.drainEvents();
      List<Container> got = at(am, any(2, GB, 1));
      assertEquals("it is the least used", second.getNodeId(), got.get(0).getNodeId());
      cluster.assertBooksEqual();
    }
  }

  /** Its AM would start tasks there, and YARN waits for ten minutes for each. */
  @Test
  public void whatNobodyHasFetchedOnANodeThatFellSilentIsTakenBack() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = run(cluster, first);
      Offers offers = cluster.scheduler.offers;
      // Five seconds' worth: the machine may be busy.
      for (int ask = 0; ask < 50 * Offers.BURST; ask++) {
        offers.tried(EngineClock.nowMs());
      }
      assertEquals("too many asks", 0, at(am, any(1, GB, 2)).size());
      cluster.heartbeat(second);
      assertEquals("granted, and not fetched", 6 * GB, cluster.freeMb(second));
      HeddleNode silent = cluster.scheduler.inspection().books().node(second.getNodeId());
      long nowMs = EngineClock.nowMs();
      offers.reported(silent, nowMs - 7_000);
      offers.reported(silent, nowMs - 6_000);
      while (!offers.admits(EngineClock.nowMs())) {
        Thread.sleep(10);
      }
      run(cluster, first);
      assertEquals(8 * GB, cluster.freeMb(second));
      cluster.assertBooksEqual();
      List<Container> got = new ArrayList<>(fetch(am));
      cluster.heartbeat(first);
      got.addAll(fetch(am));
      assertAllOn(first, got);
    }
  }

  /** Lets a container end on a node that could not start it. */
  private static void fails(TestCluster cluster, MockNM node, Container container, int exitStatus)
      throws Exception {
    ContainerStatus status = ContainerStatus.newInstance(
        container.getId(), ContainerState.COMPLETE, "no disk", exitStatus);
    node.nodeHeartbeat(Collections.singletonMap(
        container.getId().getApplicationAttemptId().getApplicationId(),
        Collections.singletonList(status)), true);
    cluster.rm.drainEvents();
  }

  /** Runs a container on a node, which fails there. */
  private static void runAndFail(TestCluster cluster, MockAM am, MockNM node, int exitStatus)
      throws Exception {
    List<Container> got = at(am, any(1, GB, 1));
    assertEquals("it is the least used", node.getNodeId(), got.get(0).getNodeId());
    cluster.running(node, got);
    fails(cluster, node, got.get(0), exitStatus);
  }

  /** An empty node is the least used one, and each container that fails there makes it so again. */
  @Test
  public void aNodeOnWhichLaunchesFailIsNotOfferedForAWhile() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM alice = run(cluster, first);
      runAndFail(cluster, alice, second, ContainerExitStatus.INVALID);
      runAndFail(cluster, alice, second, ContainerExitStatus.INVALID);
      runAndFail(cluster, alice, second, ContainerExitStatus.DISKS_FAILED);
      assertAllOn(first, at(alice, any(2, GB, 2)));
      second.nodeHeartbeat(true);
      cluster.rm.drainEvents();
      assertEquals("its reports do not change that", first.getNodeId(),
          at(alice, any(3, GB, 1)).get(0).getNodeId());
      assertEquals(0, at(alice, any(4, 5 * GB, 1)).size());
      cluster.heartbeat(second);
      assertEquals("but they serve", 3 * GB, cluster.freeMb(second));
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void launchesOfTwoApplicationsThatFailAreTheNodesFault() throws Exception {
    try (TestCluster cluster = new TestCluster(offering())) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM alice = run(cluster, first);
      HeddleNode node = cluster.scheduler.inspection().books().node(second.getNodeId());
      Offers offers = cluster.scheduler.offers;
      long longAgoMs = EngineClock.nowMs() - Offers.FAILING_MS;
      offers.launchFailed(node, ContainerExitStatus.DISKS_FAILED, 1, longAgoMs);
      offers.launchFailed(node, ContainerExitStatus.INVALID, 2, longAgoMs);
      runAndFail(cluster, alice, second, ContainerExitStatus.INVALID);
      offers.launchFailed(node, ContainerExitStatus.INVALID, 2, EngineClock.nowMs());
      assertAllOn(first, at(alice, any(2, GB, 2)));
    }
  }

  private static void assertAllOn(MockNM node, List<Container> got) {
    assertEquals(2, got.size());
    assertTrue(got.toString(),
        got.stream().allMatch(one -> one.getNodeId().equals(node.getNodeId())));
  }

  private interface Waiting {
    void await() throws InterruptedException;
  }

  /** Takes the scheduler's lock in another thread, which lets it go after this. */
  private static Thread lockUntil(TestCluster cluster, Waiting until) throws Exception {
    CountDownLatch taken = new CountDownLatch(1);
    Lock lock = cluster.scheduler.inspection().lock();
    Thread holder = new Thread(() -> {
      lock.lock();
      taken.countDown();
      try {
        until.await();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      } finally {
        lock.unlock();
      }
    });
    holder.start();
    taken.await();
    return holder;
  }
}
