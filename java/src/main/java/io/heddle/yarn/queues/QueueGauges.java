package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.heddle.yarn.engine.Names;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.MetricsException;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FSQueueMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes the metrics of queues and sets them to what the engine says. They are YARN's own: those of
 * the Capacity Scheduler with its file, else those of the Fair Scheduler. YARN's books of
 * applications and containers keep what all schedulers have.
 */
public final class QueueGauges {
  /** Whether queues also keep metrics per user, which doubles the cost of metrics. */
  public static final String USER_METRICS_PROPERTY = "heddle.user-metrics.enable";

  private static final Logger LOG = LoggerFactory.getLogger(QueueGauges.class);

  private final Configuration conf;
  private final boolean capacity;
  private final boolean perUser;
  private final Names names;
  // The names of metrics whose queue's own name was taken, by its path.
  private final Map<String, String> renamed = new ConcurrentHashMap<>();

  /**
   * Makes no metrics yet.
   *
   * @param capacity whether they are those of the Capacity Scheduler
   * @param perUser whether there are metrics per user, if yarn-site.xml does not say
   */
  public QueueGauges(Configuration conf, boolean capacity, boolean perUser, Names names) {
    this.conf = conf;
    this.capacity = capacity;
    this.perUser = conf.getBoolean(USER_METRICS_PROPERTY, perUser);
    this.names = names;
  }

  /**
   * Makes the metrics of a queue. The engine has the queue by now, so this must not fail: a source
   * whose name is taken gets another one.
   */
  QueueMetrics make(String path, HeddleQueue parent) {
    String name = nameOf(path);
    for (int more = 1; ; more++) {
      try {
        QueueMetrics metrics = capacity ? CSQueueMetrics.forQueue(name, parent, perUser, conf)
            : FSQueueMetrics.forQueue(name, parent, perUser, conf);
        if (more > 1) {
          renamed.put(path, name);
        }
        return metrics;
      } catch (MetricsException e) {
        String next = nameOf(path) + '~' + more;
        LOG.warn("Queue {} has its metrics as {}: {}", path, next, e.getMessage());
        name = next;
      }
    }
  }

  /** Returns the name of a queue's metrics, in which these characters would end a part. */
  private static String nameOf(String path) {
    return path.indexOf(',') < 0 && path.indexOf('=') < 0 ? path
        : path.replace(",", "%2C").replace("=", "%3D");
  }

  /** Sets the metrics of all queues in the last snapshot. Call it without the scheduler's lock. */
  void show(QueueTable table) {
    for (QueueView view : table.snapshot().all()) {
      HeddleQueue queue = table.get(view.path);
      if (queue != null) {
        queue.show(view);
      }
    }
  }

  /**
   * Sets the metrics of one queue.
   *
   * @param metered the users with metrics in this queue
   */
  void show(QueueMetrics metrics, QueueView view, Set<String> metered) {
    if (capacity) {
      show((CSQueueMetrics) metrics, view);
      if (view.leaf) {
        showMasters((CSQueueMetrics) metrics, view, metered);
      }
    } else {
      show((FSQueueMetrics) metrics, view);
    }
  }

  private static void show(FSQueueMetrics metrics, QueueView view) {
    JsonNode queue = view.described;
    Resource share = QueueView.resource(
        queue.path(queue.has("share_now") ? "share_now" : "fair_share"), 0);
    metrics.setFairShare(share);
    metrics.setSteadyFairShare(queue.has("steady_share")
        ? QueueView.resource(queue.path("steady_share"), 0) : share);
    metrics.setMinShare(QueueView.resource(queue.path("min_share"), 0));
    metrics.setMaxShare(QueueView.resource(queue.path("max_limit"), Long.MAX_VALUE));
    metrics.setMaxApps(view.maxRunningJobs);
    metrics.setSchedulingPolicy(queue.path("scheduling_policy").textValue());
    if (view.leaf) {
      metrics.setMaxAMShare(QueueView.resource(queue.path("am_limit"), 0));
      metrics.setAMResourceUsage(QueueView.resource(queue.path("am_used"), 0));
    }
  }

