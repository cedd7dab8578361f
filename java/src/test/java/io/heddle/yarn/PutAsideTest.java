package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.RebuildLimiter;
import io.heddle.yarn.engine.SetupJson;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.junit.Test;

/**
 * Tests faults that come back after a rebuild of the engine: the job or node at fault is put aside
 * and the others are scheduled. Each test plants a fault that no rebuild repairs.
 */
public class PutAsideTest {
  private static final String FAULTS =
      "{\"heartbeat_fill\": 1.0, \"testing\": {\"faults\": true}}";

  /** Alice's job is at fault, Bob's is not; there is room for one more container of each. */
  private static final class Two {
    final Configuration conf;
    final TestCluster cluster;
    final MockNM first;
    final MockNM second;
    final MockAM alice;
    final MockAM bob;

    Two() throws Exception {
      conf = TestCluster.conf(FAULTS);
      cluster = new TestCluster(conf).expectFaults();
      first = cluster.node("a1", 4 * GB);
      second = cluster.node("b1", 4 * GB);
      alice = cluster.run("alice", first);
      bob = cluster.run("bob", second);
      cluster.tick();
    }

    HeddleJob job(MockAM am) {
      return cluster.attempt(am).job();
    }

    /** Lets nodes report and the engine tick until it works again. */
    void pass() throws Exception {
      for (int i = 0; i < 6; i++) {
        cluster.heartbeat();
        cluster.tick();
      }
    }

    void assertOnlyAliceIsAside() throws Exception {
      assertNotNull("the job at fault", job(alice).faults().aside());
      assertNull("the other job", job(bob).faults().aside());
      assertNull(cluster.scheduler.inspection().books().node(first.getNodeId()).faults().aside());
      assertNull(cluster.scheduler.inspection().books().node(second.getNodeId()).faults().aside());
      long rebuilds = cluster.scheduler.inspection().engineRebuilds();
      ask(bob, any(1, GB, 1));
      ask(alice, any(1, GB, 1));
      pass();
      assertEquals("the other job is served", 1, fetch(bob).size());
      assertEquals("the job at fault is not", 0, fetch(alice).size());
      assertEquals(rebuilds, cluster.scheduler.inspection().engineRebuilds());
      String told = told();
      for (int i = 0; i < 1_000 && !told.contains("put aside"); i++) {
        Thread.sleep(10);
        cluster.tick();
        told = told();
      }
      assertTrue(told, told.contains("put aside") && told.contains("-refreshQueues"));
      assertEquals(1, count(Failures.Kind.JOB_PUT_ASIDE));
      JobNames names = new JobNames(cluster.rm.getRMContext());
      names.added(job(alice));
      names.added(job(bob));
      for (JsonNode row : names.of("/heddle/v1/jobs")) {
        boolean aside = row.path(1).asText().equals(job(alice).applicationId().toString());
        assertEquals(aside ? job(alice).queue().getQueueName() : "",
            row.path(4).path(0).asText());
        assertEquals(aside ? job(alice).faults().aside() : "", row.path(4).path(1).asText());
      }
      assertEquals(rebuilds, count(Failures.Kind.REBUILD));
    }

    String told() {
      return cluster.rm.getRMContext().getRMApps()
          .get(job(alice).applicationId()).getCurrentAppAttempt().getDiagnostics();
    }

    long count(Failures.Kind kind) {
      return cluster.scheduler.inspection().failures(kind);
    }
  }

