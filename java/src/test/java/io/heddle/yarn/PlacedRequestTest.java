package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.NODE;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.PlacementTargets.allocationTag;
import static org.apache.hadoop.yarn.api.resource.PlacementConstraints.PlacementTargets.nodeAttribute;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeAttributeOpCode;
import org.apache.hadoop.yarn.api.records.NodeAttributeType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.RejectedSchedulingRequest;
import org.apache.hadoop.yarn.api.records.RejectionReason;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceSizing;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.api.resource.PlacementConstraint.AbstractConstraint;
import org.apache.hadoop.yarn.api.resource.PlacementConstraints;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;

/** Placement constraints, by YARN's own processor, which asks Heddle to start its containers. */
public class PlacedRequestTest {
  private static final long WAIT_MS = 60_000;
  private static final String TAG = "web";

  private final List<Container> got = new ArrayList<>();
  private final List<RejectionReason> rejected = new ArrayList<>();

  /**
   * YARN's processor hands placements on before it takes the tags of its plan back, so that a plan
   * may stand in its own way: it then needs further attempts, with any scheduler.
   */
  private static Configuration conf(String heddleJson, int attempts) throws Exception {
    Configuration conf = TestCluster.conf(heddleJson);
    conf.set(YarnConfiguration.RM_PLACEMENT_CONSTRAINTS_HANDLER,
        YarnConfiguration.PROCESSOR_RM_PLACEMENT_CONSTRAINTS_HANDLER);
    conf.setInt(YarnConfiguration.RM_PLACEMENT_CONSTRAINTS_RETRY_ATTEMPTS, attempts);
    return conf;
  }

  private static List<SchedulingRequest> requests(int count, AbstractConstraint constraint) {
    SchedulingRequest[] requests = new SchedulingRequest[count];
    for (int i = 0; i < count; i++) {
      requests[i] = SchedulingRequest.newBuilder().allocationRequestId(i + 1)
          .priority(Priority.newInstance(1)).allocationTags(Collections.singleton(TAG))
          .resourceSizing(ResourceSizing.newInstance(1, Resource.newInstance(GB, 1)))
          .placementConstraintExpression(PlacementConstraints.build(constraint)).build();
    }
    return Arrays.asList(requests);
  }

  private static AbstractConstraint apart() {
    return PlacementConstraints.targetNotIn(NODE, allocationTag(TAG));
  }

  /** Sends heartbeats of the AM until every request has its answer. */
  private void collect(MockAM am, int answers) throws Exception {
    long endMs = System.currentTimeMillis() + WAIT_MS;
    while (got.size() + rejected.size() < answers) {
      assertTrue(got + " " + rejected, System.currentTimeMillis() < endMs);
      AllocateResponse response = am.schedule();
      got.addAll(response.getAllocatedContainers());
      response.getRejectedSchedulingRequests().stream()
          .map(RejectedSchedulingRequest::getReason).forEach(rejected::add);
      Thread.sleep(20);
    }
  }

  private List<String> hosts() {
    return got.stream().map(container -> container.getNodeId().getHost()).sorted()
        .collect(Collectors.toList());
  }

  @Test
  public void oneForEachNode() throws Exception {
    try (TestCluster cluster = new TestCluster(conf("{}", 50))) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("a2", 8 * GB);
      MockAM am = cluster.run("alice", first);
      am.addSchedulingRequest(requests(3, apart()));
      collect(am, 3);
      assertEquals(Arrays.asList("a1", "a2"), hosts());
      assertEquals(1, rejected.size());
      // The ApplicationMaster and two containers.
      assertEquals(3 * GB, cluster.scheduler.getRootQueueMetrics().getAllocatedMB());
      assertEquals(0, cluster.scheduler.getRootQueueMetrics().getPendingMB());
      cluster.assertBooksEqual();

      // Its tag goes with a container, so another one may come.
      Container ended = got.remove(0);
      TestCluster.release(am, ended.getId());
      cluster.completed(ended.getNodeId().equals(first.getNodeId()) ? first : second, ended);
      rejected.clear();
      am.addSchedulingRequest(requests(1, apart()));
      collect(am, 2);
      assertEquals(Arrays.asList("a1", "a2"), hosts());
    }
  }

  @Test
  public void limitsOfQueuesHold() throws Exception {
    String heddleJson =
        "{\"queues\": [{\"path\": \"root.alice\", \"max_share\": {\"memory-mb\": 3072}}]}";
    try (TestCluster cluster = new TestCluster(conf(heddleJson, 1))) {
      MockNM node = cluster.node("a1", 16 * GB);
      MockAM am = cluster.run("alice", node);
      am.addSchedulingRequest(requests(3, PlacementConstraints.maxCardinality(NODE, 9, TAG)));
      collect(am, 3);
      // With the ApplicationMaster the queue uses what it may.
      assertEquals(Arrays.asList("a1", "a1"), hosts());
      assertEquals(
          Collections.singletonList(RejectionReason.COULD_NOT_SCHEDULE_ON_NODE), rejected);
    }
  }

  @Test
  public void attributesOfNodesCount() throws Exception {
    try (TestCluster cluster = new TestCluster(conf("{}", 50))) {
      MockNM plain = cluster.node("a1", 8 * GB);
      cluster.node("a2", 8 * GB);
      cluster.rm.getRMContext().getNodeAttributesManager().addNodeAttributes(
          Collections.singletonMap("a2", Collections.singleton(NodeAttribute.newInstance(
              NodeAttribute.PREFIX_CENTRALIZED, "disk", NodeAttributeType.STRING, "ssd"))));
      cluster.rm.drainEvents();
      MockAM am = cluster.run("alice", plain);
      am.addSchedulingRequest(requests(2, PlacementConstraints.targetNodeAttribute(NODE,
          NodeAttributeOpCode.EQ, nodeAttribute("rm.yarn.io/disk", "ssd"))));
      collect(am, 2);
      assertEquals(Arrays.asList("a2", "a2"), hosts());
    }
  }
}
