/*
 * The schedulers that are compared, as they come: no setting beyond those that name them. The
 * Capacity scheduler is measured both ways: Hadoop 3.5.0 schedules asynchronously by default,
 * older versions do not.
 */
package io.heddle.integration.grants;

import io.heddle.integration.cluster.MiniCluster;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** One scheduler. */
enum Contender {
  HEDDLE("heddle", MiniCluster.HEDDLE, "heddle.immediate-grants.enable", "true"),
  HEDDLE_REPORTS("heddle-reports", MiniCluster.HEDDLE, "heddle.immediate-grants.enable", "false"),
  FAIR("fair", Contender.STOCK + "fair.FairScheduler"),
  CAPACITY("capacity", Contender.STOCK + "capacity.CapacityScheduler", Contender.ASYNC, "false"),
  CAPACITY_ASYNC(
      "capacity-async", Contender.STOCK + "capacity.CapacityScheduler", Contender.ASYNC, "true");

  private static final String STOCK =
      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.";
  private static final String ASYNC = "yarn.scheduler.capacity.schedule-asynchronously.enable";

  final String label;
  private final Map<String, String> settings = new LinkedHashMap<>();

  Contender(String label, String schedulerClass, String... setting) {
    this.label = label;
    settings.put(YarnConfiguration.RM_SCHEDULER, schedulerClass);
    if (setting.length > 0) {
      settings.put(setting[0], setting[1]);
    }
  }

  /** Returns the Hadoop properties that make it a cluster's scheduler. */
  Map<String, String> settings() {
    return settings;
  }

  static String labels() {
    return Arrays.stream(values()).map(kind -> kind.label).collect(Collectors.joining(","));
  }

  static Contender byLabel(String label) {
    return Arrays.stream(values()).filter(kind -> kind.label.equals(label)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            "unknown scheduler '" + label + "'; known are " + labels()));
  }
}
