package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.compat.Compat;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * Answers requests of clients, AMs and the web for descriptions and permissions of queues. Reads
 * the last {@link QueueSnapshot} and Hadoop's metrics. Takes no lock and never enters the engine:
 * YARN asks for a queue's description on every AM heartbeat.
 */
public final class QueueReports {
  static final String SCHEDULER_TYPE = "HeddleScheduler";

  private static final boolean EMPTY_MAPS = Compat.writesEmptyMaps();
  private static final boolean VECTORS = Compat.hasCapacityVectors();
  private static final String BELOW_ROOT = "root.";
  /** What the details of a queue are worked out from; `pages/capacity/describe.rs` reads it. */
  private static final String[] DETAILED = {"path", "used", "guaranteed", "max_am_share"};

  private final QueueTable table;
  private final QueueAccess access;
  private final boolean stock;
  private final boolean fair;
  private final Interner users;
  private final Resource configured;
  private volatile JsonNode shown = SetupJson.object();
  private volatile Resource cluster = Resource.newInstance(0, 0);
  private volatile Resource largest = Resource.newInstance(0, 0);

  /**
   * Makes reports without queues.
   *
   * @param alwaysChecksSubmissions also while {@code yarn.acl.enable} is off
   * @param stock whether queues come from a stock scheduler's file; then rights are answered as
   *     by that scheduler
   * @param users the numbers by which the engine knows users
   * @param gauges the metrics of queues
   */
  public QueueReports(Configuration conf, boolean alwaysChecksSubmissions, boolean stock,
      Interner users, QueueGauges gauges) {
    table = new QueueTable(this, gauges);
    access = new QueueAccess(conf, alwaysChecksSubmissions, stock);
    this.stock = stock;
    fair = stock && alwaysChecksSubmissions;
    this.users = users;
    configured = ResourceUtils.fetchMaximumAllocationFromConfig(conf);
  }

  /** Sets what a stock scheduler's file says of the queues. */
  void setStock(JsonNode says) {
    shown = says;
    complete(table.snapshot());
  }

  /** Sets the permissions of a new configuration. */
  void configured(QueueSnapshot queues) {
    access.tell(queues);
  }

  /** Sets the permissions of a queue that a submission made. */
  void made(QueueView queue) {
    access.tell(queue);
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
    ObjectNode all = common(queues);
    ArrayNode rows = all.putArray("queues");
    ObjectNode names = SetupJson.object();
    for (QueueView queue : queues.all()) {
      QueueMetrics metrics = metrics(queue.path);
      rows.addArray().add(queue.described).add(queue.leaf)
          .add(metrics == null ? 0 : metrics.getAppsPending())
          .add(metrics == null ? 0 : metrics.getAppsRunning());
      for (JsonNode user : queue.described.path("users")) {
        names.put(user.path("user").asText(), users.name(user.path("user").asInt()));
      }
    }
    if (stock) {
      ObjectNode says = all.putObject("stock").put("vectors", VECTORS);
      says.setAll((ObjectNode) shown);
      says.set("largest", amounts(configured));
      says.set("users", names);
    }
    return all;
  }

  /** Describes what all queues have in common. */
  private ObjectNode common(QueueSnapshot queues) {
    ObjectNode all = SetupJson.object().put("by_weight", table.sharesByWeight())
        .put("empty_maps", EMPTY_MAPS);
    all.set("policy", queues.reply().get("policy"));
    all.set("capacity", queues.reply().path("cluster").get("capacity"));
    ArrayNode types = all.putArray("types");
    for (ResourceInformation type : largest.getResources()) {
      types.addArray().add(type.getName()).add(type.getUnits())
          .add(type.getResourceType().toString()).add(type.getMinimumAllocation())
          .add(type.getMaximumAllocation());
    }
    all.set("largest", amounts(largest));
    return all;
  }

  private static ObjectNode amounts(Resource resource) {
    ObjectNode amounts = SetupJson.object();
    for (ResourceInformation type : resource.getResources()) {
      amounts.put(type.getName(), type.getValue());
    }
    return amounts;
  }

  /**
   * Describes a queue in a new object, because YARN writes into it. Has only what an AM's heartbeat
   * needs.
   *
   * @param name path, path below root or unique last name
   * @return null if there is no such queue
   */
  QueueInfo brief(String name, boolean includeChildQueues, boolean recursive) {
    QueueView view = table.snapshot().find(name);
    return view == null ? null : tree(view, includeChildQueues, recursive, this::describe);
  }

  /**
   * Describes a queue as {@link #brief} does, with the stock scheduler's details for its file. YARN
   * asks twice in every AM heartbeat, so the answer for one queue looks at no other.
   */
  public QueueInfo info(String name, boolean includeChildQueues, boolean recursive) {
    QueueSnapshot queues = table.snapshot();
    QueueView view = queues.find(name);
    if (view == null || !stock) {
      return view == null ? null : tree(view, includeChildQueues, recursive, this::describe);
    }
    return tree(view, includeChildQueues, recursive, one -> {
      QueueInfo info = describe(one);
      if (fair) {
        QueueDetails.fair(info, one);
      } else {
        QueueDetails.capacity(info, one, details(queues, one));
      }
      return info;
    });
  }

