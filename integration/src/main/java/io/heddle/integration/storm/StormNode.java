/*
 * The ResourceManager's view of one NodeManager: a real RMNodeImpl, a new one whenever the node
 * comes back, and the containers that the machine would be running.
 */
package io.heddle.integration.storm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStartedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStatusEvent;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/** A node. One thread sends its heartbeats; others launch containers on it. */
final class StormNode {
  static final int MEMORY_MB = 16 * 1024;
  private static final int VCORES = 32;
  /** A container ends at a heartbeat with a chance of one in this number. */
  private static final int LIFETIME = 6;

  final String host;
  final String rack;
  final NodeId id;
  private final RMContext context;
  private final Map<ContainerId, Container> running = new ConcurrentHashMap<>();
  private volatile RMNodeImpl rmNode;

  StormNode(RMContext context, String host, String rack) {
    this.context = context;
    this.host = host;
    this.rack = rack;
    this.id = NodeId.newInstance(host, 8041);
  }

  RMNodeImpl rmNode() {
    return rmNode;
  }

  /** Returns whether the ResourceManager has it among its nodes. */
  boolean isMember() {
    return context.getRMNodes().get(id) == rmNode;
  }

  /** Registers as a new NodeManager. */
  void register() {
    running.clear();
    rmNode = make(context, host, rack, id);
    context.getRMNodes().put(id, rmNode);
    rmNode.handle(new RMNodeStartedEvent(
        id, Collections.emptyList(), Collections.emptyList(), status(Collections.emptyList(), "")));
  }

  static RMNodeImpl make(RMContext context, String host, String rack, NodeId id) {
    return new RMNodeImpl(id, context, host, 8041, 8042, new NodeBase(host, rack),
        Resource.newInstance(MEMORY_MB, VCORES), "storm");
  }

  /** Sends an event to the ResourceManager's record of this node. */
  void tell(RMNodeEventType type) {
    rmNode.handle(new RMNodeEvent(id, type));
  }

  NodeState state() {
    return rmNode.getState();
  }

  /** Starts a container; does nothing on a node that left. */
  void launch(Container container) {
    if (isMember()) {
      running.put(container.getId(), container);
    }
  }

  /** Sends a heartbeat in which some containers ended, or all if {@code all}. */
  void beat(Random random, boolean all, String ill) {
    List<ContainerStatus> statuses = new ArrayList<>(running.size());
    for (Container container : running.values()) {
      ApplicationId application =
          container.getId().getApplicationAttemptId().getApplicationId();
      boolean gone = !context.getRMApps().containsKey(application);
      boolean master = container.getId().getContainerId() == 1;
      boolean ends = gone || all || random.nextInt(master ? 400 : LIFETIME) == 0;
      statuses.add(BuilderUtils.newContainerStatus(container.getId(),
          ends ? ContainerState.COMPLETE : ContainerState.RUNNING, "",
          random.nextInt(10) == 0 ? 1 : 0, container.getResource()));
      if (ends) {
        running.remove(container.getId());
      }
    }
    try {
      rmNode.handle(new RMNodeStatusEvent(id, status(statuses, ill)));
    } catch (NullPointerException e) {
      // Hadoop's record of a decommissioning node fails while the scheduler does not know the node.
      // In a ResourceManager the dispatcher logs that and continues.
      if (!e.getStackTrace()[0].getMethodName().equals("hasScheduledAMContainers")) {
        throw e;
      }
    }
  }

  private NodeStatus status(List<ContainerStatus> statuses, String ill) {
    return NodeStatus.newInstance(id, 0, statuses, Collections.emptyList(),
        NodeHealthStatus.newInstance(ill.isEmpty(), ill, 0), idle(), idle(),
        Collections.emptyList());
  }

  private static ResourceUtilization idle() {
    return ResourceUtilization.newInstance(0, 0, 0f);
  }

  @Override
  public String toString() {
    return host;
  }
}