  private static void show(CSQueueMetrics metrics, QueueView view) {
    JsonNode capacities = view.described.path("capacities");
    metrics.setGuaranteedCapacities(null, number(capacities, "guaranteed_part"),
        number(capacities, "guaranteed_part_of_cluster"));
    metrics.setMaxCapacities(null, number(capacities, "maximum_part"),
        number(capacities, "maximum_part_of_cluster"));
    metrics.setUsedCapacity(null, number(capacities, "used_part"));
    metrics.setAbsoluteUsedCapacity(null, number(capacities, "used_part_of_cluster"));
    metrics.setGuaranteedResources(null, QueueView.resource(capacities.path("guaranteed"), 0));
    metrics.setMaxCapacityResources(null, QueueView.resource(capacities.path("maximum"), 0));
    // The scheduler sets that of root.
    if (view.parent != null) {
      metrics.setAvailableResourcesToQueue(CommonNodeLabelsManager.NO_LABEL,
          QueueView.resource(capacities.path("available"), 0));
    }
  }

  private void showMasters(CSQueueMetrics metrics, QueueView view, Set<String> metered) {
    JsonNode queue = view.described;
    // Where memory alone counts, YARN's calculator gives any memory one vcore.
    metrics.setAMResouceLimit(null, QueueView.resource(queue.path("am_limit"), 1));
    if (!perUser) {
      setMasters(metrics, null, metrics, QueueView.resource(queue.path("am_used"), 0));
      return;
    }
    Map<String, JsonNode> rows = new HashMap<>();
    queue.path("users").forEach(row -> rows.put(names.users.name(row.path("user").asInt()), row));
    for (String user : metered) {
      JsonNode row = rows.getOrDefault(user, MissingNode.getInstance());
      CSQueueMetrics own = (CSQueueMetrics) metrics.getUserMetrics(user);
      own.setAMResouceLimit(null, QueueView.resource(row.path("masters_limit"), 0));
      metrics.setAvailableResourcesToUser(CommonNodeLabelsManager.NO_LABEL, user,
          QueueView.resource(row.path("headroom"), 0));
      setMasters(metrics, user, own, QueueView.resource(row.path("masters_used"), 0));
    }
  }

  /** YARN's metrics take differences only, and add those of a user to the queue's. */
  private static void setMasters(
      CSQueueMetrics metrics, String user, CSQueueMetrics shown, Resource used) {
    metrics.incAMUsed(null, user, Resource.newInstance(
        used.getMemorySize() - shown.getUsedAMResourceMB(),
        (int) (used.getVirtualCores() - shown.getUsedAMResourceVCores())));
  }

  private static float number(JsonNode from, String key) {
    return (float) from.path(key).asDouble();
  }

  /**
   * Removes a removed queue's metrics from YARN's tables: its own, those by partition and those of
   * users.
   */
  void remove(String path, QueueMetrics metrics, Collection<String> users) {
    String other = renamed.remove(path);
    String name = other == null ? nameOf(path) : other;
    String source = Sources.of(name);
    String parts = source.substring(source.indexOf(','));
    synchronized (QueueMetrics.class) {
      QueueMetrics.getQueueMetrics().remove(name, metrics);
      unregister(source, users);
      for (String partition : names.partitions.names()) {
        boolean none = partition.equals(CommonNodeLabelsManager.NO_LABEL);
        QueueMetrics.getQueueMetrics().remove((none ? QueueMetrics.DEFAULT_PARTITION : partition)
            + QueueMetrics.METRIC_NAME_DELIMITER + name);
        unregister("PartitionQueueMetrics,partition=" + partition + parts, users);
      }
    }
  }

  private static void unregister(String source, Collection<String> users) {
    DefaultMetricsSystem.instance().unregisterSource(source);
    for (String user : users) {
      DefaultMetricsSystem.instance().unregisterSource(source + ",user=" + user);
    }
  }

  boolean perUser() {
    return perUser;
  }

  /** Exposes YARN's protected method that names metrics sources. */
  private static final class Sources extends QueueMetrics {
    private Sources() {
      super(null, "", null, false, new Configuration(false));
    }

    static String of(String path) {
      return sourceName(path).toString();
    }
  }
}