  /** Adds the details of the Capacity Scheduler's file to all queues. */
  void complete(QueueSnapshot next) {
    if (stock && !fair && next.root() != null) {
      for (JsonNode row : askDetails(next, next.all())) {
        next.get(row.path("path").asText()).details = row;
      }
    }
  }

  /**
   * Returns the details of a queue. Those of one that was made since the snapshot come from its
   * branch alone, because its siblings may be many: its part by weight is right from the next
   * snapshot on.
   */
  private JsonNode details(QueueSnapshot queues, QueueView view) {
    if (view.details == null) {
      List<QueueView> branch = new ArrayList<>();
      for (QueueView at = view; at != null; at = at.parent == null ? null : queues.get(at.parent)) {
        branch.add(0, at);
      }
      JsonNode rows = askDetails(queues, branch);
      view.details = rows.path(rows.size() - 1);
    }
    return view.details;
  }

  /** Asks for the details of some queues, of which each stands behind its parent. */
  private JsonNode askDetails(QueueSnapshot queues, Iterable<QueueView> views) {
    ObjectNode asked = common(queues);
    ArrayNode rows = asked.putArray("queues");
    ObjectNode written = SetupJson.object();
    for (QueueView view : views) {
      ObjectNode figures = SetupJson.object();
      for (String key : DETAILED) {
        figures.set(key, view.described.get(key));
      }
      rows.addArray().add(figures).add(view.leaf).add(0).add(0);
      JsonNode settings = shown.path("shown").path("queues").get(view.path);
      if (settings != null) {
        written.set(view.path, settings);
      }
    }
    ObjectNode system = SetupJson.object();
    shown.path("shown").fields().forEachRemaining(one -> system.set(one.getKey(), one.getValue()));
    system.set("queues", written);
    ObjectNode says = asked.putObject("stock").put("vectors", VECTORS).putNull("largest");
    says.putObject("users");
    says.setAll((ObjectNode) shown);
    says.set("shown", system);
    return SetupJson.ask("queue_infos", "queues", asked);
  }

  private static QueueInfo tree(QueueView view, boolean children, boolean recursive,
      Function<QueueView, QueueInfo> describe) {
    QueueInfo info = describe.apply(view);
    if (children) {
      List<QueueInfo> below = new ArrayList<>();
      for (QueueView child : view.children()) {
        below.add(tree(child, recursive, recursive, describe));
      }
      info.setChildQueues(below);
    }
    return info;
  }

  /** Describes a queue, which may have been removed since the snapshot was read. */
  QueueInfo describe(QueueView view) {
    QueueInfo info = Records.newRecord(QueueInfo.class);
    info.setQueueName(view.path);
    float total = cluster.getMemorySize();
    // The share under unlimited demand: the fair share may be no more than the current use.
    float share = view.activeShare.getMemorySize();
    info.setCapacity(total == 0 ? 0 : share / total);
    info.setCurrentCapacity(share == 0 ? 0 : view.used.getMemorySize() / share);
    info.setMaximumCapacity(
        total == 0 ? 1 : Math.min(1f, view.maxShare.getMemorySize() / total));
    info.setQueueState(view.state);
    info.setChildQueues(new ArrayList<QueueInfo>());
    info.setAccessibleNodeLabels(view.labels);
    info.setDefaultNodeLabelExpression(view.defaultLabel);
    QueueMetrics metrics = metrics(view.path);
    info.setQueueStatistics(
        metrics == null ? Records.newRecord(QueueStatistics.class) : statistics(metrics));
    Compat.describeQueue(info, view.path, SCHEDULER_TYPE, view.weight, view.maxRunningJobs);
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
    // An unknown queue: Fair's answer is no; Capacity's is that of its ancestors, for a full path.
    if (stock && known(name) == null && (fair || !name.startsWith(BELOW_ROOT))) {
      return false;
    }
    return access.allows(table.snapshot().pathOf(name), acl, user);
  }

  /** Finds a queue as the stock scheduler of the file does. */
  private QueueView known(String name) {
    QueueSnapshot queues = table.snapshot();
    return fair ? queues.find(name) : queues.named(name);
  }

  /** Returns whether a user may submit to a queue, which need not exist. */
  public boolean maySubmit(String name, UserGroupInformation user) {
    return access.allowsSubmission(table.snapshot().pathOf(name), user);
  }

  /**
   * Returns the largest container that may be asked for in a queue.
   *
   * @param most the cluster's
   */
  public Resource largestContainer(String name, Resource most) {
    QueueView view = table.snapshot().find(name);
    return view == null ? most : Resources.componentwiseMin(most, view.maxContainer);
  }

  /** Returns the node labels that requests of a queue may name. */
  Set<String> labels(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null ? QueueView.ALL_LABELS : view.labels;
  }

  /** Returns the label of requests that name none, or null. */
  String defaultLabel(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null ? null : view.defaultLabel;
  }

  /** Returns the engine's description of a queue; an empty object if there is none. */
  public JsonNode described(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null ? SetupJson.object() : view.described;
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
