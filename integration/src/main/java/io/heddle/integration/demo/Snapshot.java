/*
 * The state of the cluster at one moment, read from the ResourceManager: for each queue its share,
 * its running and pending containers, and their locality. Uses only answers of every scheduler.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.MiniCluster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;

/** The data of a picture. */
final class Snapshot {
  /** One leaf queue. */
  static final class Queue {
    final String path;
    /** The part of the cluster's memory that it uses, 0 to 1. */
    double used;
    /** The part of the cluster's memory that it is entitled to, 0 to 1. */
    double entitled;
    long running;
    long pending;
    /** Containers on the host asked for, on its rack, elsewhere. */
    final int[] localities = new int[3];

    Queue(String path) {
      this.path = path;
    }
  }

  private final List<Queue> queues;
  private final double used;
  private final long running;
  private final long pending;

  Snapshot(List<Queue> queues, double used) {
    this.queues = queues;
    this.used = used;
    this.running = queues.stream().mapToLong(queue -> queue.running).sum();
    this.pending = queues.stream().mapToLong(queue -> queue.pending).sum();
  }

  List<Queue> queues() {
    return queues;
  }

  /** Returns the used part of the cluster's memory, 0 to 1. */
  double used() {
    return used;
  }

  long running() {
    return running;
  }

  long pending() {
    return pending;
  }

  /** Reads the active ResourceManager. */
  static Snapshot take(MiniCluster cluster, Applications applications) throws IOException {
    AbstractYarnScheduler<?, ?> scheduler = (AbstractYarnScheduler<?, ?>) cluster.scheduler();
    double capacityMb = Math.max(1, scheduler.getClusterResource().getMemorySize());
    Map<String, Queue> queues = new TreeMap<>();
    collect(scheduler.getQueueInfo("root", true, true), "", capacityMb, queues);
    for (RMApp app : cluster.resourceManager().getRMContext().getRMApps().values()) {
      Queue queue = find(queues, app.getQueue());
      if (queue != null) {
        int[] counts = applications.localities(app.getApplicationId());
        for (int i = 0; i < counts.length; i++) {
          queue.localities[i] += counts[i];
        }
      }
    }
    double used = applications.used().getMemorySize() / capacityMb;
    return new Snapshot(new ArrayList<>(queues.values()), used);
  }

  /** Finds a queue: some schedulers name it by its path, others by its last part. */
  private static Queue find(Map<String, Queue> queues, String name) {
    Queue exact = queues.get(name);
    return exact != null ? exact : queues.get("root." + name);
  }

  private static void collect(
      QueueInfo info, String parent, double capacityMb, Map<String, Queue> into) {
    String name = info.getQueueName();
    String path = parent.isEmpty() || name.startsWith(parent) ? name : parent + "." + name;
    if (info.getChildQueues() != null && !info.getChildQueues().isEmpty()) {
      info.getChildQueues().forEach(child -> collect(child, path, capacityMb, into));
      return;
    }
    if (parent.isEmpty()) {
      return;
    }
    Queue queue = new Queue(path);
    QueueStatistics statistics = info.getQueueStatistics();
    queue.entitled = info.getCapacity();
    queue.used = statistics.getAllocatedMemoryMB() / capacityMb;
    queue.running = statistics.getAllocatedContainers();
    queue.pending = statistics.getPendingContainers();
    into.put(path, queue);
  }
}
