package io.heddle.yarn;

import static org.junit.Assert.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.junit.Test;

/**
 * Tests that a tick holds the scheduler's lock only briefly at a time, because heartbeats wait for
 * it. Compares times within one run, by this thread's CPU time, which other processes on the
 * machine do not lengthen. Newest Hadoop only: the lock is Heddle's own.
 */
public class LockTimeTest {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int ROUNDS = 7;

  /** A lock that measures the longest time between lock and unlock. */
  private static final class Meter extends ReentrantLock {
    private static final long serialVersionUID = 1;
    private long begunNs;
    private long longestNs;
    private int holds;

    @Override
    public void lock() {
      super.lock();
      begunNs = nowNs();
    }

    @Override
    public void unlock() {
      longestNs = Math.max(longestNs, nowNs() - begunNs);
      holds++;
      super.unlock();
    }
  }

  private interface Work {
    void run() throws Exception;
  }

  private static long nowNs() {
    return THREADS.getCurrentThreadCpuTime();
  }

  private static long took(Work work) throws Exception {
    long begunNs = nowNs();
    work.run();
    return nowNs() - begunNs;
  }

  private static long median(List<Long> times) {
    Collections.sort(times);
    return times.get(times.size() / 2);
  }

  private static long median(int rounds, Work work) throws Exception {
    List<Long> times = new ArrayList<>();
    for (int i = 0; i < rounds; i++) {
      times.add(took(work));
    }
    return median(times);
  }

  private static long calmHeartbeat(TestCluster cluster, MockNM node) throws Exception {
    NodeUpdateSchedulerEvent beat = new NodeUpdateSchedulerEvent(cluster.rmNode(node));
    return median(1_000, () -> cluster.scheduler.handle(beat));
  }

  /** Adds nodes without registrations, each of which would wait for all of YARN's events. */
  private static RMNode addNodes(TestCluster cluster, int rack) {
    RMNode node = null;
    for (int i = 0; i < 250; i++) {
      node = MockNodes.newNodeInfo(rack, Resource.newInstance(TestCluster.GB, 1), i,
          "10.1." + rack + "." + i, 1234);
      cluster.rm.getRMContext().getRMNodes().put(node.getNodeID(), node);
      cluster.scheduler.handle(new NodeAddedSchedulerEvent(node));
    }
    return node;
  }

  /** Repeats the labels of a node, as YARN does with each registration. */
  private static long repeatedLabels(TestCluster cluster, RMNode node) throws Exception {
    NodeLabelsUpdateSchedulerEvent event = new NodeLabelsUpdateSchedulerEvent(
        Collections.singletonMap(node.getNodeID(), Collections.<String>emptySet()));
    return median(1_000, () -> cluster.scheduler.handle(event));
  }

  private static void compare(String what, long longest, long whole, long calm) {
    String figures = String.format("%s: at most %d us at a time, %d us whole; a heartbeat %d us",
        what, longest / 1_000, whole / 1_000, calm / 1_000);
    System.out.println("measured: " + figures);
    assertTrue(figures, 4 * longest < whole);
  }

  @Test
  public void aReportOfQueuesHoldsTheLockForAPageAtATime() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * TestCluster.GB);
      for (int i = 0; i < 4_096; i++) {
        cluster.scheduler.place("u" + i, null, null, false);
      }
      long calm = calmHeartbeat(cluster, node);
      List<Long> longest = new ArrayList<>();
      for (int i = 0; i < ROUNDS; i++) {
        Meter meter = new Meter();
        while (meter.holds == 0) {
          cluster.scheduler.queues.refreshIfDue(meter);
          // The refresh pauses for a multiple of its own time.
          Thread.sleep(10);
        }
        longest.add(meter.longestNs);
      }
      long whole = median(ROUNDS, cluster.scheduler.queues::replay);
      compare("queues", median(longest), whole, calm);
    }
  }

  @Test
  public void theAuditHoldsTheLockForASliceAtATime() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", TestCluster.GB);
      Inspection inspection = cluster.scheduler.inspection();
      long whole = 0;
      // A tick audits for a few milliseconds in a cluster of any size.
      for (int i = 0; whole < 60_000_000; i++) {
        addNodes(cluster, i);
        whole = median(3, inspection::differences);
      }
      long calm = calmHeartbeat(cluster, node);
      long calmTick = median(ROUNDS, cluster.scheduler::update);
      List<Long> longest = new ArrayList<>();
      for (int i = 0; i < ROUNDS; i++) {
        inspection.auditSoon();
        long most = 0;
        // More ticks than a pass over all nodes takes; the last ones audit nothing.
        for (int tick = 0; tick < 64; tick++) {
          most = Math.max(most, took(cluster.scheduler::update) - calmTick);
        }
        longest.add(most);
      }
      compare("audit", median(longest), median(3, inspection::differences), calm);
    }
  }

  /** One job may have tens of thousands of asks. */
  @Test
  public void theAuditOfOneJobHoldsTheLockForASliceAtATime() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", TestCluster.GB);
      MockAM am = cluster.run("alice", node);
      List<ResourceRequest> rows = new ArrayList<>();
      for (int i = 1; i <= 30_000; i++) {
        rows.add(TestCluster.any(i, TestCluster.GB, 1));
      }
      TestCluster.ask(am, rows);
      cluster.scheduler.update();
      Inspection inspection = cluster.scheduler.inspection();
      long whole = median(3, inspection::differences);
      long calm = calmHeartbeat(cluster, node);
      long calmTick = median(ROUNDS, cluster.scheduler::update);
      List<Long> longest = new ArrayList<>();
      for (int i = 0; i < ROUNDS; i++) {
        inspection.auditSoon();
        long most = 0;
        for (int tick = 0; tick < 32; tick++) {
          most = Math.max(most, took(cluster.scheduler::update) - calmTick);
        }
        longest.add(most);
      }
      compare("audit of one job", median(longest), whole, calm);
    }
  }

  @Test
  public void aRegistrationLooksAtNoOtherNode() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      long few = repeatedLabels(cluster, addNodes(cluster, 0));
      RMNode last = null;
      for (int i = 1; i < 32; i++) {
        last = addNodes(cluster, i);
      }
      long many = repeatedLabels(cluster, last);
      String figures = String.format("%d ns with 250 nodes, %d ns with 8000", few, many);
      assertTrue(figures, many < 4 * few);
    }
  }
}
