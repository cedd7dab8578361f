package io.heddle.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.StringWriter;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;
import org.junit.Test;

/** Tests the Capacity Scheduler's monitors in a configuration. */
public class MonitorConfTest {
  @Test
  public void monitorsOfTheCapacitySchedulerAreLeftOut() {
    Configuration conf = new Configuration(false);
    conf.setBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, true);
    String preemption = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
        + "ProportionalCapacityPreemptionPolicy";
    conf.set(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES, preemption + " , com.acme.Mine");
    Configuration kept = MonitorConf.without(conf);
    assertEquals("com.acme.Mine", kept.get(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES));
    assertTrue(kept.getBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, false));
    conf.set(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES, preemption);
    assertFalse(MonitorConf.without(conf)
        .getBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, true));
    assertEquals("the one given stays", preemption,
        conf.get(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES));
  }

  /** Operators who relied on it must find it in the log, with a remedy. */
  @Test
  public void aPreemptionMonitorThatIsLeftOutIsAWarningWithARemedy() {
    Configuration conf = new Configuration(false);
    conf.setBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, true);
    conf.set(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES,
        "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity"
            + ".ProportionalCapacityPreemptionPolicy");
    StringWriter log = new StringWriter();
    WriterAppender appender = new WriterAppender(new PatternLayout("%p %m%n"), log);
    Logger logger = Logger.getLogger(MonitorConf.class);
    logger.addAppender(appender);
    try {
      MonitorConf.without(conf);
    } finally {
      logger.removeAppender(appender);
    }
    String said = log.toString();
    assertTrue(said, said.startsWith("WARN "));
    assertTrue(said, said.contains("\"preemption\": {\"enabled\": true} in heddle.json"));
  }
}
