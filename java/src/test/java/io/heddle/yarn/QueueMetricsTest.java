package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.MetricsSource;
import org.apache.hadoop.metrics2.MetricsTag;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests the metrics of queues: their names and values are those of the stock scheduler of the same
 * Hadoop version, with the same file and the same applications.
 */
public class QueueMetricsTest {
  /** They depend on time. */
  private static final String TIMED = "AppAttemptFirstContainerAllocationDelay";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private Configuration fair(String allocations) throws Exception {
    File file = new File(folder.getRoot(), "fair-scheduler.xml");
    Files.write(file.toPath(), ("<allocations>" + allocations + "</allocations>")
        .getBytes(StandardCharsets.UTF_8));
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "fair");
    conf.set("yarn.scheduler.fair.allocation.file", file.getPath());
    return conf;
  }

  private static Configuration capacity(String... settings) throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "capacity");
    for (int i = 0; i < settings.length; i += 2) {
      conf.set("yarn.scheduler.capacity." + settings[i], settings[i + 1]);
    }
    return conf;
  }

  /** Runs an application with three tasks of 1 GB in root.a, and returns all metrics. */
  private static Map<String, Map<String, Object>> played(Configuration conf, String... queues)
      throws Exception {
    MockRM rm = new MockRM(conf);
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    try {
      MockNM node = rm.registerNode("a1:1234", 8 * GB, 8);
      rm.drainEvents();
      RMApp app = MockRMAppSubmitter.submit(rm, MockRMAppSubmissionData.Builder
          .createWithMemory(GB, rm).withAppName("test").withUser("alice").withQueue("root.a")
          .withUnmanagedAM(false).withAcls(new TreeMap<>()).build());
      MockAM am = MockRM.launchAndRegisterAM(app, rm, node);
      TestCluster.ask(am, TestCluster.any(1, GB, 3));
      AbstractYarnScheduler<?, ?> scheduler =
          (AbstractYarnScheduler<?, ?>) rm.getResourceScheduler();
      QueueMetrics root = scheduler.getRootQueueMetrics();
      for (int i = 0; root.getAllocatedContainers() < 4; i++) {
        assertTrue(root.getAllocatedContainers() + " containers", i < 600);
        Thread.sleep(10);
        node.nodeHeartbeat(true);
        rm.drainEvents();
      }
      scheduler.update();
      if (scheduler instanceof HeddleScheduler) {
        HeddleScheduler heddle = (HeddleScheduler) scheduler;
        heddle.inspection().request("{\"op\": \"queues\"}");
        heddle.queues.replay();
        heddle.reports.table().showMetrics();
      }
      Map<String, Map<String, Object>> all = new TreeMap<>();
      for (String queue : queues) {
        QueueMetrics metrics = QueueMetrics.getQueueMetrics().get(queue);
        assertNotNull(queue + " of " + QueueMetrics.getQueueMetrics().keySet(), metrics);
        all.put(queue, values(metrics));
        QueueMetrics user = metrics.getUserMetrics("alice");
        if (user != null) {
          all.put(queue + " alice", values(user));
        }
      }
      return all;
    } finally {
      rm.stop();
    }
  }

  private static Map<String, Object> values(MetricsSource source) {
    MetricsCollectorImpl collector = new MetricsCollectorImpl();
    source.getMetrics(collector, true);
    Map<String, Object> values = new TreeMap<>();
    for (MetricsRecord record : collector.getRecords()) {
      for (MetricsTag tag : record.tags()) {
        values.put("tag " + tag.name(), tag.value());
      }
      for (AbstractMetric metric : record.metrics()) {
        values.put(metric.name(), metric.name().startsWith(TIMED) ? "timed" : metric.value());
      }
    }
    return values;
  }

  private static void assertAsStock(Configuration conf, Class<?> stock, String... queues)
      throws Exception {
    Map<String, Map<String, Object>> ours = played(conf, queues);
    QueueMetrics.clearQueueMetrics();
    Configuration theirs = new YarnConfiguration(conf);
    theirs.set(YarnConfiguration.RM_SCHEDULER, stock.getName());
    // Otherwise its threads may grant before MockRM has seen that the application waits.
    theirs.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    Map<String, Map<String, Object>> expected = played(theirs, queues);
    assertEquals("queues and users", expected.keySet(), ours.keySet());
    StringBuilder differences = new StringBuilder();
    expected.forEach((queue, values) -> {
      Map<String, Object> own = ours.get(queue);
      assertEquals(queue, values.keySet(), own.keySet());
      values.forEach((name, value) -> {
        // The Fair Scheduler has none of a queue before it looks at an AM there.
        boolean unknown = name.startsWith("MaxAMShare") && value.toString().equals("0");
        // A user's headroom: stock may tell more of a type than is free (stock-differences.md).
        boolean less = queue.endsWith(" alice") && name.startsWith("Available")
            && ((Number) own.get(name)).longValue() <= ((Number) value).longValue();
        if (!unknown && !less && !String.valueOf(value).equals(String.valueOf(own.get(name)))) {
          differences.append('\n').append(queue).append(' ').append(name).append(": stock ")
              .append(value).append(", Heddle ").append(own.get(name));
        }
      });
    });
    assertEquals("", differences.toString());
  }

  @Test
  public void metricsOfFairsFileAreThoseOfTheFairScheduler() throws Exception {
    assertAsStock(fair("<queue name='root'><schedulingPolicy>drf</schedulingPolicy>"
        + "<queue name='a'><weight>3.0</weight><minResources>2048 mb,2 vcores"
        + "</minResources><maxResources>6144 mb,6 vcores</maxResources>"
        + "<maxRunningApps>5</maxRunningApps></queue>"
        + "<queue name='b'><schedulingPolicy>fifo</schedulingPolicy></queue>"
        + "<queue name='c' type='parent'><schedulingPolicy>drf</schedulingPolicy>"
        // 3.3.6 makes it whatever the file says.
        + "<queue name='d'/></queue><queue name='default'/></queue>"),
        FairScheduler.class, "root", "root.a", "root.b", "root.c", "root.c.d");
  }

  @Test
  public void metricsOfCapacitysFileAreThoseOfTheCapacityScheduler() throws Exception {
    assertAsStock(capacity("root.queues", "a,b", "root.a.capacity", "75",
        "root.a.maximum-capacity", "87.5", "root.b.capacity", "25", "root.b.queues", "c",
        "root.b.c.capacity", "100"),
        CapacityScheduler.class, "root", "root.a", "root.b", "root.b.c");
  }

  @Test
  public void usersHaveMetricsAsTheCapacitySchedulersPropertySays() throws Exception {
    assertAsStock(capacity("root.queues", "a,b", "root.a.capacity", "75", "root.b.capacity", "25",
        "user-metrics.enable", "true"), CapacityScheduler.class, "root", "root.a");
  }

  /** What is pending for three rows of 2^30 containers each, under a scheduler. */
  private static String pending(Class<?> scheduler) throws Exception {
    Configuration conf = capacity("root.queues", "a", "root.a.capacity", "100");
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    MockRM rm = new MockRM(conf);
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    try {
      MockNM node = rm.registerNode("a1:1234", GB, 8);
      RMApp app = MockRMAppSubmitter.submit(rm, MockRMAppSubmissionData.Builder
          .createWithMemory(GB, rm).withAppName("test").withUser("alice").withQueue("root.a")
          .withUnmanagedAM(false).withAcls(new TreeMap<>()).build());
      MockAM am = MockRM.launchAndRegisterAM(app, rm, node);
      TestCluster.ask(am, TestCluster.any(1, GB, 1 << 30), TestCluster.any(2, GB, 1 << 30),
          TestCluster.any(3, GB, 1 << 30));
      rm.drainEvents();
      QueueMetrics root =
          ((AbstractYarnScheduler<?, ?>) rm.getResourceScheduler()).getRootQueueMetrics();
      return root.getPendingContainers() + " containers, " + root.getPendingMB() + " MB";
    } finally {
      rm.stop();
    }
  }

  /** Hadoop's gauge of containers has 32 bits; that of memory has 64. */
  @Test
  public void pendingContainersBeyondAnIntAreCountedAsByStock() throws Exception {
    String wrapped = (3L << 30) - (1L << 32) + " containers, " + (3L << 40) + " MB";
    assertEquals("stock", wrapped, pending(CapacityScheduler.class));
    assertEquals("Heddle", wrapped, pending(HeddleScheduler.class));
  }

  /** A queue that goes takes all of its records along: its own, by partition, by user. */
  @Test
  public void recordsGoWithTheirQueue() throws Exception {
    Configuration conf = TestCluster.conf("{\"dynamic_queues\": {\"expire_ms\": 1000}}");
    conf.setBoolean("heddle.user-metrics.enable", true);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "root.gone");
      cluster.launch(app, node);
      Set<String> records = records("gone");
      assertEquals(records.toString(), 4, records.size());
      cluster.rm.killApp(app.getApplicationId());
      cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
      for (int i = 0; !records("gone").isEmpty(); i++) {
        assertTrue(records("gone").toString(), i < 600);
        Thread.sleep(100);
        cluster.tick();
      }
      assertFalse(QueueMetrics.getQueueMetrics().containsKey("default.root.gone"));
    }
  }

  private static Set<String> records(String queue) throws Exception {
    Set<String> names = new TreeSet<>();
    for (ObjectName name : ManagementFactory.getPlatformMBeanServer()
        .queryNames(new ObjectName("Hadoop:*"), null)) {
      if (name.getCanonicalName().contains("q1=" + queue)) {
        names.add(name.getCanonicalName());
      }
    }
    return names;
  }

  @Test
  public void heddlesOwnFiguresAreARecord() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      TestCluster.ask(am, TestCluster.any(1, GB, 2));
      cluster.heartbeat();
      cluster.tick();
      Map<String, Object> values =
          values(DefaultMetricsSystem.instance().getSource(Performance.NAME));
      assertEquals("the AM and two tasks", 3L, values.get("Grants"));
      assertEquals(0L, values.get("Refusals"));
      assertEquals(1, values.get("EngineUp"));
      assertEquals(0L, values.get("StoreIntervalsBehind"));
      assertTrue(values.toString(), (Long) values.get("HeartbeatNumOps") >= 2);
      assertTrue(values.toString(), (Long) values.get("TickNumOps") >= 1);
    }
  }
}
