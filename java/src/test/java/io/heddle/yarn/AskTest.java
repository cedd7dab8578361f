package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.junit.Test;

/** Tests that AMs get exactly the containers that they ask for. */
public class AskTest {
  private static final String WAITING =
      "{\"heartbeat_fill\": 1.0,"
      + " \"delay\": {\"node_wait_ms\": 3600000, \"rack_wait_ms\": 3600000}}";
  private static final String HASTY =
      "{\"heartbeat_fill\": 1.0, \"delay\": {\"node_wait_ms\": 0, \"rack_wait_ms\": 0}}";

  @Test
  public void containersGoToTheHostThatIsAskedFor() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(WAITING))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockNM sameRack = cluster.node("b2", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, onHost(1, "b1", GB, 2, true));
      cluster.heartbeat(first);
      cluster.heartbeat(sameRack);
      assertEquals("the job can wait for its data", 0, fetch(am).size());
      cluster.heartbeat(second);
      List<Container> containers = fetch(am);
      assertEquals(2, containers.size());
      assertEquals(second.getNodeId(), containers.get(0).getNodeId());
      // YARN's own rows are used up too.
      assertEquals(0, cluster.attempt(am).getOutstandingAsksCount(
          cluster.scheduler.getRMContainer(containers.get(0).getId())
              .getAllocatedSchedulerKey(), "b1"));
    }
  }

  @Test
  public void aRelaxedAskRunsElsewhereInTheEnd() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(HASTY))) {
      MockNM first = cluster.node("a1", 8 * GB);
      cluster.node("b1", GB);
      MockAM am = cluster.run("alice", first);
      ask(am, onHost(1, "b1", GB, 2, true));
      cluster.heartbeat(first);
      cluster.tick();
      cluster.heartbeat(first);
      assertEquals(2, fetch(am).size());
    }
  }

  @Test
  public void aStrictAskNeverRunsElsewhere() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(HASTY))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM asked = cluster.node("b1", 2 * GB);
      MockNM sameRack = cluster.node("b2", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, onHost(1, "b1", GB, 4, false));
      for (int i = 0; i < 5; i++) {
        cluster.heartbeat(first);
        cluster.heartbeat(sameRack);
        cluster.tick();
      }
      assertEquals(0, fetch(am).size());
      cluster.heartbeat(asked);
      List<Container> containers = fetch(am);
      assertEquals("as many as fit there", 2, containers.size());
      for (Container container : containers) {
        assertEquals(asked.getNodeId(), container.getNodeId());
      }
    }
  }

  @Test
  public void aStrictRackAskStaysInItsRack() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(HASTY))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM inRack = cluster.node("b2", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, TestCluster.row(1, "/b", GB, 3, true),
          TestCluster.row(1, ResourceRequest.ANY, GB, 3, false));
      cluster.heartbeat(first);
      assertEquals(0, fetch(am).size());
      cluster.heartbeat(inRack);
      assertEquals(3, fetch(am).size());
    }
  }

  @Test
  public void aHostRowWithoutItsRackRowIsServed() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(WAITING))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM asked = cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, TestCluster.row(1, "b1", GB, 1, true), any(1, GB, 1));
      cluster.heartbeat(asked);
      assertEquals(1, fetch(am).size());
      cluster.heartbeat(asked);
      assertEquals(0, fetch(am).size());
    }
  }

  @Test
  public void hostsThatJoinLaterAreUsed() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(WAITING))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      ask(am, onHost(1, "c7", GB, 1, false));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      MockNM late = cluster.node("c7", 8 * GB);
      cluster.heartbeat(late);
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void aWithdrawnAskIsNotServed() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, onHost(1, "a1", GB, 5, true));
      ask(am, onHost(1, "a1", GB, 0, true));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      // Rows that YARN dropped with the ask must not come back with another one.
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void prioritiesAreServedInOrder() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(20, GB, 5), any(5, GB, 2));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(3, containers.size());
      int urgent = 0;
      for (Container container : containers) {
        urgent += container.getPriority().getPriority() == 5 ? 1 : 0;
      }
      assertEquals(2, urgent);
    }
  }

  @Test
  public void allocationRequestIdsComeBackWithTheirContainers() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 100 * GB, 100);
      MockAM am = cluster.run("alice", node);
      // More asks than an attempt keeps numbers for, so that numbers are reused.
      Set<Long> expected = new HashSet<>();
      Set<Long> got = new HashSet<>();
      for (long wave = 0; wave < 4; wave++) {
        List<ResourceRequest> rows = new ArrayList<>();
        for (long id = wave * 20 + 1; id <= wave * 20 + 20; id++) {
          ResourceRequest row = any(1, GB, 1);
          row.setAllocationRequestId(id);
          rows.add(row);
          expected.add(id);
        }
        ask(am, rows);
        cluster.heartbeat();
        for (Container container : fetch(am)) {
          assertTrue("twice", got.add(container.getAllocationRequestId()));
        }
        cluster.assertBooksEqual();
      }
      assertEquals(expected, got);
      assertTrue("numbers are given again: " + cluster.attempt(am).asks().end(),
          cluster.attempt(am).asks().end() < 80);
    }
  }

  @Test
  public void blacklistedHostsAreLeftOut() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", first);
      blacklist(am, Collections.singletonList("b1"), Collections.<String>emptyList());
      ask(am, any(1, GB, 2));
      cluster.heartbeat(second);
      assertEquals(0, fetch(am).size());
      blacklist(am, Collections.<String>emptyList(), Collections.singletonList("b1"));
      cluster.heartbeat(second);
      assertEquals(2, fetch(am).size());
      blacklist(am, Arrays.asList("/b", "nowhere"), Collections.<String>emptyList());
      ask(am, any(1, GB, 1));
      cluster.heartbeat(second);
      assertEquals("the rack", 0, fetch(am).size());
      cluster.heartbeat(first);
      assertEquals(1, fetch(am).size());
    }
  }

  private static void blacklist(MockAM am, List<String> add, List<String> remove)
      throws Exception {
    am.allocate(AllocateRequest.newInstance(0, 0f, new ArrayList<ResourceRequest>(),
        new ArrayList<ContainerId>(), ResourceBlacklistRequest.newInstance(add, remove)));
  }

  @Test
  public void countsThatAnAmComputedBeforeItSawItsContainersAreCorrected() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 32 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, onHost(1, "a1", GB, 3, true));
      cluster.heartbeat();
      // Three wait to be fetched. The AM does not know them yet, so it still asks for three, and
      // for one of another kind.
      List<ResourceRequest> stale = onHost(1, "a1", GB, 3, true);
      stale.add(any(2, GB, 1));
      assertEquals(3, ask(am, stale).getAllocatedContainers().size());
      cluster.heartbeat();
      List<Container> more = fetch(am);
      assertEquals("three were granted before", 1, more.size());
      assertEquals(2, more.get(0).getPriority().getPriority());
      // Now it knows them, so its ask is new.
      ask(am, onHost(1, "a1", GB, 2, true));
      cluster.heartbeat();
      assertEquals(2, fetch(am).size());
    }
  }

  /**
   * Asks like MapReduce ({@code RMContainerRequestor}): each heartbeat sends absolute counts as of
   * the AM's last answer, and subtracts new containers only with the next heartbeat. Nodes report
   * between any two heartbeats, so there are always containers that the AM does not know.
   */
  @Test
  public void anAmThatSendsAbsoluteCountsIsNeverGivenTooMuch() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM here = cluster.node("a1", 5 * GB);
      MockNM there = cluster.node("b1", 4 * GB);
      MockAM am = cluster.run("alice", here);
      int left = 23;
      List<Container> running = new ArrayList<>();
      List<ContainerId> surplus = new ArrayList<>();
      int released = 0;
      for (int beat = 0; beat < 60 && (left > 0 || !running.isEmpty()); beat++) {
        // Half of the wave ends, and nodes report before the AM asks again.
        for (Container done : new ArrayList<>(running.subList(0, (running.size() + 1) / 2))) {
          cluster.completed(done.getNodeId().getHost().equals("a1") ? here : there, done);
          running.remove(done);
        }
        cluster.heartbeat();
        List<Container> given =
            am.allocate(onHost(20, "a1", GB, left, true), surplus).getAllocatedContainers();
        released += surplus.size();
        surplus.clear();
        for (Container container : given) {
          if (left > 0) {
            left--;
            running.add(container);
          } else {
            surplus.add(container.getId());
          }
        }
        cluster.running(here, on("a1", given));
        cluster.running(there, on("b1", given));
      }
      assertEquals("tasks that got no container", 0, left);
      assertEquals("containers that it had no task for", 0, released + surplus.size());
    }
  }

  private static List<Container> on(String host, List<Container> containers) {
    List<Container> found = new ArrayList<>();
    for (Container container : containers) {
      if (container.getNodeId().getHost().equals(host)) {
        found.add(container);
      }
    }
    return found;
  }

  @Test
  public void manyApplicationsShareTheNodes() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM first = cluster.node("a1", 40 * GB, 64);
      MockNM second = cluster.node("b1", 40 * GB, 64);
      List<MockAM> ams = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        ams.add(cluster.run("user" + i, first));
      }
      for (MockAM am : ams) {
        ask(am, any(1, GB, 9));
      }
      cluster.tick();
      for (int i = 0; i < 3; i++) {
        cluster.heartbeat(first);
        cluster.heartbeat(second);
      }
      int total = 0;
      for (MockAM am : ams) {
        int count = fetch(am).size();
        assertTrue("an application got " + count, count >= 8);
        total += count;
      }
      assertEquals("as many as were asked for", 72, total);
    }
  }

  @Test
  public void onlyThoseWhoNamedANewHostSendTheirRowsAgain() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(WAITING))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockAM alice = cluster.run("alice", first);
      MockAM bob = cluster.run("bob", first);
      ask(alice, onHost(1, "c7", GB, 1, false));
      ask(bob, onHost(1, "a1", 8 * GB, 1, false));
      cluster.heartbeat();
      assertTrue(cluster.attempt(bob).asks().clean());
      MockNM late = cluster.node("c7", 8 * GB);
      assertTrue("bob named hosts that were there", cluster.attempt(bob).asks().clean());
      cluster.heartbeat(late);
      assertEquals(1, fetch(alice).size());
    }
  }

  @Test
  public void sizesAndCountsBeyondReasonLoseNoEngine() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ResourceRequest largest = any(1, GB, 1);
      largest.setCapability(Resource.newInstance(Long.MAX_VALUE, Integer.MAX_VALUE));
      // Bypasses the ResourceManager's checks, as its own parts may.
      cluster.scheduler.allocate(am.getApplicationAttemptId(),
          new ArrayList<>(Arrays.asList(largest, any(2, GB, -5))), null,
          new ArrayList<>(), null, null, new ContainerUpdates());
      cluster.heartbeat();
      QueueMetrics root = cluster.scheduler.getRootQueueMetrics();
      assertEquals("only the first waits", 1, root.getPendingContainers());
      assertTrue(String.valueOf(root.getPendingMB()), root.getPendingMB() > 0);
    }
  }

  @Test
  public void containersLostBeforeTheirAmHasThemAreAskedForAgainInAllRows() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, onHost(1, "a1", GB, 2, true));
      cluster.heartbeat();
      HeddleAppAttempt attempt = cluster.attempt(am);
      QueueMetrics root = cluster.scheduler.getRootQueueMetrics();
      assertEquals(0, root.getPendingContainers());
      assertEquals(3, root.getAllocatedContainers());
      assertEquals(0, attempt.getAppSchedulingInfo().getAllResourceRequests().size());
      int lost = 0;
      for (RMContainer container : attempt.getLiveContainers()) {
        if (container.getState() == RMContainerState.ALLOCATED) {
          lost++;
          cluster.scheduler.handle(
              new ContainerExpiredSchedulerEvent(container.getContainerId(), false));
          Map<String, Integer> counts = new TreeMap<>();
          for (ResourceRequest row : attempt.getAppSchedulingInfo().getAllResourceRequests()) {
            counts.put(row.getResourceName(), row.getNumContainers());
          }
          assertEquals("{*=" + lost + ", " + LetterRacks.rack("a1") + "=" + lost + ", a1=" + lost
              + "}", counts.toString());
          assertEquals(lost, root.getPendingContainers());
          assertEquals(3 - lost, root.getAllocatedContainers());
        }
      }
      assertEquals(2, lost);
      cluster.heartbeat();
      assertEquals(2, fetch(am).size());
    }
  }

  /** YARN adds the lost container to an int, which ends at 2^31 - 1. */
  @Test
  public void anEndlessAskStaysPendingWhenAContainerIsLost() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      // Granted and not fetched; the scheduler learns of the loss before the AM.
      HeddleAppAttempt attempt = cluster.attempt(am);
      RMContainer unseen = attempt.getLiveContainers().stream()
          .filter(container -> container.getState() == RMContainerState.ALLOCATED)
          .findFirst().get();
      ResourceRequest endless = any(1, GB, Integer.MAX_VALUE);
      AskTable.normalize(Arrays.asList(endless), size -> size);
      attempt.updateResourceRequests(Arrays.asList(endless));
      QueueMetrics root = cluster.scheduler.getRootQueueMetrics();
      final long before = root.getPendingMB();
      cluster.scheduler.handle(
          new ContainerExpiredSchedulerEvent(unseen.getContainerId(), false));
      assertEquals(before + GB, root.getPendingMB());
    }
  }
}
