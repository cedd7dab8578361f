package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.engine.Engine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.junit.Test;

/**
 * Tests concurrent threads: which calls may wait for the scheduler, and changes between a decision
 * and its commit.
 */
public class ConcurrencyTest {
  private static final long PATIENCE_S = 60;

  /** Passes decisions on, the first grant only after the test's {@link #meanwhile}. */
  private abstract static class Interrupted implements Engine.Decisions {
    private final Engine.Decisions rest;
    private boolean done;

    Interrupted(TestCluster cluster) {
      rest = cluster.scheduler.applier;
      cluster.scheduler.engine.setDecisions(this);
    }

    /** Runs between a decision and its commit, with the scheduler's lock held. */
    abstract void meanwhile() throws Exception;

    @Override
    public void grant(int job, int ask, int node, int locality, long seq) {
      if (!done) {
        done = true;
        try {
          meanwhile();
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      }
      rest.grant(job, ask, node, locality, seq);
    }

    @Override
    public void evict(int job, long key, int reason, int graceMs) {
      rest.evict(job, key, reason, graceMs);
    }

    @Override
    public void headroom(int job, Resource amount) {
      rest.headroom(job, amount);
    }

    @Override
    public void replay() {
      rest.replay();
    }
  }

  /** Runs a call in its own thread; a call that waits for the scheduler fails the test. */
  private static <T> T soon(String what, Callable<T> call) throws Exception {
    FutureTask<T> task = new FutureTask<>(call);
    Thread thread = new Thread(task, what);
    thread.setDaemon(true);
    thread.start();
    try {
      return task.get(PATIENCE_S, TimeUnit.SECONDS);
    } catch (java.util.concurrent.TimeoutException e) {
      throw new AssertionError(what + " waits: " + Arrays.toString(thread.getStackTrace()), e);
    }
  }

