package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.row;
import static org.junit.Assert.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/**
 * A search for handlers whose cost grows faster than what they are given: each dimension of an
 * ApplicationMaster's and a node's call is doubled, and what the call does not name is multiplied
 * by eight. HEDDLE_GROWTH multiplies the sizes. ServiceCostTest does the same with queues. Newest
 * Hadoop only: the costs are Heddle's own.
 */
public class GrowthTest {
  private static final int SCALE =
      Integer.parseInt(System.getenv().getOrDefault("HEDDLE_GROWTH", "1"));

  private TestCluster cluster;
  private MockNM node;
  private MockAM am;
  private int named;
  private final List<RMNode> others = new ArrayList<>();

  @Before
  public void begin() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 1);
    cluster = new TestCluster(conf);
    node = cluster.node("a1", 1 << 30, 1 << 20);
    am = cluster.run("alice", node);
  }

  @After
  public void end() {
    cluster.withoutAudit().close();
  }

  /** Sends rows through ApplicationMasterService; returns what that costs. */
  private long asked(List<ResourceRequest> rows) throws Exception {
    return Cost.of(() -> ask(am, rows));
  }

  /** Withdraws rows, releases what came meanwhile, and tells the engine. */
  private void withdraw(List<ResourceRequest> rows) throws Exception {
    List<ResourceRequest> none = AskTable.copies(rows);
    none.forEach(one -> one.setNumContainers(0));
    List<ContainerId> ids = new ArrayList<>();
    for (Container container : ask(am, none).getAllocatedContainers()) {
      ids.add(container.getId());
    }
    TestCluster.release(am, ids.toArray(new ContainerId[0]));
    cluster.heartbeat(node);
    cluster.tick();
  }

  /** Measures an allocate() with these rows, and the frame with them. */
  private long both(List<ResourceRequest> rows) throws Exception {
    long cost = asked(rows) + Cost.of(cluster.scheduler::update);
    withdraw(rows);
    return cost;
  }

  private List<ResourceRequest> priorities(int count, int each) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(any(i + 1, GB, each));
    }
    return rows;
  }

  private List<ResourceRequest> hosts(int count) {
    List<ResourceRequest> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      rows.add(row(1, "z" + named++, GB, 1, true));
    }
    rows.add(any(1, GB, count));
    return rows;
  }

  @Test
  public void rowsOfOneAsk() throws Exception {
    Cost.assertLinear("rows of an ask", 2_000 * SCALE, size -> both(hosts(size)));
  }

  @Test
  public void priorities() throws Exception {
    Cost.assertLinear("priorities", 400 * SCALE, size -> asked(priorities(size, 1)));
  }

  @Test
  public void sizes() throws Exception {
    Cost.assertLinear("sizes", 400 * SCALE, size -> {
      List<ResourceRequest> rows = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        rows.add(any(i + 1, GB + i, 1));
      }
      return asked(rows);
    });
  }

  /** An AM that asks again before it has fetched its containers: rows times containers. */
  @Test
  public void rowsBesideContainersThatWereNotFetched() throws Exception {
    Cost.assertLinear("rows and containers not fetched", 500 * SCALE, size -> {
      ask(am, any(1, GB, size));
      cluster.heartbeat(node);
      assertEquals(size, live());
      List<ResourceRequest> rows = priorities(size, 1);
      long cost = asked(rows);
      withdrawAll(rows);
      return cost;
    });
  }

  /**
   * As above, with a container for each row: rows times containers, and rows times rows. Measures
   * the correction alone, beside which YARN's part of a call is long.
   */
  @Test
  public void rowsThatContainersWereGrantedFor() throws Exception {
    Cost.assertLinear("rows with containers not fetched", 1_000 * SCALE, size -> {
      List<ResourceRequest> rows = priorities(size, 1);
      ask(am, rows);
      // A report is answered with at most some thousand containers.
      for (int got = -1; got != live(); ) {
        got = live();
        cluster.heartbeat(node);
      }
      assertEquals(size, live());
      List<ResourceRequest> again = priorities(size, 2);
      long cost = Cost.of(() -> cluster.attempt(am).correctStaleAsks(again));
      again.forEach(row -> assertEquals(1, row.getNumContainers()));
      withdrawAll(rows);
      return cost;
    });
  }

  /** Returns how many containers the job has, besides its ApplicationMaster's. */
  private int live() {
    return cluster.attempt(am).getLiveContainers().size() - 1;
  }

  private void withdrawAll(List<ResourceRequest> rows) throws Exception {
    withdraw(rows);
    List<ContainerId> ids = new ArrayList<>();
    cluster.attempt(am).getLiveContainersMap().forEach((id, container) -> {
      if (!container.isAMContainer()) {
        ids.add(id);
      }
    });
    TestCluster.release(am, ids.toArray(new ContainerId[0]));
    cluster.heartbeat(node);
    assertEquals(1, cluster.attempt(am).getLiveContainers().size());
  }

  @Test
  public void containersInOneCall() throws Exception {
    Cost.assertLinear("containers of a report", 500 * SCALE, size -> {
      ask(am, any(1, GB, size));
      long cost = Cost.of(() -> cluster.scheduler.handle(
          new NodeUpdateSchedulerEvent(cluster.rmNode(node))));
      cost += Cost.of(() -> TestCluster.fetch(am));
      withdrawAll(Collections.singletonList(any(1, GB, 1)));
      return cost;
    });
  }

  private List<String> names(int count) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("b" + named++);
    }
    return names;
  }

  /** Returns what a change of the blacklist costs in ApplicationMasterService and in a tick. */
  private long blacklisted(List<String> additions, List<String> removals) throws Exception {
    AllocateRequest request = AllocateRequest.newInstance(0, 0f,
        new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>(),
        ResourceBlacklistRequest.newInstance(additions, removals));
    return Cost.of(() -> am.allocate(request)) + Cost.of(cluster.scheduler::update);
  }

  @Test
  public void namesThatAreBlacklisted() throws Exception {
    Cost.assertLinear("names blacklisted", 2_000 * SCALE, size -> {
      List<String> names = names(size);
      long cost = blacklisted(names, null);
      blacklisted(null, names);
      return cost;
    });
  }

  /** One name more costs the same whatever the list has. */
  @Test
  public void namesOnTheBlacklist() throws Exception {
    List<String> listed = new ArrayList<>();
    Cost.assertFlat("one name more on a blacklist", 2_500 * SCALE, size -> {
      if (listed.size() < size) {
        List<String> more = names(size - listed.size());
        listed.addAll(more);
        blacklisted(more, null);
      } else if (listed.size() > size) {
        List<String> fewer = listed.subList(size, listed.size());
        blacklisted(null, new ArrayList<>(fewer));
        fewer.clear();
      }
      long least = Long.MAX_VALUE;
      for (int i = 0; i < 5; i++) {
        List<String> one = names(1);
        least = Math.min(least, blacklisted(one, null));
        blacklisted(null, one);
      }
      return least;
    });
  }

  /** A node that joins looks at the asks that name it, not at all of an attempt. */
  @Test
  public void asksForOtherHosts() throws Exception {
    Cost.assertFlat("a node joins beside asks for others", 500 * SCALE, size -> {
      List<ResourceRequest> rows = new ArrayList<>();
      for (int i = 0; i < size; i++) {
        rows.add(row(i + 1, "y" + i, GB, 1, false));
        rows.add(row(i + 1, "/y", GB, 1, false));
        rows.add(row(i + 1, ResourceRequest.ANY, GB, 1, false));
      }
      ask(am, rows);
      ask(am, row(size + 1, "x" + ++named, GB, 1, false), row(size + 1, "/x", GB, 1, false),
          row(size + 1, ResourceRequest.ANY, GB, 1, false));
      cluster.tick();
      RMNode joins = MockNodes.newNodeInfo(1, Resource.newInstance(GB, 1), 1, "x" + named, 1);
      cluster.rm.getRMContext().getRMNodes().put(joins.getNodeID(), joins);
      long cost = Cost.of(() -> cluster.scheduler.handle(new NodeAddedSchedulerEvent(joins)));
      cluster.scheduler.handle(new NodeRemovedSchedulerEvent(joins));
      cluster.rm.getRMContext().getRMNodes().remove(joins.getNodeID());
      rows.add(row(size + 1, ResourceRequest.ANY, GB, 1, false));
      withdraw(rows);
      return cost;
    });
  }

  @Test
  public void nodes() throws Exception {
    Cost.assertFlat("an allocate() and a report beside other nodes", 100 * SCALE, size -> {
      nodes(size);
      long cost = Cost.least(5, () -> TestCluster.fetch(am));
      return cost + Cost.least(5, () -> cluster.scheduler.handle(
          new NodeUpdateSchedulerEvent(cluster.rmNode(node))));
    });
  }

  private void nodes(int size) {
    while (others.size() < size) {
      int id = others.size();
      RMNode other =
          MockNodes.newNodeInfo(id % 200, Resource.newInstance(GB, 1), id, "n" + id, 1);
      cluster.rm.getRMContext().getRMNodes().put(other.getNodeID(), other);
      cluster.scheduler.handle(new NodeAddedSchedulerEvent(other));
      others.add(other);
    }
    while (others.size() > size) {
      RMNode other = others.remove(others.size() - 1);
      cluster.scheduler.handle(new NodeRemovedSchedulerEvent(other));
      cluster.rm.getRMContext().getRMNodes().remove(other.getNodeID());
    }
  }

  @Test
  public void jobs() throws Exception {
    List<RMApp> apps = new ArrayList<>();
    Cost.assertFlat("an allocate() and a report beside other jobs", 20 * SCALE, size -> {
      while (apps.size() < size) {
        apps.add(cluster.submit("u" + apps.size() % 50, null));
      }
      while (apps.size() > size) {
        RMApp app = apps.remove(apps.size() - 1);
        cluster.rm.killApp(app.getApplicationId());
        cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
      }
      cluster.heartbeat(node);
      cluster.tick();
      long cost = Cost.least(5, () -> TestCluster.fetch(am));
      return cost + Cost.least(5, () -> cluster.scheduler.handle(
          new NodeUpdateSchedulerEvent(cluster.rmNode(node))));
    });
  }

  /** A container is warned once, however many are. */
  @Test
  public void containersThatAreWarned() throws Exception {
    Cost.assertLinear("containers warned", 2_000 * SCALE, size -> {
      Evictions evictions = new Evictions(id -> { });
      ApplicationAttemptId attempt = am.getApplicationAttemptId();
      long cost = Cost.of(() -> {
        for (int i = 0; i < size; i++) {
          evictions.add(cluster.attempt(am), ContainerId.newContainerId(attempt, 1_000 + i), 0, 1);
        }
      });
      return cost + Cost.of(() -> evictions.killDue(2));
    });
  }
}
