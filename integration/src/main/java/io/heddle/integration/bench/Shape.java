/*
 * The cluster and the settings of one workload, in units that mean the same to every scheduler.
 * SchedulerKind translates them to each scheduler's properties.
 */
package io.heddle.integration.bench;

import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.yarn.api.records.NodeLabel;

/** Cluster size, queues and the locality delay of a workload. */
final class Shape {
  final int nodes;
  final int racks;
  final int nodeMemoryMb;
  final int queues;
  /**
   * Least real time for one round of all node heartbeats, in ms; 0 for no limit. Only workloads
   * with a time-based locality delay are paced: elsewhere no decision depends on real time.
   */
  final int roundMs;
  /** Whether schedulers wait for locality: one round for the node, one more for the rack. */
  final boolean localityDelay;
  /** Limit of all queues together, equal for each, in percent of the cluster; 100 for none. */
  final int limitPercent;
  /** How many of the queues, the last ones, are users' own, which submissions make. */
  final int usersOwn;
  private final boolean large;

  Shape(int nodes, int racks, int nodeMemoryMb, int queues, int roundMs, boolean localityDelay,
      int limitPercent) {
    this(nodes, racks, nodeMemoryMb, queues, roundMs, localityDelay, limitPercent, false);
  }

  private Shape(int nodes, int racks, int nodeMemoryMb, int queues, int roundMs,
      boolean localityDelay, int limitPercent, boolean large) {
    this.nodes = nodes;
    this.racks = racks;
    this.nodeMemoryMb = nodeMemoryMb;
    this.queues = queues;
    this.roundMs = roundMs;
    this.localityDelay = localityDelay;
    this.limitPercent = limitPercent;
    this.large = large;
    this.usersOwn = large ? queues * 2 / 5 : 0;
  }

  /** Makes a cluster whose asks name no place. */
  static Shape anywhere(int nodes, int nodeMemoryMb) {
    return limited(nodes, nodeMemoryMb, 100);
  }

  /** Makes a cluster whose asks name no place and whose queues have limits. */
  static Shape limited(int nodes, int nodeMemoryMb, int limitPercent) {
    return new Shape(
        nodes, Math.max(2, nodes / 25), nodeMemoryMb, QUEUES, 0, false, limitPercent);
  }

  /**
   * Makes a cluster of a large site: racks of forty nodes, and many queues, two of five of them
   * users' own. A tenth of the nodes have labels.
   */
  static Shape large(int nodes, int nodeMemoryMb, int queues) {
    return new Shape(nodes, Math.max(2, nodes / 40), nodeMemoryMb, queues, 0, false, 100, true);
  }

  /** Returns whether nodes have labels. */
  boolean isLabelled() {
    return large;
  }

  /** Returns the label of a node, and of the asks in a queue, of this number; null for none. */
  String label(int index) {
    int kind = index % (LABELLED_OF * LABELS.size());
    return isLabelled() && kind % LABELLED_OF == 0
        ? LABELS.get(kind / LABELLED_OF).getName() : null;
  }

  /** Returns whether an ask without a label may be given a node with this one. */
  static boolean isLent(String label) {
    return LABELS.stream().anyMatch(one -> one.getName().equals(label) && !one.isExclusive());
  }

  /** Returns whether a queue is made by the submissions of its user. */
  boolean isUsersOwn(int queue) {
    return queue >= queues - usersOwn;
  }

  /** Returns the path of a queue. */
  String path(int queue) {
    return "root." + (isUsersOwn(queue) ? user(queue) : queueName(queue));
  }

  /** Returns whether queues have limits. */
  boolean isLimited() {
    return limitPercent < 100;
  }

  /** Returns the limit of one queue. */
  long queueLimitMb() {
    return (long) nodes * nodeMemoryMb / 100 * limitPercent / queues;
  }

  /** Number of queues of every workload; applications are assigned in turn. */
  static final int QUEUES = 10;

  /** One node of this many has a label. */
  private static final int LABELLED_OF = 10;
  static final List<NodeLabel> LABELS = Arrays.asList(
      NodeLabel.newInstance("gpu", true), NodeLabel.newInstance("ssd", false));

  static String queueName(int index) {
    return "q" + index;
  }

  /** Returns the user who submits to a queue. */
  static String user(int queue) {
    return "user" + queue;
  }
}
