package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.config.ConfigFile;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.junit.Test;

/** Tests node labels: partitions of the cluster that only asks with the label may use. */
public class LabelTest {
  private static TestCluster cluster() throws Exception {
    return new TestCluster(
        TestCluster.labelled(TestCluster.conf("{\"heartbeat_fill\": 1.0}")));
  }

  private static ResourceRequest labelled(int priority, int count) {
    ResourceRequest row = any(priority, GB, count);
    row.setNodeLabelExpression("gpu");
    return row;
  }

  private static void label(TestCluster cluster, MockNM node, String... labels)
      throws Exception {
    Set<String> set = new java.util.HashSet<>(java.util.Arrays.asList(labels));
    cluster.rm.getRMContext().getNodeLabelManager().replaceLabelsOnNode(
        Collections.<NodeId, Set<String>>singletonMap(node.getNodeId(), set));
    cluster.rm.drainEvents();
  }

  @Test
  public void aLabelledNodeServesOnlyAsksForItsLabel() throws Exception {
    try (TestCluster cluster = cluster()) {
      RMNodeLabelsManager labels = cluster.rm.getRMContext().getNodeLabelManager();
      labels.addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM plain = cluster.node("a1", 4 * GB);
      MockNM gpu = cluster.node("b1", 8 * GB);
      label(cluster, gpu, "gpu");
      assertEquals(8 * GB, labels.getResourceByLabel("gpu",
          cluster.scheduler.getClusterResource()).getMemorySize());
      MockAM am = cluster.run("alice", plain);
      ask(am, any(1, GB, 5));
      cluster.heartbeat(gpu);
      assertEquals(0, fetch(am).size());
      cluster.heartbeat(plain);
      assertEquals(3, fetch(am).size());
      ask(am, any(1, GB, 0), labelled(2, 2));
      cluster.heartbeat(plain);
      assertEquals(0, fetch(am).size());
      cluster.heartbeat(gpu);
      List<Container> containers = fetch(am);
      assertEquals(2, containers.size());
      assertEquals(gpu.getNodeId(), containers.get(0).getNodeId());
      assertEquals(2 * GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("gpu").getMemorySize());
      cluster.running(gpu, containers);
      cluster.completed(gpu, containers.get(0));
      assertEquals(GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("gpu").getMemorySize());
    }
  }

  @Test
  public void aNodeMayChangeItsLabelWithContainersOnIt() throws Exception {
    try (TestCluster cluster = cluster()) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM node = cluster.node("a1", 8 * GB);
      MockNM other = cluster.node("b1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 2));
      cluster.heartbeat(other);
      List<Container> containers = fetch(am);
      cluster.running(other, containers);
      label(cluster, other, "gpu");
      cluster.assertBooksEqual();
      assertEquals(2 * GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("gpu").getMemorySize());
      assertEquals(GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("").getMemorySize());
      ask(am, any(1, GB, 1), labelled(2, 1));
      cluster.heartbeat(other);
      List<Container> more = fetch(am);
      assertEquals(1, more.size());
      assertEquals(2, more.get(0).getPriority().getPriority());
      cluster.completed(other, containers.get(0));
      label(cluster, other);
      cluster.heartbeat(other);
      assertEquals(1, fetch(am).size());
      // A tracker that lost the node under its label would throw here.
      cluster.forget(other);
      cluster.rm.sendNodeLost(other);
      cluster.rm.drainEvents();
      assertEquals(1, cluster.scheduler.getNumClusterNodes());
      assertEquals(0, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("gpu").getMemorySize());
      assertEquals(GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("").getMemorySize());
    }
  }

  @Test
  public void aJobMovesWithContainersWhoseNodeGotALabel() throws Exception {
    Configuration conf = TestCluster.labelled(TestCluster.conf("{\"heartbeat_fill\": 1.0,"
        + " \"queues\": [{\"path\": \"root.a\"}, {\"path\": \"root.b\"}]}"));
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM node = cluster.node("a1", 8 * GB);
      MockNM other = cluster.node("b1", 8 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.a"), node);
      ask(am, any(1, GB, 2));
      cluster.heartbeat(other);
      cluster.running(other, fetch(am));
      label(cluster, other, "gpu");
      QueueMetrics from = cluster.scheduler.queueReports().metrics("root.a");
      QueueMetrics to = cluster.scheduler.queueReports().metrics("root.b");
      assertEquals("Hadoop counts what is labelled apart", 1, from.getAllocatedContainers());
      cluster.scheduler.moveApplication(am.getApplicationAttemptId().getApplicationId(), "root.b");
      assertEquals(0, from.getAllocatedContainers());
      assertEquals(1, to.getAllocatedContainers());
      assertEquals(GB, to.getAllocatedMB());
    }
  }