  @Test
  public void readersAndApplicationMastersNeverWaitForTheScheduler() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      HeddleScheduler scheduler = cluster.scheduler;
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      MockAM bob = cluster.run("bob", node);
      CountDownLatch held = new CountDownLatch(1);
      CountDownLatch done = new CountDownLatch(1);
      new Interrupted(cluster) {
        @Override
        void meanwhile() throws InterruptedException {
          held.countDown();
          done.await();
        }
      };
      ask(bob, any(1, GB, 1));
      Thread dispatcher = new Thread(
          () -> scheduler.handle(new NodeUpdateSchedulerEvent(cluster.rmNode(node))));
      dispatcher.start();
      assertTrue(held.await(PATIENCE_S, TimeUnit.SECONDS));
      try {
        soon("allocate", () -> scheduler.allocate(am.getApplicationAttemptId(),
            new ArrayList<>(Collections.singletonList(any(1, GB, 2))), null,
            new ArrayList<ContainerId>(), null, null, null));
        assertNotNull(soon("getQueueInfo", () -> scheduler.getQueueInfo("root", true, true)));
        assertNotNull(soon("getQueueUserAclInfo", () -> scheduler.getQueueUserAclInfo()));
        assertTrue(soon("checkAccess", () -> scheduler.checkAccess(
            UserGroupInformation.createRemoteUser("eve"), QueueACL.SUBMIT_APPLICATIONS, "root")));
        assertEquals(1, soon("getAppsInQueue",
            () -> scheduler.getAppsInQueue("root.alice")).size());
        assertNotNull(soon("getAppResourceUsageReport",
            () -> scheduler.getAppResourceUsageReport(am.getApplicationAttemptId())));
        assertNotNull(soon("getNodeReport", () -> scheduler.getNodeReport(node.getNodeId())));
        assertNotNull(soon("getRootQueueMetrics", () -> scheduler.getRootQueueMetrics()));
        // A submission to a queue that exists.
        assertEquals("root.alice",
            soon("place", () -> scheduler.place("alice", null, null, false)));
        assertEquals("root.bob", soon("place", () -> scheduler.place("alice", "bob", null, false)));
      } finally {
        done.countDown();
        dispatcher.join();
      }
      cluster.heartbeat();
      assertEquals("what was asked meanwhile", 2, fetch(am).size());
      assertEquals(1, fetch(bob).size());
    }
  }

  @Test
  public void callsAfterTheEngineWasClosedFindTheLastState() throws Exception {
    TestCluster cluster = new TestCluster();
    MockNM node = cluster.node("a1", 8 * GB);
    MockAM am = cluster.run("alice", node);
    cluster.rm.stop();
    HeddleScheduler scheduler = cluster.scheduler;
    assertEquals("root.alice",
        scheduler.getQueueInfo("root.alice", false, false).getQueueName());
    assertEquals("root.alice", scheduler.place("alice", null, null, false));
    for (int i = 0; i < 3; i++) {
      scheduler.allocate(am.getApplicationAttemptId(),
          new ArrayList<>(Collections.singletonList(any(1, GB, 2))), null,
          new ArrayList<ContainerId>(), null, null, null);
      scheduler.handle(new NodeUpdateSchedulerEvent(cluster.rmNode(node)));
      scheduler.update();
    }
    assertEquals("nothing is granted", 1, cluster.attempt(am).getLiveContainers().size());
    assertNull(scheduler.inspection().differences());
    assertEquals(0, scheduler.inspection().failures());
    assertEquals("nothing piles up", 0, scheduler.engine.out().records());
  }

  @Test
  public void aContainerHasTheSizeThatTheEngineChargedOrThereIsNone() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      new Interrupted(cluster) {
        @Override
        void meanwhile() throws Exception {
          ask(am, any(1, 4 * GB, 1));
        }
      };
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals("the AM no longer wants that size", 1,
          cluster.scheduler.inspection().refusedGrants());
      assertEquals(0, fetch(am).size());
      cluster.assertBooksEqual();
      // The job skips the node for a second.
      Thread.sleep(1_100);
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(1, containers.size());
      assertEquals(4 * GB, containers.get(0).getResource().getMemorySize());
    }
  }

  @Test
  public void anAskThatIsWithdrawnBeforeTheCommitIsNotServed() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      new Interrupted(cluster) {
        @Override
        void meanwhile() throws Exception {
          ask(am, any(1, GB, 0));
        }
      };
      ask(am, any(1, GB, 3));
      cluster.heartbeat();
      cluster.heartbeat();
      assertEquals(3, cluster.scheduler.inspection().refusedGrants());
      assertEquals(0, fetch(am).size());
    }
  }

  @Test
  public void anAttemptThatCannotBeWrittenKeepsNoOtherFromBeingHeard() throws Exception {
    try (TestCluster cluster = new TestCluster().expectFailures(1)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM alice = cluster.run("alice", node);
      MockAM bob = cluster.run("bob", node);
      // A name that is none. No AM can send it; it stands for any error.
      List<String> broken = Arrays.asList("x", null);
      cluster.attempt(alice).updateBlacklist(broken, null);
      ask(bob, any(1, GB, 2));
      cluster.heartbeat();
      assertEquals(1, cluster.scheduler.inspection().failures());
      cluster.heartbeat();
      assertEquals(2, fetch(bob).size());
      cluster.attempt(alice).updateBlacklist(null, broken);
      ask(alice, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(alice).size());
    }
  }

  @Test
  public void aStoreThatNeverAnswersKeepsNobodyWaiting() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", null);
      RMContextImpl context = (RMContextImpl) cluster.rm.getRMContext();
      RMStateStore store = context.getStateStore();
      // The store of a ResourceManager that is no longer active does nothing.
      context.setStateStore(new MemoryRMStateStore() {
        @Override
        public void updateApplicationStateSynchronously(
            ApplicationStateData state, boolean notify, SettableFuture<Object> result) {}
      });
      Priority before = app.getApplicationSubmissionContext().getPriority();
      try {
        soon("updateApplicationPriority", () -> cluster.scheduler.updateApplicationPriority(
            Priority.newInstance(7), app.getApplicationId(), SettableFuture.create(),
            UserGroupInformation.createRemoteUser("alice")));
        fail("it is not stored");
      } catch (java.util.concurrent.ExecutionException e) {
        assertTrue(String.valueOf(e.getCause()), e.getCause() instanceof YarnException);
      } finally {
        context.setStateStore(store);
      }
      assertEquals(before, app.getApplicationSubmissionContext().getPriority());
      cluster.heartbeat();
      assertEquals("the scheduler goes on", 7 * GB,
          cluster.scheduler.getRootQueueMetrics().getAvailableMB());
    }
  }
}
