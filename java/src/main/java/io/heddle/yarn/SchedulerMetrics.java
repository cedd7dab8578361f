package io.heddle.yarn;

import org.apache.hadoop.metrics2.MetricsException;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A record of Hadoop's metrics that comes and goes with the scheduler. */
abstract class SchedulerMetrics implements MetricsSource {
  private static final Logger LOG = LoggerFactory.getLogger(SchedulerMetrics.class);

  private final String name;
  private final String description;
  private boolean registered;

  SchedulerMetrics(String name, String description) {
    this.name = name;
    this.description = description;
  }

  /** Registers the record with Hadoop's metrics system. Only logs a failure. */
  final void register() {
    try {
      DefaultMetricsSystem.instance().register(name, description, this);
      registered = true;
    } catch (MetricsException e) {
      LOG.warn("The metrics {} cannot be shown: {}", name, e.toString());
    }
  }

  /** Undoes {@link #register}. */
  final void unregister() {
    if (registered) {
      DefaultMetricsSystem.instance().unregisterSource(name);
      registered = false;
    }
  }
}
