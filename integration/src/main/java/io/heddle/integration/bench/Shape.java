/*
 * The cluster and the settings of one workload, in units that mean the same to every scheduler.
 * It does not know any scheduler's property names: SchedulerKind translates.
 */
package io.heddle.integration.bench;

/** Cluster size, queues and the locality delay of a workload. */
final class Shape {
  final int nodes;
  final int racks;
  final int nodeMemoryMb;
  final int queues;
  /**
   * The real time that one round of all node heartbeats takes at least, in ms; 0 = as fast as it
   * goes. Only workloads with a time-based locality delay are paced: elsewhere no decision depends
   * on real time.
   */
  final int roundMs;
  /** Whether schedulers wait for locality: one round for the node, one more for the rack. */
  final boolean localityDelay;
  /** What all queues together may use, in percent of the cluster, each the same; 100 = no limit. */
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

  /** A cluster whose asks name no place. */
  static Shape anywhere(int nodes, int nodeMemoryMb) {
    return limited(nodes, nodeMemoryMb, 100);
  }

  /** The same with queues that may not use all of it. */
  static Shape limited(int nodes, int nodeMemoryMb, int limitPercent) {
    return new Shape(
        nodes, Math.max(2, nodes / 25), nodeMemoryMb, QUEUES, 0, false, limitPercent);
  }

  /** Whether queues have a limit of their own. */
  boolean isLimited() {
    return limitPercent < 100;
  }

  /** What one queue may use at the most. */
  long queueLimitMb() {
    return (long) nodes * nodeMemoryMb / 100 * limitPercent / queues;
  }

  /** Queues of every workload; the applications are dealt to them in turn. */
  static final int QUEUES = 10;

  static String queueName(int index) {
    return "q" + index;
  }
}
