/*
 * Nodes that send heartbeats, and in the storm also join, leave, change their size and label,
 * become unhealthy, are unknown, or report something unexpected.
 */
package io.heddle.integration.storm;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeDecommissioningEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeResourceUpdateEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;

/** One thread that plays some of the nodes. */
final class NodeStorm extends StormThread {
  /** At least this many nodes stay, so that there is always room to schedule. */
  private static final int MEMBERS_LEAST = 2;

  private final List<StormNode> mine;
  private int next;

  NodeStorm(int number, StormCluster cluster, List<StormNode> mine, long seed) {
    super("nodes-" + number, cluster, Operation.Role.NODE, seed);
    this.mine = mine;
  }

  @Override
  void perform(Operation operation) throws Exception {
    StormNode node = mine.get(next++ % mine.size());
    if (operation != Operation.BEAT) {
      history.note(operation, node);
    }
    if (!node.isMember()) {
      node.register();
      return;
    }
    switch (operation) {
      case BEAT:
        node.beat(random, false, "");
        break;
      case LOSE_NODE:
        leave(node, RMNodeEventType.EXPIRE);
        break;
      case RESTART_NODE:
        // The old one leaves as expired, then the new one registers.
        leave(node, RMNodeEventType.EXPIRE);
        node.register();
        break;
      case DECOMMISSION_NODE:
        leave(node, RMNodeEventType.DECOMMISSION);
        break;
      case DECOMMISSION_SLOWLY:
        if (members() > MEMBERS_LEAST && node.state() == NodeState.RUNNING) {
          node.rmNode().handle(new RMNodeDecommissioningEvent(node.id, 1));
        } else if (node.state() == NodeState.DECOMMISSIONING) {
          node.tell(one(RMNodeEventType.RECOMMISSION, RMNodeEventType.DECOMMISSION));
        }
        break;
      case RESIZE_NODE:
        resize(node);
        break;
      case LABEL_NODE:
        label(node, Collections.singleton(StormCluster.LABEL));
        break;
      case UNLABEL_NODE:
        label(node, Collections.emptySet());
        break;
      case UNHEALTHY_NODE:
        node.beat(random, false, "disks are full");
        break;
      case UNKNOWN_NODE:
        unknown();
        break;
      case NODE_TWICE:
        twice(node);
        break;
      case EXPIRE_CONTAINER:
        // For a container that grew, the expiry of an increase rolls the growth back.
        cluster.handle(new ContainerExpiredSchedulerEvent(anyContainer(),
            Operation.UPDATE_CONTAINER.weight(true) > 0 && random.nextBoolean()));
        break;
      case MARK_CONTAINER:
        mark();
        break;
      default:
        throw new IllegalArgumentException(operation + " is not done by nodes");
    }
  }

  private int members() {
    int members = 0;
    for (StormNode node : mine) {
      members += node.isMember() && node.state() == NodeState.RUNNING ? 1 : 0;
    }
    return members;
  }

  private void leave(StormNode node, RMNodeEventType how) {
    if (members() > MEMBERS_LEAST) {
      node.tell(how);
    }
  }

  /** Sets a size that an administrator may choose, also less than is used, and 0. */
  private void resize(StormNode node) {
    int memoryMb = one(0, 1, 256, 4096, StormNode.MEMORY_MB, StormNode.MEMORY_MB,
        2 * StormNode.MEMORY_MB);
    int vcores = one(0, 1, 32, 32, 32, 64);
    node.rmNode().handle(new RMNodeResourceUpdateEvent(node.id, ResourceOption.newInstance(
        Resource.newInstance(memoryMb, vcores), one(-1, 0, 10))));
  }

  private void label(StormNode node, Set<String> to) throws Exception {
    cluster.labels.replaceLabelsOnNode(
        Collections.<NodeId, Set<String>>singletonMap(node.id, to));
  }

  private void unknown() {
    NodeId id = NodeId.newInstance("10.9.9." + random.nextInt(250), random.nextInt(65_536));
    RMNodeImpl stranger =
        StormNode.make(cluster.harness.context, id.getHost(), "/rack-none", id);
    if (random.nextBoolean()) {
      cluster.handle(new NodeUpdateSchedulerEvent(stranger));
    }
    cluster.handle(new NodeRemovedSchedulerEvent(stranger));
  }

  /** Lets a node join a second time, as after a lost message. */
  private void twice(StormNode node) {
    cluster.post(new NodeAddedSchedulerEvent(node.rmNode()));
  }

  /** Returns a live container of any application, or the id of one that never existed. */
  private ContainerId anyContainer() {
    RMContainer container = anyLive();
    if (container != null) {
      return container.getContainerId();
    }
    StormApp app = anyApp();
    return ContainerId.newContainerId(app == null
        ? org.apache.hadoop.yarn.api.records.ApplicationAttemptId.newInstance(
            cluster.nextApplicationId(), 1) : app.attempt(), random.nextInt());
  }

  private RMContainer anyLive() {
    StormApp app = anyApp();
    SchedulerApplicationAttempt attempt =
        app == null ? null : cluster.scheduler.getApplicationAttempt(app.attempt());
    return attempt == null ? null : one(new java.util.ArrayList<>(attempt.getLiveContainers()));
  }

  private void mark() {
    RMContainer container = anyLive();
    if (container != null) {
      cluster.handle(new ContainerPreemptEvent(container.getApplicationAttemptId(), container,
          one(SchedulerEventType.MARK_CONTAINER_FOR_PREEMPTION,
              SchedulerEventType.MARK_CONTAINER_FOR_KILLABLE,
              SchedulerEventType.MARK_CONTAINER_FOR_NONKILLABLE,
              SchedulerEventType.KILL_RESERVED_CONTAINER)));
    }
  }
}
