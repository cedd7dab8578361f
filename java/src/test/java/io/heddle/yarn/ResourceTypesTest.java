package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;

import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.junit.After;
import org.junit.Test;

/** Tests a cluster with a resource type besides memory and vcores. */
public class ResourceTypesTest {
  private static final String DEVICE = "example.com/device";

  /** Resets the types, which are static: other tests have memory and vcores only. */
  @After
  public void forgetTypes() {
    ResourceUtils.resetResourceTypes(new Configuration(false));
  }

  private static Configuration conf(String heddleJson) throws Exception {
    Configuration conf = TestCluster.conf(heddleJson);
    conf.set(YarnConfiguration.RESOURCE_TYPES, DEVICE);
    ResourceUtils.resetResourceTypes(conf);
    return conf;
  }

  private static Resource size(int memoryMb, int vcores, long devices) {
    return Resource.newInstance(memoryMb, vcores, Collections.singletonMap(DEVICE, devices));
  }

  private static ResourceRequest with(int priority, int memoryMb, int count, long devices) {
    ResourceRequest row = any(priority, memoryMb, count);
    row.setCapability(size(memoryMb, 1, devices));
    return row;
  }

  @Test
  public void aThirdTypeOfResourceRunsOutLikeMemory() throws Exception {
    try (TestCluster cluster = new TestCluster(conf("{\"heartbeat_fill\": 1.0}"))) {
      MockNM plain = cluster.node("a1", 16 * GB);
      MockNM node = cluster.node("b1", size(16 * GB, 16, 3));
      MockAM am = cluster.run("alice", plain);
      ask(am, with(1, GB, 5, 1));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals("three devices, and all on one node", 3, containers.size());
      for (Container container : containers) {
        assertEquals(node.getNodeId(), container.getNodeId());
        assertEquals(1, container.getResource().getResourceValue(DEVICE));
      }
      cluster.assertBooksEqual();
      assertEquals(0, cluster.scheduler.getSchedulerNode(node.getNodeId())
          .getUnallocatedResource().getResourceValue(DEVICE));
      ask(am, with(2, GB, 1, 0));
      cluster.heartbeat(node);
      assertEquals("memory is left for those who need no device", 1, fetch(am).size());
      cluster.running(node, containers);
      cluster.completed(node, containers.get(0));
      cluster.heartbeat();
      assertEquals("the device that came free", 1, fetch(am).size());
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void aQueuesLimitHoldsForAThirdTypeToo() throws Exception {
    String limited = "{\"heartbeat_fill\": 1.0, \"queues\": [{\"path\": \"root.alice\","
        + " \"max_share\": {\"" + DEVICE + "\": 2}}]}";
    try (TestCluster cluster = new TestCluster(conf(limited))) {
      MockNM node = cluster.node("a1", size(16 * GB, 16, 8));
      MockAM alice = cluster.run("alice", node);
      MockAM bob = cluster.run("bob", node);
      ask(alice, with(1, GB, 5, 1));
      ask(bob, with(1, GB, 5, 1));
      cluster.heartbeat();
      assertEquals(2, fetch(alice).size());
      assertEquals(5, fetch(bob).size());
      cluster.refreshQueues();
      assertEquals(2, cluster.scheduler.reports.table().snapshot().get("root.alice")
          .used.getResourceValue(DEVICE));
    }
  }
}
