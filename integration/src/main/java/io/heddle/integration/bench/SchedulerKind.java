/*
 * The schedulers of the bench and their settings. Every choice that could favour one of them is
 * made here, with its reason.
 *
 * Common to all: leaf queues of equal weight (ten but with --scale), one user each, no limit on
 * applications or AMs, no preemption, and memory as the only scarce resource. Update threads sleep:
 * the driver calls update() in their place.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.StringJoiner;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** One scheduler under measurement: its name in the tables, its class and its settings. */
enum SchedulerKind {
  /** YARN's bookkeeping alone: the lower bound of the cost of any scheduler. */
  STUB("stub", BookkeepingScheduler.class.getName(), SchedulerKind::stub),

  /**
   * Stock FairScheduler: assignmultiple without the dynamic half-node limit, so that a heartbeat
   * may fill the node, as for all others. Reservations stay as they are by default.
   */
  FAIR("fair", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
      SchedulerKind::fair),

  /**
   * Stock CapacityScheduler, driven by heartbeats, with multiple assignments and without its limit
   * of one off-switch container per heartbeat, which asks without a place would reach at once.
   */
  CAPACITY("capacity", SchedulerKind.CAPACITY_CLASS,
      (conf, shape, policy, folder) -> capacity(conf, shape, false)),

  /** The stock FairScheduler with a journal, to measure the recording. */
  FAIR_RECORDING("fair-rec", "io.heddle.yarn.recording.RecordingFairScheduler",
      (conf, shape, policy, folder) -> {
        fair(conf, shape, policy, folder);
        record(conf, folder);
      }),

  /** The stock CapacityScheduler with a journal, to measure the recording. */
  CAPACITY_RECORDING("capacity-rec", "io.heddle.yarn.recording.RecordingCapacityScheduler",
      (conf, shape, policy, folder) -> {
        capacity(conf, shape, false);
        record(conf, folder);
      }),

  /**
   * CapacityScheduler with asynchronous scheduling, the default in 3.5.0: heartbeats only keep the
   * books, and its own threads place. Their CPU time is added to the heartbeats' time.
   */
  CAPACITY_ASYNC("capacity-async", SchedulerKind.CAPACITY_CLASS,
      (conf, shape, policy, folder) -> capacity(conf, shape, true)),

  /**
   * Heddle with the chosen policy, which grants new asks at once; a heartbeat may fill the node.
   * The thread of its tick sleeps like the others' update threads: the driver's update() is the
   * tick.
   */
  HEDDLE("heddle", SchedulerKind.HEDDLE_CLASS, SchedulerKind::heddle),

  /** Heddle without explanations of decisions, to measure their cost. */
  HEDDLE_UNTRACED("heddle-untraced", SchedulerKind.HEDDLE_CLASS,
      (conf, shape, policy, folder) -> configureHeddle(conf, shape, policy, folder,
          json -> json.putObject("explain").put("entries", 0))),

  /** Heddle without immediate grants, to measure what these cost. */
  HEDDLE_REPORTS("heddle-reports", SchedulerKind.HEDDLE_CLASS,
      (conf, shape, policy, folder) -> {
        heddle(conf, shape, policy, folder);
        conf.setBoolean("heddle.immediate-grants.enable", false);
      }),

  /** Heddle that records its engine in a journal, to measure the cost. */
  HEDDLE_JOURNAL("heddle-journal", SchedulerKind.HEDDLE_CLASS,
      (conf, shape, policy, folder) -> {
        heddle(conf, shape, policy, folder);
        record(conf, folder);
      }),

  /** Heddle with a shadow that has the same configuration, to measure the cost. */
  HEDDLE_SHADOW("heddle-shadow", SchedulerKind.HEDDLE_CLASS,
      (conf, shape, policy, folder) -> {
        heddle(conf, shape, policy, folder);
        conf.set("heddle.shadow", conf.get("heddle.config.file"));
      }),

  /** Heddle with accounts in a store and a user of the API, for {@code --api-load}. */
  HEDDLE_API("heddle-api", SchedulerKind.HEDDLE_CLASS,
      (conf, shape, policy, folder) -> {
        Path acl = ApiClient.writeAcl(folder);
        configureHeddle(conf, shape, policy, folder, json -> {
          json.putObject("api").put("acl_file", acl.toString()).put("acl_settle_ms", 0);
          json.put("store", "sqlite:" + folder.resolve("economy"));
        });
      });

