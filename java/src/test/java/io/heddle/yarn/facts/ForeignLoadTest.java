package io.heddle.yarn.facts;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;

/** Tests foreign load: the arithmetic, and the way from a node's heartbeat to the engine. */
public class ForeignLoadTest {
  private static final Resource MACHINE = Resource.newInstance(64 * GB, 16);

  private static ResourceUtilization use(int memoryMb, float cpu) {
    return ResourceUtilization.newInstance(memoryMb, memoryMb, cpu);
  }

  private static int load(ResourceUtilization node, ResourceUtilization containers,
      Resource machine, Resource capacity) {
    return ForeignLoad.perMille(node, containers, machine, capacity);
  }

  @Test
  public void whatIsNotOfContainersIsForeign() {
    // 6 of 16 processors are used, 2 of them by containers: a quarter is foreign.
    assertEquals(250, load(use(GB, 6), use(GB, 2), MACHINE, MACHINE));
    // The scarcer resource decides: 32 of 64 GB.
    assertEquals(500, load(use(40 * GB, 6), use(8 * GB, 2), MACHINE, MACHINE));
    assertEquals(1000, load(use(64 * GB, 16), use(0, 0), MACHINE, MACHINE));
  }

  @Test
  public void aReserveIsNobodysLoss() {
    // YARN has 12 of 16 processors and 48 of 64 GB; 4 processors and 16 GB are free for others.
    Resource capacity = Resource.newInstance(48 * GB, 12);
    assertEquals(0, load(use(16 * GB, 4), use(0, 0), MACHINE, capacity));
    // 10 processors: 6 of YARN's 12 beyond the reserve.
    assertEquals(500, load(use(16 * GB, 10), use(0, 0), MACHINE, capacity));
    // 28 GB: 12 of YARN's 48 beyond the reserve.
    assertEquals(250, load(use(28 * GB, 1), use(0, 0), MACHINE, capacity));
  }

  /** Two vcores for each processor: containers that use 16 vcores use half of the machine. */
  @Test
  public void vcoresAreNotProcessors() {
    Resource capacity = Resource.newInstance(64 * GB, 32);
    assertEquals(0, load(use(GB, 8), use(GB, 16), MACHINE, capacity));
    assertEquals(250, load(use(GB, 12), use(GB, 16), MACHINE, capacity));
  }

  @Test
  public void noiseAndNonsenseAreNothing() {
    assertEquals("3 %", 0, load(use(GB, 2.5f), use(GB, 2), MACHINE, MACHINE));
    assertEquals("containers measured later", 0,
        load(use(GB, 2), use(2 * GB, 9), MACHINE, MACHINE));
    assertEquals(0, load(use(GB, Float.NaN), use(GB, -1), MACHINE, MACHINE));
    assertEquals(1000, load(use(GB, Float.POSITIVE_INFINITY), use(0, 0), MACHINE, MACHINE));
    assertEquals("no machine told", 250, load(use(GB, 4), use(0, 0), null, MACHINE));
    int unknown = ForeignLoad.UNKNOWN;
    assertEquals(unknown, load(null, use(0, 0), MACHINE, MACHINE));
    assertEquals(unknown, load(use(GB, 4), null, MACHINE, MACHINE));
    assertEquals("nothing measured", unknown, load(use(0, 0), use(0, 0), MACHINE, MACHINE));
    assertEquals(unknown, load(use(GB, 4), use(0, 0), MACHINE, Resource.newInstance(0, 0)));
  }

  @Test
  public void onlyNoticeableChangesAreNews() {
    assertTrue("the first", ForeignLoad.isNews(ForeignLoad.UNKNOWN, 0));
    assertFalse(ForeignLoad.isNews(ForeignLoad.UNKNOWN, ForeignLoad.UNKNOWN));
    assertFalse("kept without a measurement", ForeignLoad.isNews(300, ForeignLoad.UNKNOWN));
    assertFalse(ForeignLoad.isNews(300, 349));
    assertTrue(ForeignLoad.isNews(300, 350));
    assertTrue(ForeignLoad.isNews(300, 250));
    assertTrue("an end is exact", ForeignLoad.isNews(49, 0));
    assertTrue(ForeignLoad.isNews(960, 1000));
  }

