package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;

/** An engine that is lost in the middle of everything is made anew, and no job notices. */
public class RebuildTest {
  private static final String FAULTS =
      "{\"heartbeat_fill\": 1.0, \"testing\": {\"faults\": true},"
      + " \"delay\": {\"node_wait_ms\": 3600000, \"rack_wait_ms\": 3600000},"
      + " \"queues\": [{\"path\": \"root.ads\", \"weight\": 2.0}]}";

  @Test
  public void aPanicLosesNoContainerAndNoAsk() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM ads = cluster.launch(cluster.submit("alice", "root.ads"), first);
      MockAM bob = cluster.run("bob", first);
      ask(ads, any(1, GB, 2));
      cluster.heartbeat(second);
      List<Container> running = fetch(ads);
      assertEquals(2, running.size());
      cluster.running(second, running);
      // An ask that nobody serves now, a blacklist, and one more to come after the panic.
      ask(bob, onHost(1, "b1", 7 * GB, 1, false));
      bob.allocate(AllocateRequest.newInstance(0, 0f, new ArrayList<ResourceRequest>(),
          new ArrayList<ContainerId>(), ResourceBlacklistRequest.newInstance(
              Collections.singletonList("a1"), new ArrayList<String>())));
      cluster.heartbeat(second);
      assertEquals(0, fetch(bob).size());

      cluster.scheduler.injectFault(FrameLayout.FAULT_PANIC);
      assertEquals(1, cluster.scheduler.getEngineRebuilds());
      assertNull("the new engine knows everything", cluster.scheduler.auditEngine());
      assertNotNull(cluster.scheduler.getQueueInfo("root.bob", false, false));

      // The old ask is served as soon as there is room, on the only host that it names.
      cluster.completed(second, running.get(0));
      cluster.completed(second, running.get(1));
      cluster.heartbeat(first);
      cluster.heartbeat(second);
      List<Container> late = fetch(bob);
      assertEquals(1, late.size());
      assertEquals(second.getNodeId(), late.get(0).getNodeId());
      ask(bob, any(2, GB, 1));
      cluster.heartbeat(first);
      assertEquals("the blacklist was told again", 0, fetch(bob).size());
    }
  }

  @Test
  public void panicsBetweenHeartbeatsAreSurvivedAgainAndAgain() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 64 * GB, 64);
      MockAM am = cluster.run("alice", node);
      int got = 0;
      for (int i = 0; i < RebuildLimiter.FREE_REBUILDS; i++) {
        ask(am, any(1, GB, 2));
        cluster.scheduler.injectFault(FrameLayout.FAULT_PANIC);
        cluster.heartbeat();
        got += fetch(am).size();
        cluster.assertBooksEqual();
      }
      assertEquals(RebuildLimiter.FREE_REBUILDS, cluster.scheduler.getEngineRebuilds());
      assertEquals(2 * RebuildLimiter.FREE_REBUILDS, got);
    }
  }

  @Test
  public void anEngineThatIsLostTooOftenIsLeftAloneForAWhile() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 64 * GB, 64);
      MockAM am = cluster.run("alice", node);
      for (int i = 0; i <= RebuildLimiter.FREE_REBUILDS; i++) {
        cluster.scheduler.injectFault(FrameLayout.FAULT_PANIC);
      }
      long rebuilds = cluster.scheduler.getEngineRebuilds();
      assertEquals(RebuildLimiter.FREE_REBUILDS, rebuilds);
      // No engine: nothing is granted, and nothing breaks.
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      assertEquals("root.alice", cluster.submit("alice", null).getQueue());
      Thread.sleep(RebuildLimiter.PAUSE_MIN_MS + 100);
      cluster.heartbeat();
      assertEquals(rebuilds + 1, cluster.scheduler.getEngineRebuilds());
      // The second job's AM and the waiting container.
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void booksThatDifferTwiceInARowMakeANewEngine() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 2));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(2, containers.size());
      cluster.tick();
      assertEquals(0, cluster.scheduler.getEngineRebuilds());
      // Behind Java's back the engine hears that one ended.
      HeddleAppAttempt attempt = cluster.attempt(am);
      cluster.scheduler.books.containerCompleted(attempt, containers.get(0).getId(), 0);
      assertNotNull(cluster.scheduler.auditEngine());
      cluster.scheduler.auditSoon();
      cluster.tick();
      assertEquals("once may be a coincidence", 0, cluster.scheduler.getEngineRebuilds());
      cluster.tick();
      assertEquals(1, cluster.scheduler.getEngineRebuilds());
      assertNull(cluster.scheduler.auditEngine());
    }
  }
}
