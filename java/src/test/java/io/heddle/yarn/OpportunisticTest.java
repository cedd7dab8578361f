package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.records.OpportunisticContainersStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.OpportunisticContainerAllocatorAMService;
import org.junit.Test;

/** Tests opportunistic containers, which YARN's own allocator places without the engine. */
public class OpportunisticTest {
  private static final int PATIENCE_MS = 60_000;

  private static Configuration conf() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.setBoolean(YarnConfiguration.OPPORTUNISTIC_CONTAINER_ALLOCATION_ENABLED, true);
    conf.setInt(YarnConfiguration.NM_CONTAINER_QUEUING_SORTING_NODES_INTERVAL_MS, 50);
    return conf;
  }

  private static ResourceRequest opportunistic(int count) {
    ResourceRequest row = any(5, GB, count);
    row.setExecutionTypeRequest(
        ExecutionTypeRequest.newInstance(ExecutionType.OPPORTUNISTIC, true));
    return row;
  }

  /** Lets a node offer to queue such containers; the allocator notices later. */
  private static void offer(TestCluster cluster, MockNM node) throws Exception {
    OpportunisticContainersStatus status = OpportunisticContainersStatus.newInstance();
    status.setEstimatedQueueWaitTime(-1);
    status.setOpportQueueCapacity(1000);
    status.setWaitQueueLength(1);
    node.nodeHeartbeat(status, true);
    cluster.rm.drainEvents();
  }

  /**
   * Waits until the allocator knows the node. It takes the node's queue capacity from the first
   * heartbeat that it sees and never updates it. It reads the last heartbeat on its own thread, so
   * one without an offer must not come before.
   */
  private static void awaitNoticed(TestCluster cluster) throws Exception {
    Method nodes =
        OpportunisticContainerAllocatorAMService.class.getDeclaredMethod("getLeastLoadedNodes");
    nodes.setAccessible(true);
    Object allocator = cluster.rm.getApplicationMasterService();
    for (int waited = 0; ((List<?>) nodes.invoke(allocator)).isEmpty(); waited += 10) {
      assertTrue("the allocator knows no node", waited < PATIENCE_MS);
      Thread.sleep(10);
    }
  }

  @Test
  public void theyAreNobodysShareAndTheirEndIsNobodysLoss() throws Exception {
    try (TestCluster cluster = new TestCluster(conf())) {
      MockNM node = cluster.node("a1", 4 * GB);
      offer(cluster, node);
      awaitNoticed(cluster);
      MockAM am = cluster.run("alice", node);
      List<Container> containers =
          new ArrayList<>(ask(am, opportunistic(2)).getAllocatedContainers());
      for (int waited = 0; containers.size() < 2; waited += 50) {
        assertTrue("only " + containers, waited < PATIENCE_MS);
        offer(cluster, node);
        Thread.sleep(50);
        containers.addAll(fetch(am));
      }
      assertEquals(2, containers.size());
      for (Container container : containers) {
        assertEquals(ExecutionType.OPPORTUNISTIC, container.getExecutionType());
      }
      cluster.rm.drainEvents();
      assertEquals("they take no room", 3 * GB, cluster.freeMb(node));
      cluster.assertBooksEqual();

      ask(am, any(1, GB, 3));
      cluster.heartbeat();
      List<Container> guaranteed = fetch(am);
      assertEquals(3, guaranteed.size());
      assertEquals(ExecutionType.GUARANTEED, guaranteed.get(0).getExecutionType());
      cluster.running(node, containers);
      cluster.assertBooksEqual();
      cluster.completed(node, containers.get(0));
      assertEquals(0, cluster.freeMb(node));
      cluster.assertBooksEqual();
    }
  }
}