  /** A node whose heartbeats carry utilization, like a real NodeManager's. */
  private static final class Measuring {
    private final TestCluster cluster;
    private final MockNM node;

    Measuring(TestCluster cluster, MockNM node) {
      this.cluster = cluster;
      this.node = node;
    }

    void beat(ResourceUtilization whole, ResourceUtilization containers) throws Exception {
      NodeStatus status = NodeStatus.newInstance(node.getNodeId(),
          cluster.rmNode(node).getLastNodeHeartBeatResponse().getResponseId(),
          new ArrayList<>(), new ArrayList<ApplicationId>(),
          NodeHealthStatus.newInstance(true, "", 0), containers, whole, new ArrayList<>());
      NodeHeartbeatRequest request = NodeHeartbeatRequest.newInstance(status,
          cluster.rm.getRMContext().getContainerTokenSecretManager().getCurrentKey(),
          cluster.rm.getRMContext().getNMTokenSecretManager().getCurrentKey(), null);
      cluster.rm.getResourceTrackerService().nodeHeartbeat(request);
      cluster.rm.drainEvents();
    }

    int told() {
      cluster.tick();
      JsonNode load =
          cluster.request(SetupJson.request("node", "node", 0)).get("foreign_per_mille");
      return load.isNull() ? ForeignLoad.UNKNOWN : load.asInt();
    }
  }

  @Test
  public void aNodesHeartbeatTellsTheEngine() throws Exception {
    Configuration conf = TestCluster.conf("{\"testing\": {\"faults\": true}}");
    try (TestCluster cluster = new TestCluster(conf).expectFaults()) {
      Measuring node = new Measuring(cluster, cluster.node("a1", 8 * GB, 8));
      node.beat(null, null);
      assertEquals(ForeignLoad.UNKNOWN, node.told());
      node.beat(use(2 * GB, 0), use(2 * GB, 0));
      assertEquals(0, node.told());
      node.beat(use(5 * GB, 0), use(GB, 0));
      assertEquals(500, node.told());
      node.beat(use(5 * GB + 200, 0), use(GB, 0));
      assertEquals("too little to tell", 500, node.told());
      node.beat(null, null);
      assertEquals("kept without a measurement", 500, node.told());
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      assertEquals("a new engine is told", 500, node.told());
      assertEquals(1, cluster.scheduler.inspection().engineRebuilds());
      node.beat(use(GB, 0), use(GB, 0));
      assertEquals(0, node.told());
    }
  }

  @Test
  public void itCanBeTurnedOff() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.setBoolean(ForeignLoad.ENABLE_PROPERTY, false);
    try (TestCluster cluster = new TestCluster(conf)) {
      Measuring node = new Measuring(cluster, cluster.node("a1", 8 * GB, 8));
      node.beat(use(8 * GB, 8), use(0, 0));
      assertEquals(ForeignLoad.UNKNOWN, node.told());
    }
  }

  /** Its purpose: Reverse-Adaptive leaves slots unused that foreign load takes. */
  @Test
  public void reverseAdaptiveStartsFewerTasksWhereOthersWork() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(
        "{\"policy\": \"reverse-adaptive\", \"heartbeat_fill\": 1.0,"
            + " \"slots\": {\"map_per_node\": 4, \"reduce_per_node\": 2}}"))) {
      MockNM mock = cluster.node("a1", 16 * GB, 16);
      MockAM am = cluster.run("alice", mock);
      Measuring node = new Measuring(cluster, mock);
      node.beat(use(9 * GB, 0), use(GB, 0));
      cluster.tick();
      ask(am, any(20, GB, 8));
      node.beat(use(9 * GB, 0), use(GB, 0));
      cluster.tick();
      node.beat(use(9 * GB, 0), use(GB, 0));
      assertEquals("half of four slots", 2, fetch(am).size());
    }
  }
}
