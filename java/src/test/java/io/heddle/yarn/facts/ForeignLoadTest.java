package io.heddle.yarn.facts;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;

/**
 * Tests the way of foreign load from a node's heartbeat to the engine; rust/host/src/foreign.rs
 * has tests of the arithmetic.
 */
public class ForeignLoadTest {
  private static final int UNKNOWN = -1;

  private static ResourceUtilization use(int memoryMb, float cpu) {
    return ResourceUtilization.newInstance(memoryMb, memoryMb, cpu);
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
      return load.isNull() ? UNKNOWN : load.asInt();
    }
  }

  @Test
  public void aNodesHeartbeatTellsTheEngine() throws Exception {
    Configuration conf = TestCluster.conf("{\"testing\": {\"faults\": true}}");
    try (TestCluster cluster = new TestCluster(conf).expectFaults()) {
      Measuring node = new Measuring(cluster, cluster.node("a1", 8 * GB, 8));
      node.beat(null, null);
      assertEquals(UNKNOWN, node.told());
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
    conf.setBoolean("heddle.node-load.enable", false);
    try (TestCluster cluster = new TestCluster(conf)) {
      Measuring node = new Measuring(cluster, cluster.node("a1", 8 * GB, 8));
      node.beat(use(8 * GB, 8), use(0, 0));
      assertEquals(UNKNOWN, node.told());
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
