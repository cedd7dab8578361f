/*
 * The schedulers that are compared, as they come: no setting beyond those that name them. The
 * Capacity scheduler is measured both ways: Hadoop 3.5.0 schedules asynchronously by default,
 * older versions do not.
 */
package io.heddle.integration.grants;

import io.heddle.integration.cluster.MiniCluster;
import java.util.Arrays;
import java.util.stream.Collectors;

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
  private final String schedulerClass;
  private final String[] setting;

  Contender(String label, String schedulerClass, String... setting) {
    this.label = label;
    this.schedulerClass = schedulerClass;
    this.setting = setting;
  }

  void install(MiniCluster.Builder cluster) {
    cluster.scheduler(schedulerClass);
    if (setting.length > 0) {
      cluster.set(setting[0], setting[1]);
    }
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