  private static final String TWO_QUEUES = "{\"heartbeat_fill\": 1.0, \"queues\": ["
      + "{\"path\": \"root.a\", \"accessible_labels\": []}, {\"path\": \"root.b\", "
      + "\"labels\": {\"gpu\": {\"max_share\": {\"memory-mb\": 2048}}}}, "
      + "{\"path\": \"root.c\", \"default_label\": \"gpu\"}]}";

  @Test
  public void aLabelThatIsNotExclusiveLendsItsNodes() throws Exception {
    try (TestCluster cluster =
        new TestCluster(TestCluster.labelled(TestCluster.conf(TWO_QUEUES)))) {
      RMNodeLabelsManager labels = cluster.rm.getRMContext().getNodeLabelManager();
      labels.addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu", false)));
      MockNM plain = cluster.node("a1", 2 * GB);
      MockNM gpu = cluster.node("b1", 4 * GB);
      label(cluster, gpu, "gpu");
      MockAM am = cluster.launch(cluster.submit("alice", "root.a"), plain);
      ask(am, any(1, GB, 9));
      cluster.heartbeat(plain);
      assertEquals(1, fetch(am).size());
      List<Container> lent = new java.util.ArrayList<>();
      long end = System.nanoTime() + 60_000_000_000L;
      while (lent.size() < 4 && System.nanoTime() < end) {
        Thread.sleep(100);
        cluster.heartbeat(gpu);
        lent.addAll(fetch(am));
      }
      assertEquals(4, lent.size());
      assertEquals(gpu.getNodeId(), lent.get(0).getNodeId());
      assertEquals(4 * GB, cluster.attempt(am).getAppAttemptResourceUsage()
          .getUsed("gpu").getMemorySize());
      cluster.assertBooksEqual();
      cluster.running(gpu, lent);
      cluster.completed(gpu, lent.get(0));
      cluster.assertBooksEqual();
    }
  }

