package io.heddle.yarn.config;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Removes from a configuration the monitors that work with the Capacity Scheduler only. They throw
 * when they meet another scheduler, and the ResourceManager would not start. Generic ones stay.
 */
public final class MonitorConf {
  private static final Logger LOG = LoggerFactory.getLogger(MonitorConf.class);
  private static final String PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager.";
  private static final String PREEMPTION =
      PACKAGE + "monitor.capacity.ProportionalCapacityPreemptionPolicy";
  private static final Set<String> CAPACITY_ONLY = new HashSet<>(Arrays.asList(
      PREEMPTION,
      PACKAGE + "scheduler.capacity.QueueManagementDynamicEditPolicy",
      PACKAGE + "scheduler.capacity.AutoCreatedQueueDeletionPolicy",
      PACKAGE + "scheduler.capacity.QueueConfigurationAutoRefreshPolicy"));

  private MonitorConf() {}

  /** Returns a configuration without them; the one given stays as it is. */
  public static Configuration without(Configuration conf) {
    Configuration copy = new Configuration(conf);
    if (!conf.getBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS,
        YarnConfiguration.DEFAULT_RM_SCHEDULER_ENABLE_MONITORS)) {
      return copy;
    }
    List<String> kept = new ArrayList<>();
    for (String policy
        : conf.getTrimmedStringCollection(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES)) {
      if (!CAPACITY_ONLY.contains(policy)) {
        kept.add(policy);
      } else if (PREEMPTION.equals(policy) && StockSource.isCapacity(conf)) {
        LOG.info("{} is left out: the engine preempts as its properties say", policy);
      } else if (PREEMPTION.equals(policy)) {
        LOG.warn("{} is for the Capacity Scheduler and is left out, so that nothing is preempted"
            + " by it. To preempt, set \"preemption\": {\"enabled\": true} in heddle.json. To be"
            + " rid of this line, remove the policy from {}", policy,
            YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES);
      } else {
        LOG.warn("{} is for the Capacity Scheduler and is left out; remove it from {}", policy,
            YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES);
      }
    }
    if (kept.isEmpty()) {
      copy.setBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, false);
    } else {
      copy.setStrings(
          YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES, kept.toArray(new String[0]));
    }
    return copy;
  }
}
