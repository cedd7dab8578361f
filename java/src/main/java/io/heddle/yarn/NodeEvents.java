package io.heddle.yarn;

import io.heddle.yarn.engine.Native;
import java.io.IOException;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeAttribute;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles events of nodes. Called with the scheduler's write lock held. An unknown node is normal,
 * because these events race with decommissioning.
 */
final class NodeEvents {
  /** Whether to tell the engine how much of a node processes outside YARN use. */
  static final String LOAD_PROPERTY = "heddle.node-load.enable";

  private static final Logger LOG = LoggerFactory.getLogger(NodeEvents.class);

  private final HeddleScheduler scheduler;
  private final RMContext rmContext;
  private final ClusterNodeTracker<HeddleNode> tracker;
  private final EngineBooks books;
  private final boolean usePortForNodeName;
  private final boolean loads;
  private boolean loadFailed;

  NodeEvents(HeddleScheduler scheduler, RMContext rmContext,
      ClusterNodeTracker<HeddleNode> tracker, EngineBooks books, Configuration conf) {
    this.scheduler = scheduler;
    this.rmContext = rmContext;
    this.tracker = tracker;
    this.books = books;
    this.usePortForNodeName = conf.getBoolean(
        YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME,
        YarnConfiguration.DEFAULT_RM_SCHEDULER_USE_PORT_FOR_NODE_NAME);
    this.loads = conf.getBoolean(LOAD_PROPERTY, true);
  }

  /** Returns whether YARN allows containers on a node. */
  static boolean schedulable(RMNode node) {
    return node.getState() == NodeState.RUNNING;
  }

  /** Sets the free resources in the root queue's metrics. */
  void showAvailable(QueueMetrics root) {
    root.setAvailableResourcesToQueue(
        Resources.subtract(unlabelled(), root.getAllocatedResources()));
  }

  /** Returns the capacity of the nodes without a label, which YARN's unlabelled metrics cover. */
  Resource unlabelled() {
    Resource all = tracker.getClusterCapacity();
    RMNodeLabelsManager labels = rmContext.getNodeLabelManager();
    return labels == null || labels.getClusterNodeLabelNames().isEmpty()
        ? all : labels.getResourceByLabel(CommonNodeLabelsManager.NO_LABEL, all);
  }

  /** Adds a node that joined, and the containers that it kept across a restart. */
  void added(RMNode rmNode, List<NMContainerStatus> containers) {
    HeddleNode known = books.node(rmNode.getNodeID());
    if (known != null) {
      LOG.warn("Node {} joined twice", rmNode.getNodeID());
      removed(rmNode);
    }
    HeddleNode node = new HeddleNode(rmNode, usePortForNodeName, rmNode.getNodeLabels());
    try {
      add(rmNode, node);
    } catch (RuntimeException e) {
      // Removes the node entirely: a node added by half would pass for a whole one.
      if (books.node(rmNode.getNodeID()) == node) {
        books.nodeRemoved(node);
      }
      tracker.removeNode(rmNode.getNodeID());
      resync(rmNode.getNodeID());
      throw e;
    }
    if (containers != null && !containers.isEmpty()) {
      recoverContainers(rmNode, containers);
      // The engine knows the room that it had without them, and offers would count on that.
      books.tellRoom(node);
    }
  }

  /** Recovers containers one by one: an error with one must not cost the others. */
  private void recoverContainers(RMNode rmNode, List<NMContainerStatus> containers) {
    for (NMContainerStatus container : containers) {
      try {
        scheduler.recoverContainersOnNode(Collections.singletonList(container), rmNode);
      } catch (RuntimeException e) {
        scheduler.caught("the recovery of " + container.getContainerId(), e);
      }
    }
  }

  /** Makes a node register again, with all its containers. */
  @SuppressWarnings("unchecked")
  void resync(NodeId id) {
    rmContext.getDispatcher().getEventHandler().handle(
        new RMNodeEvent(id, RMNodeEventType.REBOOTING));
  }

  private void add(RMNode rmNode, HeddleNode node) {
    tracker.addNode(node);
    RMNodeLabelsManager labels = rmContext.getNodeLabelManager();
    if (labels != null) {
      // Without this the resources of every label stay 0.
      labels.activateNode(rmNode.getNodeID(), node.getTotalResource());
    }
    if (rmContext.getNodeAttributesManager() != null) {
      rmContext.getNodeAttributesManager().refreshNodeAttributesToScheduler(rmNode.getNodeID());
    }
    node.setLends(lends(node));
    // New nodes and MockNodes may not be RUNNING yet; the first heartbeat corrects it.
    books.nodeAdded(node, schedulable(rmNode));
    LOG.info("Added node {} {}; the cluster has {}", rmNode.getNodeID(),
        node.getTotalResource(), tracker.getClusterCapacity());
  }