  @Test
  public void anAskForMillionsNeverCostsTheEngine() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      for (int count : new int[] {
          2_000_000, FrameLayout.COUNT_MAX + 2, FrameLayout.COUNT_MAX, Integer.MAX_VALUE}) {
        // The answer has the containers that took the room of the earlier ones.
        List<Container> containers = ask(am, any(1, GB, count)).getAllocatedContainers();
        cluster.heartbeat();
        containers.addAll(fetch(am));
        for (int i = 0; i < 4; i++) {
          cluster.scheduler.inspection().auditSoon();
          cluster.tick();
        }
        assertEquals(0, cluster.scheduler.inspection().engineRebuilds());
        assertNull(cluster.scheduler.inspection().differences());
        for (Container container : containers) {
          cluster.completed(node, container);
        }
        assertEquals("ask for " + count, 7, containers.size());
      }
    }
  }

  @Test
  public void aDifferenceThatComesBackPutsItsJobAside() throws Exception {
    Two two = new Two();
    try (TestCluster cluster = two.cluster) {
      // It fits no node now, so it stays pending.
      ask(two.alice, any(FrameLayout.PLANTED_COUNT, 4 * GB, 1));
      cluster.scheduler.inspection().auditSoon();
      two.pass();
      assertEquals("one rebuild is tried", 1, cluster.scheduler.inspection().engineRebuilds());
      two.assertOnlyAliceIsAside();
      assertTrue(two.count(Failures.Kind.DIFFERENCE) >= 2);

      // Without the fault and after an administrator's refresh, the job is scheduled again.
      ask(two.alice, any(FrameLayout.PLANTED_COUNT, 4 * GB, 0));
      cluster.scheduler.reinitialize(two.conf, cluster.rm.getRMContext());
      two.pass();
      assertEquals(1, fetch(two.alice).size());
      assertNull(two.job(two.alice).faults().aside());
    }
  }

  @Test
  public void whatAJobThatIsPutAsideHoldsCanBeReleasedAndIsFreeForOthers() throws Exception {
    Two two = new Two();
    try (TestCluster cluster = two.cluster) {
      ask(two.alice, any(1, 3 * GB, 2));
      cluster.heartbeat();
      List<Container> held = fetch(two.alice);
      assertEquals(2, held.size());
      ask(two.alice, any(FrameLayout.PLANTED_COUNT, 4 * GB, 1));
      cluster.scheduler.inspection().auditSoon();
      two.pass();
      assertNotNull(two.job(two.alice).faults().aside());
      assertEquals(3, cluster.attempt(two.alice).getLiveContainers().size());
      TestCluster.release(two.alice, held.get(0).getId());
      assertEquals(2, cluster.attempt(two.alice).getLiveContainers().size());
      for (Container container : held) {
        boolean onFirst = container.getNodeId().equals(two.first.getNodeId());
        cluster.completed(onFirst ? two.first : two.second, container);
      }
      ask(two.bob, any(1, 3 * GB, 2));
      two.pass();
      assertEquals(2, fetch(two.bob).size());
      assertEquals(1, cluster.attempt(two.alice).getLiveContainers().size());
    }
  }

  @Test
  public void aPanicThatComesBackPutsItsJobAside() throws Exception {
    for (int planted : new int[] {
        FrameLayout.PLANTED_ASK, FrameLayout.PLANTED_GRANT, FrameLayout.PLANTED_TICK}) {
      Two two = new Two();
      try (TestCluster cluster = two.cluster) {
        // A fault at the tick needs an ask that finds no room before.
        int size = planted == FrameLayout.PLANTED_TICK ? 4 * GB : GB;
        ask(two.alice, any(planted, size, 1));
        two.pass();
        two.assertOnlyAliceIsAside();
        assertTrue("rebuilds: " + cluster.scheduler.inspection().engineRebuilds(),
            cluster.scheduler.inspection().engineRebuilds() <= RebuildLimiter.FREE_REBUILDS);
      }
    }
  }

  @Test
  public void aContainerThatNoFrameCanCarryPutsItsJobAside() throws Exception {
    Two two = new Two();
    try (TestCluster cluster = two.cluster) {
      RMContainer master = cluster.attempt(two.alice).getLiveContainers().iterator().next();
      Resource right = master.getContainer().getResource();
      master.getContainer().setResource(Resource.newInstance(-1, 1));
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      two.pass();
      two.assertOnlyAliceIsAside();
      master.getContainer().setResource(right);
    }
  }

  @Test
  public void aJobWhoseBoundsTheEngineRefusesIsPutAside() throws Exception {
    Two two = new Two();
    try (TestCluster cluster = two.cluster) {
      two.job(two.alice).setBounds(SetupJson.read(
          "{\"credits_micro\": -1, \"rate_micro\": 1, \"until_ms\": 1}"));
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      two.pass();
      two.assertOnlyAliceIsAside();
    }
  }

  @Test
  public void aNodeThatNoFrameCanCarryIsPutAside() throws Exception {
    Two two = new Two();
    try (TestCluster cluster = two.cluster) {
      HeddleNode node = cluster.scheduler.inspection().books().node(two.first.getNodeId());
      Resource right = node.getTotalResource();
      node.updateTotalResource(Resource.newInstance(-1, 1));
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      ask(two.bob, any(1, GB, 4));
      two.pass();
      assertEquals("the other node serves", 3, fetch(two.bob).size());
      assertNotNull(node.faults().aside());
      assertNull(two.job(two.alice).faults().aside());
      JobNames names = new JobNames(cluster.rm.getRMContext());
      names.added(node);
      assertEquals(node.getRackName(), names.nodes().path(0).path(3).asText());
      assertEquals(node.faults().aside(), names.nodes().path(0).path(5).asText());
      assertEquals(1, two.count(Failures.Kind.NODE_PUT_ASIDE));

      node.updateTotalResource(right);
      cluster.scheduler.reinitialize(two.conf, cluster.rm.getRMContext());
      two.pass();
      assertEquals("and this one again", 1, fetch(two.bob).size());
    }
  }
}