  @Test
  public void aQueueRefusesLabelsThatItMayNotUseAndGivesItsOwn() throws Exception {
    try (TestCluster cluster =
        new TestCluster(TestCluster.labelled(TestCluster.conf(TWO_QUEUES)))) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM plain = cluster.node("a1", 4 * GB);
      MockNM gpu = cluster.node("b1", 4 * GB);
      label(cluster, gpu, "gpu");
      MockAM a = cluster.launch(cluster.submit("alice", "root.a"), plain);
      try {
        ask(a, labelled(2, 1));
        fail("root.a may not use the label");
      } catch (InvalidLabelResourceRequestException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("permission"));
      }
      MockAM b = cluster.launch(cluster.submit("bob", "root.b"), plain);
      ask(b, labelled(2, 3));
      cluster.heartbeat(gpu);
      assertEquals("its limit there", 2, fetch(b).size());
      // Its ApplicationMaster asks for nothing else either.
      MockAM c = cluster.launch(cluster.submit("carol", "root.c"), gpu);
      ask(c, any(1, GB, 1));
      cluster.heartbeat(plain);
      assertEquals(0, fetch(c).size());
      cluster.heartbeat(gpu);
      assertEquals(1, fetch(c).size());
    }
  }

  /**
   * {@code RMNodeLabelsManager.checkRemoveFromClusterNodeLabelsOfQueue}: queues that name a label
   * keep it. It asks for nothing else, so containers that run on the label's nodes do not.
   */
  @Test
  public void aLabelThatAQueueNamesIsNotRemoved() throws Exception {
    String named = "{\"heartbeat_fill\": 1.0, \"queues\": [{\"path\": \"root.a\","
        + " \"accessible_labels\": [\"gpu\"]}, {\"path\": \"root.b\","
        + " \"accessible_labels\": []}]}";
    Configuration conf = TestCluster.labelled(TestCluster.conf(named));
    try (TestCluster cluster = new TestCluster(conf)) {
      RMNodeLabelsManager labels = cluster.rm.getRMContext().getNodeLabelManager();
      labels.addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM plain = cluster.node("a1", 4 * GB);
      MockNM gpu = cluster.node("b1", 4 * GB);
      label(cluster, gpu, "gpu");
      MockAM am = cluster.launch(cluster.submit("alice", "root.a"), plain);
      ask(am, labelled(2, 1));
      cluster.heartbeat(gpu);
      cluster.running(gpu, fetch(am));
      try {
        labels.removeFromClusterNodeLabels(Collections.singleton("gpu"));
        fail("root.a names it");
      } catch (IOException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("queue=root.a is using this label"));
      }
      conf.set(ConfigFile.FILE_PROPERTY,
          TestCluster.write(named.replace("[\"gpu\"]", "[]")).getPath());
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      labels.removeFromClusterNodeLabels(Collections.singleton("gpu"));
      cluster.rm.drainEvents();
      assertEquals("its container runs on", 2, cluster.attempt(am).getLiveContainers().size());
    }
  }

  /** As its requests there are: {@code CapacityScheduler.checkQueuePartition}. */
  @Test
  public void aMoveToAQueueWithoutAccessToALabelIsRefused() throws Exception {
    try (TestCluster cluster =
        new TestCluster(TestCluster.labelled(TestCluster.conf(TWO_QUEUES)))) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM plain = cluster.node("a1", 4 * GB);
      label(cluster, cluster.node("b1", 4 * GB), "gpu");
      MockAM am = cluster.launch(cluster.submit("bob", "root.b"), plain);
      ApplicationId id = am.getApplicationAttemptId().getApplicationId();
      cluster.scheduler.preValidateMoveApplication(id, "root.a");
      ask(am, labelled(2, 9));
      cluster.scheduler.preValidateMoveApplication(id, "root.c");
      try {
        cluster.scheduler.preValidateMoveApplication(id, "root.a");
        fail("root.a may not use the label");
      } catch (YarnException e) {
        assertTrue(e.getMessage(),
            e.getMessage().contains("root.a has no access to node label gpu"));
      }
    }
  }

  /** The last unlabelled node leaves the tracker's list and must return to it. */
  @Test
  public void aNodeWhoseLabelWasClearedLeavesWithoutATrace() throws Exception {
    try (TestCluster cluster = cluster()) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM node = cluster.node("a1", 8 * GB);
      label(cluster, node, "gpu");
      label(cluster, node);
      cluster.forget(node);
      cluster.rm.sendNodeLost(node);
      cluster.rm.drainEvents();
      assertEquals(0, cluster.scheduler.getNumClusterNodes());
      assertEquals(0, cluster.scheduler.getClusterResource().getMemorySize());
      assertEquals(0, cluster.scheduler.inspection().failures());
      cluster.assertBooksEqual();
    }
  }

  /** An AM whose headroom has room that it cannot get would wait for it forever. */
  @Test
  public void headroomAndMetricsAreOfTheNodesThatAsksWithoutALabelMayUse() throws Exception {
    try (TestCluster cluster = cluster()) {
      cluster.rm.getRMContext().getNodeLabelManager()
          .addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance("gpu")));
      MockNM plain = cluster.node("a1", 4 * GB);
      MockNM gpu = cluster.node("b1", 8 * GB);
      label(cluster, gpu, "gpu");
      MockAM am = cluster.run("alice", plain);
      ask(am, any(1, GB, 2), labelled(2, 3));
      cluster.heartbeat(gpu);
      cluster.heartbeat(plain);
      assertEquals(5, fetch(am).size());
      assertEquals("one of 4 GB", GB, cluster.scheduler.getRootQueueMetrics().getAvailableMB());
      ask(am, any(1, GB, 5));
      cluster.scheduler.update();
      assertEquals(GB, ask(am, any(1, GB, 5)).getAvailableResources().getMemorySize());
      ask(am, any(1, GB, 0), labelled(2, 5));
      cluster.scheduler.update();
      assertEquals(5 * GB, ask(am, labelled(2, 5)).getAvailableResources().getMemorySize());
    }
  }
}
