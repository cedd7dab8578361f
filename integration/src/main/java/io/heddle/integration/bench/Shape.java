/*
 * The cluster and the settings of one workload, in units that mean the same to every scheduler.
 * SchedulerKind translates them to each scheduler's properties.
 */
package io.heddle.integration.bench;

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

  Shape(int nodes, int racks, int nodeMemoryMb, int queues, int roundMs, boolean localityDelay,
      int limitPercent) {
    this.nodes = nodes;
    this.racks = racks;
    this.nodeMemoryMb = nodeMemoryMb;
    this.queues = queues;
    this.roundMs = roundMs;
    this.localityDelay = localityDelay;
    this.limitPercent = limitPercent;
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

  /** Makes a cluster of a large site: racks of forty nodes, and many queues. */
  static Shape large(int nodes, int nodeMemoryMb, int queues) {
    return new Shape(nodes, Math.max(2, nodes / 40), nodeMemoryMb, queues, 0, false, 100);
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

  static String queueName(int index) {
    return "q" + index;
  }
}
