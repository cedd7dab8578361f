/*
 * Compares all books while nothing happens: the engine's with Java's (the audit), and Java's own
 * with each other: nodes, attempts, metrics of queues.
 */
package io.heddle.integration.storm;

import io.heddle.yarn.queues.QueueView;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.util.resource.Resources;

/** Compares books. Called while the storm is paused. */
final class Books {
  private final StormCluster cluster;
  private final History history;
  private final Map<NodeId, Resource> byNode = new HashMap<>();
  private final Map<String, Resource> byQueue = new HashMap<>();
  private final Map<String, Integer> containersByQueue = new HashMap<>();

  Books(StormCluster cluster) {
    this.cluster = cluster;
    this.history = cluster.history;
  }

  void compare() {
    byNode.clear();
    byQueue.clear();
    containersByQueue.clear();
    String audit = cluster.scheduler.inspection().differences();
    if (audit != null) {
      differ("the engine's books differ from Java's: " + audit);
    }
    for (SchedulerApplication<? extends SchedulerApplicationAttempt> application
        : cluster.scheduler.getSchedulerApplications().values()) {
      SchedulerApplicationAttempt attempt = application.getCurrentAppAttempt();
      if (attempt != null) {
        add(application.getQueue().getQueueName(), attempt);
      }
    }
    compareNodes();
    compareQueues();
    for (StormApp app : cluster.apps.values()) {
      if (app.answer == StormApp.Answer.NONE) {
        differ(app.getApplicationId() + " is neither accepted nor rejected");
      }
    }
  }

  private void add(String queue, SchedulerApplicationAttempt attempt) {
    Resource sum = Resource.newInstance(0, 0);
    for (RMContainer container : attempt.getLiveContainers()) {
      if (container.getExecutionType() != ExecutionType.GUARANTEED) {
        continue;
      }
      Resource size = container.getContainer().getResource();
      Resources.addTo(sum, size);
      Resources.addTo(byNode.computeIfAbsent(
          container.getContainer().getNodeId(), id -> Resource.newInstance(0, 0)), size);
      SchedulerNode node = cluster.scheduler.getSchedulerNode(container.getContainer().getNodeId());
      if (node == null) {
        differ(container.getContainerId() + " lives on " + container.getContainer().getNodeId()
            + ", which is not a node");
      } else if (node.getPartition().isEmpty()) {
        // Hadoop counts containers of other labels apart from a queue's own.
        containersByQueue.merge(queue, 1, Integer::sum);
        Resources.addTo(
            byQueue.computeIfAbsent(queue, name -> Resource.newInstance(0, 0)), size);
      }
    }
    equal("used by " + attempt.getApplicationAttemptId(), sum,
        attempt.getAppAttemptResourceUsage().getAllUsed());
  }

  private void compareNodes() {
    for (StormNode known : cluster.nodes) {
      SchedulerNode node = cluster.scheduler.getSchedulerNode(known.id);
      if (node == null) {
        continue;
      }
      Resource live = byNode.getOrDefault(known.id, Resource.newInstance(0, 0));
      Resource used = Resource.newInstance(0, 0);
      for (RMContainer container : node.getCopiedListOfRunningContainers()) {
        if (container.getExecutionType() == ExecutionType.GUARANTEED) {
          Resources.addTo(used, container.getContainer().getResource());
        }
      }
      equal("allocated on " + known, used, node.getAllocatedResource());
      // A released container keeps its room until its node reports its end.
      if (!Resources.fitsIn(live, used)) {
        differ(known + " holds " + used + ", and " + live + " live there");
      }
      equal("free and allocated on " + known, node.getTotalResource(),
          Resources.add(node.getUnallocatedResource(), node.getAllocatedResource()));
    }
  }

  private void compareQueues() {
    for (QueueView queue : allQueues()) {
      QueueMetrics metrics = cluster.scheduler.queueReports().metrics(queue.path);
      if (metrics == null) {
        continue;
      }
      if (queue.leaf) {
        Resource used = byQueue.getOrDefault(queue.path, Resource.newInstance(0, 0));
        equal("allocated in " + queue.path, used, Resource.newInstance(
            metrics.getAllocatedMB(), metrics.getAllocatedVirtualCores()));
        int containers = containersByQueue.getOrDefault(queue.path, 0);
        if (containers != metrics.getAllocatedContainers()) {
          differ("containers in " + queue.path + ": " + containers + " live, "
              + metrics.getAllocatedContainers() + " in the metrics");
        }
      }
      notNegative(queue.path + " allocated MB", metrics::getAllocatedMB);
      notNegative(queue.path + " allocated containers", metrics::getAllocatedContainers);
      notNegative(queue.path + " pending MB", metrics::getPendingMB);
      notNegative(queue.path + " running applications", metrics::getAppsRunning);
      notNegative(queue.path + " pending applications", metrics::getAppsPending);
      notNegative(queue.path + " active users", metrics::getActiveUsers);
      notNegative(queue.path + " reserved containers", metrics::getReservedContainers);
    }
  }

  /** Checks that everything is zero after the last application. */
  void compareWithNothing() {
    compare();
    if (!cluster.scheduler.getSchedulerApplications().isEmpty()) {
      differ("all applications ended, and the scheduler keeps "
          + cluster.scheduler.getSchedulerApplications().keySet());
    }
    for (StormNode known : cluster.nodes) {
      SchedulerNode node = cluster.scheduler.getSchedulerNode(known.id);
      if (node != null && known.isMember() && (node.getNumContainers() != 0
          || !Resources.none().equals(node.getAllocatedResource()))) {
        differ("all applications ended, and " + known + " holds " + node.getAllocatedResource()
            + " in " + node.getNumContainers() + " containers");
      }
    }
    for (QueueView queue : allQueues()) {
      QueueMetrics metrics = cluster.scheduler.queueReports().metrics(queue.path);
      if (metrics != null) {
        zero(queue.path + " allocated containers", metrics::getAllocatedContainers);
        zero(queue.path + " allocated MB", metrics::getAllocatedMB);
        zero(queue.path + " allocated vcores", metrics::getAllocatedVirtualCores);
        zero(queue.path + " pending MB", metrics::getPendingMB);
        zero(queue.path + " pending vcores", metrics::getPendingVirtualCores);
        zero(queue.path + " pending containers", metrics::getPendingContainers);
        zero(queue.path + " pending applications", metrics::getAppsPending);
        zero(queue.path + " running applications", metrics::getAppsRunning);
        zero(queue.path + " active users", metrics::getActiveUsers);
        zero(queue.path + " active applications", metrics::getActiveApps);
      }
    }
  }

  private List<QueueView> allQueues() {
    List<QueueView> all = new ArrayList<>();
    all.add(cluster.scheduler.queueReports().snapshot().root());
    for (int n = 0; n < all.size(); n++) {
      all.addAll(all.get(n).children());
    }
    return all;
  }

  private void zero(String what, LongSupplier figure) {
    if (figure.getAsLong() != 0) {
      differ("all applications ended, and " + what + " is " + figure.getAsLong());
    }
  }

  private void notNegative(String what, LongSupplier figure) {
    if (figure.getAsLong() < 0) {
      differ(what + " is " + figure.getAsLong());
    }
  }

  private void equal(String what, Resource live, Resource booked) {
    if (!live.equals(booked)) {
      differ(what + ": " + live + " by the containers that live, " + booked + " in the books");
    }
  }

  private void differ(String what) {
    history.violation(what, null);
  }
}