  private static final String CAPACITY_CLASS =
      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";
  private static final String CAPACITY_PREFIX = "yarn.scheduler.capacity.";
  private static final String HEDDLE_CLASS = "io.heddle.yarn.HeddleScheduler";

  final String label;
  final String className;
  private final Settings settings;

  /** A scheduler's own settings. */
  private interface Settings {
    void write(Configuration conf, Shape shape, HeddlePolicy policy, Path folder)
        throws IOException;
  }

  SchedulerKind(String label, String className, Settings settings) {
    this.label = label;
    this.className = className;
    this.settings = settings;
  }

  /**
   * Writes this scheduler's own settings into {@code conf}, its files into {@code folder}.
   *
   * @param policy Heddle's policy
   */
  void configure(Configuration conf, Shape shape, HeddlePolicy policy, Path folder)
      throws IOException {
    settings.write(conf, shape, policy, folder);
  }

  /** Returns whether containers are placed outside {@code handle(NODE_UPDATE)}. */
  boolean asynchronous() {
    return this == CAPACITY_ASYNC;
  }

  /** Returns whether this is Heddle, whose policy limits what it can run. */
  boolean heddle() {
    return label.startsWith(HEDDLE.label);
  }

  /** Returns whether this is one of Hadoop's own schedulers. */
  boolean stock() {
    return this == FAIR || this == CAPACITY;
  }

  static SchedulerKind byLabel(String label) {
    StringJoiner known = new StringJoiner(", ");
    for (SchedulerKind kind : values()) {
      if (kind.label.equals(label)) {
        return kind;
      }
      known.add(kind.label);
    }
    throw new IllegalArgumentException(
        "unknown scheduler '" + label + "'; known are " + known);
  }