  /** Removes a node that left, and completes its containers as lost. */
  void removed(RMNode rmNode) {
    NodeId id = rmNode.getNodeID();
    RMNodeLabelsManager labels = rmContext.getNodeLabelManager();
    if (labels != null) {
      labels.deactivateNode(id);
    }
    HeddleNode node = books.node(id);
    if (node == null) {
      LOG.info("Node {} left but is not known", id);
      if (tracker.exists(id)) {
        tracker.removeNode(id);
      }
      return;
    }
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      scheduler.completedContainer(container,
          SchedulerUtils.createAbnormalContainerStatus(
              container.getContainerId(), SchedulerUtils.LOST_CONTAINER),
          RMContainerEventType.KILL);
      node.releaseContainer(container.getContainerId(), true);
    }
    tracker.removeNode(id);
    books.nodeRemoved(node);
    LOG.info("Removed node {}; the cluster has {}", id, tracker.getClusterCapacity());
  }

  /** Updates the load from outside YARN after a node's report. Never throws. */
  void measured(HeddleNode node, RMNode rmNode) {
    if (!loads) {
      return;
    }
    try {
      ResourceUtilization used = node.getNodeUtilization();
      ResourceUtilization containers = node.getAggregatedContainersUtilization();
      if (used == null || containers == null) {
        return;
      }
      Resource physical = rmNode.getPhysicalResource();
      Resource machine = physical == null ? Resources.none() : physical;
      Resource capacity = node.getTotalResource();
      int load = Native.foreignLoad(node.toldLoad(), used.getPhysicalMemory(), used.getCPU(),
          containers.getPhysicalMemory(), containers.getCPU(), machine.getMemorySize(),
          machine.getVirtualCores(), capacity.getMemorySize(), capacity.getVirtualCores());
      if (load >= 0) {
        books.nodeLoad(node, load);
      }
    } catch (RuntimeException e) {
      if (!loadFailed) {
        LOG.warn("The utilization of node {} cannot be read; nodes are scheduled as if nothing"
            + " else ran there. Further failures are not logged", rmNode.getNodeID(), e);
      }
      loadFailed = true;
    }
  }

  /** Tells the engine a capacity that an administrator or decommissioning changed. */
  void resourceChanged(RMNode rmNode) {
    HeddleNode node = books.node(rmNode.getNodeID());
    if (node != null) {
      books.nodeChanged(node, schedulable(rmNode));
    }
  }

  /** Takes over new labels of nodes, some of which may not have joined. */
  void labelsChanged(Map<NodeId, Set<String>> nodeLabels) {
    Set<String> touched = new HashSet<>();
    for (Map.Entry<NodeId, Set<String>> entry : nodeLabels.entrySet()) {
      HeddleNode node = books.node(entry.getKey());
      Set<String> labels = entry.getValue();
      String to = labels.isEmpty() ? CommonNodeLabelsManager.NO_LABEL : labels.iterator().next();
      // YARN repeats a node's labels whenever it registers, and the tracker files a joining node
      // under its label. Without a change there is nothing to do.
      if (node == null || node.getPartition().equals(to)) {
        continue;
      }
      String from = node.getPartition();
      // NO_LABEL counts too: the tracker files nodes under it.
      touched.add(from);
      touched.add(to);
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        HeddleAppAttempt attempt =
            scheduler.getApplicationAttempt(container.getApplicationAttemptId());
        if (attempt != null) {
          attempt.partitionChanged(container, from, to);
        }
      }
      node.updateLabels(labels);
      node.setLends(lends(node));
      books.nodeChanged(node, schedulable(node.getRMNode()));
    }
    refreshPartitions(touched);
  }

  /** Returns whether a node's label is non-exclusive. */
  private boolean lends(HeddleNode node) {
    RMNodeLabelsManager labels = rmContext.getNodeLabelManager();
    try {
      return labels != null && !labels.isExclusiveNodeLabel(node.getPartition());
    } catch (IOException e) {
      LOG.warn("Label {} of node {} counts as exclusive: {}", node.getPartition(),
          node.getNodeID(), e.getMessage());
      return false;
    }
  }

  /** Files the nodes of these labels again, so that the tracker finds them when they leave. */
  private void refreshPartitions(Set<String> labels) {
    for (String label : labels) {
      Set<NodeId> members = new HashSet<>();
      for (int id = 0; id < books.nodesEnd(); id++) {
        HeddleNode node = books.node(id);
        if (node != null && node.getPartition().equals(label)) {
          members.add(node.getNodeID());
        }
      }
      tracker.updateNodesPerPartition(label, members);
    }
  }

  /** Takes over new attributes of nodes. */
  void attributesChanged(Map<String, Set<NodeAttribute>> byHost) {
    for (Map.Entry<String, Set<NodeAttribute>> entry : byHost.entrySet()) {
      for (NodeId id : tracker.getNodeIdsByResourceName(entry.getKey())) {
        SchedulerNode node = tracker.getNode(id);
        if (node != null) {
          node.updateNodeAttributes(entry.getValue());
        }
      }
    }
  }
}
