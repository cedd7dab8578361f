package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.compat.Compat;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.util.Records;

/**
 * Answers requests of clients, AMs and the web for descriptions and permissions of queues. Reads
 * the last {@link QueueSnapshot} and Hadoop's metrics. Takes no lock and never enters the engine:
 * YARN asks for a queue's description on every AM heartbeat.
 */
public final class QueueReports {
  static final String SCHEDULER_TYPE = "HeddleScheduler";
  private static final Set<String> ALL_LABELS =
      Collections.singleton(CommonNodeLabelsManager.ANY);

  private static final boolean EMPTY_MAPS = Compat.writesEmptyMaps();

  private final QueueTable table;
  private final QueueAccess access;
  private volatile Resource cluster = Resource.newInstance(0, 0);
  private volatile Resource largest = Resource.newInstance(0, 0);

  public QueueReports(Configuration conf) {
    table = new QueueTable(this, conf);
    access = new QueueAccess(conf);
  }

  /** Sets the permissions of a new configuration. */
  void configured(QueueSnapshot queues) {
    access.tell(queues);
  }

  /** Returns the table of queues. */
  public QueueTable table() {
    return table;
  }

  /** Sets the cluster's capacity and the largest container that may be asked for. */
  public void setCluster(Resource capacity, Resource largestContainer) {
    cluster = capacity;
    largest = largestContainer;
  }

  /** Returns the last snapshot of all queues. */
  public QueueSnapshot snapshot() {
    return table.snapshot();
  }

  /** Returns the metrics of a queue, or null if there never was one of this path. */
  public QueueMetrics metrics(String path) {
    HeddleQueue queue = table.get(path);
    return queue == null ? null : queue.getMetrics();
  }

  /** Describes all queues for the library's pages: in the engine's words and by YARN's metrics. */
  public ObjectNode describe() {
    QueueSnapshot queues = table.snapshot();
    ObjectNode all = SetupJson.object().put("by_weight", table.sharesByWeight())
        .put("empty_maps", EMPTY_MAPS);
    all.set("policy", queues.reply().get("policy"));
    all.set("capacity", queues.reply().path("cluster").get("capacity"));
    ArrayNode types = all.putArray("types");
    ObjectNode most = all.putObject("largest");
    for (ResourceInformation type : largest.getResources()) {
      types.addArray().add(type.getName()).add(type.getUnits())
          .add(type.getResourceType().toString()).add(type.getMinimumAllocation())
          .add(type.getMaximumAllocation());
      most.put(type.getName(), type.getValue());
    }
    ArrayNode rows = all.putArray("queues");
    for (QueueView queue : queues.all()) {
      QueueMetrics metrics = metrics(queue.path);
      rows.addArray().add(queue.described).add(queue.leaf)
          .add(metrics == null ? 0 : metrics.getAppsPending())
          .add(metrics == null ? 0 : metrics.getAppsRunning());
    }
    return all;
  }

  /**
   * Describes a queue in a new object, because YARN writes into it.
   *
   * @param name path, path below root or unique last name
   * @return null if there is no such queue
   */
  public QueueInfo info(String name, boolean includeChildQueues, boolean recursive) {
    QueueView view = table.snapshot().find(name);
    if (view == null) {
      return null;
    }
    return includeChildQueues && !view.leaf ? withChildren(view, recursive) : describe(view);
  }

  private QueueInfo withChildren(QueueView view, boolean recursive) {
    List<QueueInfo> children = new ArrayList<>();
    for (QueueView child : view.children()) {
      children.add(recursive && !child.leaf ? withChildren(child, true) : describe(child));
    }
    QueueInfo info = describe(view);
    info.setChildQueues(children);
    return info;
  }

  private QueueInfo describe(QueueView view) {
    QueueInfo info = Records.newRecord(QueueInfo.class);
    info.setQueueName(view.path);
    float total = cluster.getMemorySize();
    // The share under unlimited demand: the fair share may be no more than the current use.
    float share = view.activeShare.getMemorySize();
    info.setCapacity(total == 0 ? 0 : share / total);
    info.setCurrentCapacity(share == 0 ? 0 : view.used.getMemorySize() / share);
    info.setMaximumCapacity(
        total == 0 ? 1 : Math.min(1f, view.maxShare.getMemorySize() / total));
    info.setQueueState(view.draining ? QueueState.DRAINING : QueueState.RUNNING);
    info.setChildQueues(new ArrayList<QueueInfo>());
    info.setAccessibleNodeLabels(ALL_LABELS);
    info.setQueueStatistics(statistics(table.ensure(view.path).getMetrics()));
    Compat.describeQueue(info, view.path, SCHEDULER_TYPE, view.weight,
        view.maxRunningJobs == QueueView.NO_LIMIT ? Integer.MAX_VALUE : view.maxRunningJobs);
    return info;
  }

  private static QueueStatistics statistics(QueueMetrics metrics) {
    QueueStatistics stats = Records.newRecord(QueueStatistics.class);
    stats.setNumAppsSubmitted(metrics.getAppsSubmitted());
    stats.setNumAppsRunning(metrics.getAppsRunning());
    stats.setNumAppsPending(metrics.getAppsPending());
    stats.setNumAppsCompleted(metrics.getAppsCompleted());
    stats.setNumAppsKilled(metrics.getAppsKilled());
    stats.setNumAppsFailed(metrics.getAppsFailed());
    stats.setNumActiveUsers(metrics.getActiveUsers());
    stats.setAvailableMemoryMB(metrics.getAvailableMB());
    stats.setAllocatedMemoryMB(metrics.getAllocatedMB());
    stats.setPendingMemoryMB(metrics.getPendingMB());
    stats.setReservedMemoryMB(metrics.getReservedMB());
    stats.setAvailableVCores(metrics.getAvailableVirtualCores());
    stats.setAllocatedVCores(metrics.getAllocatedVirtualCores());
    stats.setPendingVCores(metrics.getPendingVirtualCores());
    stats.setReservedVCores(metrics.getReservedVirtualCores());
    stats.setPendingContainers(metrics.getPendingContainers());
    stats.setAllocatedContainers(metrics.getAllocatedContainers());
    stats.setReservedContainers(metrics.getReservedContainers());
    return stats;
  }

  /**
   * Returns whether a user has a permission in a queue. The queue need not exist: permissions in
   * its ancestors still cover the applications of a removed queue.
   */
  public boolean hasAccess(String name, QueueACL acl, UserGroupInformation user) {
    return access.allows(table.snapshot().pathOf(name), acl, user);
  }

  /** Returns all permissions of a user in a queue. */
  QueueUserACLInfo userAcl(String path, UserGroupInformation user) {
    EnumSet<QueueACL> rights = EnumSet.noneOf(QueueACL.class);
    for (QueueACL acl : QueueACL.values()) {
      if (hasAccess(path, acl, user)) {
        rights.add(acl);
      }
    }
    return QueueUserACLInfo.newInstance(path, new ArrayList<>(rights));
  }

  /** Returns the permissions of a user in every queue. */
  public List<QueueUserACLInfo> userAcls(UserGroupInformation user) {
    List<QueueUserACLInfo> rights = new ArrayList<>();
    for (QueueView queue : table.snapshot().all()) {
      rights.add(userAcl(queue.path, user));
    }
    return rights;
  }
}