  /** Returns the settings of the ResourceManager, which all schedulers share. */
  static Configuration common() {
    Configuration conf = new YarnConfiguration();
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 1024);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 128 * 1024);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES, 1);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES, 256);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
    conf.setBoolean(YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME, false);
    return conf;
  }

  private static void stub(Configuration conf, Shape shape, HeddlePolicy policy, Path folder) {
    conf.setInt(BookkeepingScheduler.QUEUES, shape.queues);
    if (shape.isLimited()) {
      // It has one limit: what all queues together may use.
      conf.setLong(BookkeepingScheduler.LIMIT_MB, shape.queueLimitMb() * shape.queues);
    }
  }

  private static void fair(Configuration conf, Shape shape, HeddlePolicy policy, Path folder)
      throws IOException {
    StringBuilder xml = new StringBuilder("<?xml version=\"1.0\"?>\n<allocations>\n");
    xml.append("<queue name=\"root\">\n");
    for (int q = 0; q < shape.queues; q++) {
      xml.append("<queue name=\"").append(Shape.queueName(q)).append("\">");
      if (shape.isLimited()) {
        xml.append("<maxResources>").append(shape.queueLimitMb())
            .append(" mb, 1000000 vcores</maxResources>");
      }
      xml.append("</queue>\n");
    }
    xml.append("</queue>\n<queueMaxAMShareDefault>-1.0</queueMaxAMShareDefault>\n")
        .append("<queuePlacementPolicy><rule name=\"specified\" create=\"false\"/>")
        .append("<rule name=\"reject\"/></queuePlacementPolicy>\n</allocations>\n");
    Path file = folder.resolve("fair-scheduler.xml");
    Files.write(file, xml.toString().getBytes(StandardCharsets.UTF_8));
    conf.set("yarn.scheduler.fair.allocation.file", file.toString());
    conf.setBoolean("yarn.scheduler.fair.assignmultiple", true);
    conf.setBoolean("yarn.scheduler.fair.dynamic.max.assign", false);
    conf.setInt("yarn.scheduler.fair.max.assign", -1);
    conf.setBoolean("yarn.scheduler.fair.preemption", false);
    conf.setInt("yarn.scheduler.fair.update-interval-ms", Integer.MAX_VALUE);
    conf.setBoolean("yarn.scheduler.fair.user-as-default-queue", false);
    // In missed heartbeats as a fraction of the cluster: 1.0 is one round of all nodes.
    float round = shape.localityDelay ? 1.0f : -1.0f;
    conf.setFloat("yarn.scheduler.fair.locality.threshold.node", round);
    conf.setFloat("yarn.scheduler.fair.locality.threshold.rack", round);
  }

  private static void heddle(Configuration conf, Shape shape, HeddlePolicy policy, Path folder)
      throws IOException {
    configureHeddle(conf, shape, policy, folder, json -> { });
  }

  private static void configureHeddle(Configuration conf, Shape shape,
      HeddlePolicy policy, Path folder, Consumer<ObjectNode> extra) throws IOException {
    ObjectMapper json = new ObjectMapper();
    ObjectNode root = json.createObjectNode();
    policy.choose(root, shape);
    extra.accept(root);
    root.put("heartbeat_fill", 1.0);
    ArrayNode queues = root.putArray("queues");
    for (int q = 0; q < shape.queues; q++) {
      if (shape.isUsersOwn(q) && !policy.keepsAccounts) {
        continue;
      }
      ObjectNode queue = queues.addObject().put("path", shape.path(q));
      queue.put("max_am_share", 1.0);
      policy.equip(queue);
      if (shape.isLimited()) {
        queue.putObject("max_share").put("memory-mb", shape.queueLimitMb());
      }
      if (shape.isLabelled()) {
        ArrayNode labels = queue.putArray("accessible_labels");
        if (shape.label(q) != null) {
          labels.add(shape.label(q));
          queue.putObject("labels").putObject(shape.label(q));
        }
      }
    }
    ArrayNode placement = root.putArray("placement");
    placement.addObject().put("rule", "specified").put("create", false);
    if (shape.usersOwn > 0) {
      placement.addObject().put("rule", "user");
      root.putObject("queue_defaults").put("max_am_share", 1.0);
    }
    Path file = folder.resolve("heddle.json");
    Files.write(file, json.writerWithDefaultPrettyPrinter().writeValueAsBytes(root));
    conf.set("heddle.config.file", file.toString());
    conf.setInt("heddle.tick-ms", Integer.MAX_VALUE);
    if (shape.isLabelled()) {
      conf.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
      conf.set(YarnConfiguration.FS_NODE_LABELS_STORE_ROOT_DIR,
          folder.resolve("labels").toUri().toString());
    }
  }

  private static void record(Configuration conf, Path folder) {
    conf.set("heddle.journal.path", folder.resolve("journal").toString());
  }

  private static void capacity(Configuration conf, Shape shape, boolean asynchronous) {
    conf.setBoolean(CAPACITY_PREFIX + "schedule-asynchronously.enable", asynchronous);
    StringJoiner names = new StringJoiner(",");
    for (int q = 0; q < shape.queues; q++) {
      names.add(Shape.queueName(q));
    }
    // Capacities must add up to 100: an unused queue gets the rest.
    if (shape.isLimited()) {
      names.add("rest");
      conf.setFloat(CAPACITY_PREFIX + "root.rest.capacity", 100f - shape.limitPercent);
    }
    conf.set(CAPACITY_PREFIX + "root.queues", names.toString());
    float part = (float) shape.limitPercent / shape.queues;
    for (int q = 0; q < shape.queues; q++) {
      String queue = CAPACITY_PREFIX + "root." + Shape.queueName(q);
      conf.setFloat(queue + ".capacity", part);
      conf.setFloat(queue + ".maximum-capacity", shape.isLimited() ? part : 100f);
      // One user per queue: without this it could not use more than the queue's own capacity.
      conf.setFloat(queue + ".user-limit-factor", shape.isLimited() ? 1 : shape.queues);
    }
    conf.setInt(CAPACITY_PREFIX + "maximum-applications", 1_000_000);
    conf.setFloat(CAPACITY_PREFIX + "maximum-am-resource-percent", 1.0f);
    String heartbeat = CAPACITY_PREFIX + "per-node-heartbeat.";
    conf.setBoolean(heartbeat + "multiple-assignments-enabled", true);
    conf.setInt(heartbeat + "maximum-container-assignments", -1);
    conf.setInt(heartbeat + "maximum-offswitch-assignments", Integer.MAX_VALUE);
    // In missed opportunities: one round of all nodes for the node, one more for the rack.
    conf.setInt(CAPACITY_PREFIX + "node-locality-delay", shape.localityDelay ? shape.nodes : 0);
    conf.setInt(CAPACITY_PREFIX + "rack-locality-additional-delay",
        shape.localityDelay ? shape.nodes : 0);
  }
}
