/*
 * The ResourceManager's view of one NodeManager: a real RMNodeImpl plus the containers that the
 * machine would be running. Time is counted in this node's own heartbeats, so that its running
 * containers depend only on what was placed on it.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.net.NodeBase;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStartedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeStatusEvent;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/** A node, its RMNode and its running containers. */
public final class BenchNode {
  /** The lifetime of a container that does not end by itself. */
  public static final int FOREVER = Integer.MAX_VALUE;

  public final String host;
  final String rack;
  public final NodeId id;
  final Resource capacity;
  public final RMNodeImpl rmNode;
  /** Its label, or null. */
  String label;
  private final Map<ContainerId, Running> running = new LinkedHashMap<>();
  private long usedMemoryMb;
  private int usedVcores;
  private boolean memoryOnly;

  private static final class Running {
    final Container container;
    final ContainerStatus status;
    int heartbeatsLeft;

    Running(Container container, int heartbeats) {
      this.container = container;
      this.status = BuilderUtils.newContainerStatus(container.getId(), ContainerState.RUNNING, "",
          0, container.getResource());
      this.heartbeatsLeft = heartbeats;
    }
  }

  /** A machine that has not registered yet. */
  public BenchNode(RMContext context, String host, String rack, Resource capacity) {
    this.host = host;
    this.rack = rack;
    this.capacity = capacity;
    this.id = NodeId.newInstance(host, 8041);
    this.rmNode = new RMNodeImpl(id, context, host, 8041, 8042, new NodeBase(host, rack),
        Resource.newInstance(capacity), "bench");
  }

  /** Registers with the ResourceManager, which posts NODE_ADDED to the dispatcher. */
  public void register() {
    register(Collections.emptyList());
  }

  /** Registers with containers that ran before the ResourceManager did. */
  void register(List<NMContainerStatus> ran) {
    NodeStatus status = NodeStatus.newInstance(id, 0, Collections.emptyList(),
        Collections.emptyList(), healthy(), idle(), idle(), Collections.emptyList());
    rmNode.handle(new RMNodeStartedEvent(id, ran, Collections.emptyList(), status));
  }

  /**
   * Starts a container for its AM. Fails if the containers exceed the machine's capacity: this is
   * the independent check that no node is over-committed.
   */
  public void launch(Container container, int heartbeats) {
    if (running.put(container.getId(), new Running(container, heartbeats)) != null) {
      throw new Violation("container " + container.getId() + " was given out twice");
    }
    usedMemoryMb += container.getResource().getMemorySize();
    usedVcores += container.getResource().getVirtualCores();
    if (usedMemoryMb > capacity.getMemorySize()
        || !memoryOnly && usedVcores > capacity.getVirtualCores()) {
      throw new Violation("node " + host + " is over-committed: " + usedMemoryMb + " MB and "
          + usedVcores + " vcores are running on " + capacity);
    }
  }

  /** Lets containers use more vcores than the machine has. */
  public void countMemoryOnly() {
    memoryOnly = true;
  }

  /** Ends a container's process at the next heartbeat. */
  public void end(ContainerId container) {
    running.get(container).heartbeatsLeft = 0;
  }

  /** Ends a container's process without a report, as when the ResourceManager has it killed. */
  public void kill(ContainerId container) {
    Running process = running.remove(container);
    if (process != null) {
      usedMemoryMb -= process.container.getResource().getMemorySize();
      usedVcores -= process.container.getResource().getVirtualCores();
    }
  }

  int runningContainers() {
    return running.size();
  }

  /** Sends a heartbeat to the ResourceManager, which posts NODE_UPDATE to the dispatcher. */
  public void heartbeat() {
    List<ContainerStatus> statuses = new ArrayList<>(running.size());
    List<ContainerId> ended = new ArrayList<>();
    for (Running process : running.values()) {
      if (process.heartbeatsLeft == 0) {
        ended.add(process.container.getId());
        statuses.add(BuilderUtils.newContainerStatus(process.container.getId(),
            ContainerState.COMPLETE, "", 0, process.container.getResource()));
      } else {
        statuses.add(process.status);
        if (process.heartbeatsLeft != FOREVER) {
          process.heartbeatsLeft--;
        }
      }
    }
    for (ContainerId container : ended) {
      Resource freed = running.remove(container).container.getResource();
      usedMemoryMb -= freed.getMemorySize();
      usedVcores -= freed.getVirtualCores();
    }
    rmNode.handle(new RMNodeStatusEvent(id, NodeStatus.newInstance(id, 0, statuses,
        Collections.emptyList(), healthy(), idle(), idle(), Collections.emptyList())));
  }

  private static NodeHealthStatus healthy() {
    return NodeHealthStatus.newInstance(true, "", 0);
  }

  private static ResourceUtilization idle() {
    return ResourceUtilization.newInstance(0, 0, 0f);
  }
}
