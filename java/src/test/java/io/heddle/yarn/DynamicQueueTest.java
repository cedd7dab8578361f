package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.queues.QueueView;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.junit.Test;

/** Tests queues that submissions make, and queues that are being removed. */
public class DynamicQueueTest {
  private static final String SOON =
      "{\"dynamic_queues\": {\"expire_ms\": 1000, \"max_per_user\": 3}}";

  private static QueueView view(TestCluster cluster, String path) {
    return cluster.scheduler.reports.table().snapshot().get(path);
  }

  /** Ticks until a queue is gone. */
  private static void awaitGone(TestCluster cluster, String path) throws Exception {
    for (int i = 0; view(cluster, path) != null; i++) {
      assertTrue(path + " stays", i < 600);
      Thread.sleep(100);
      cluster.tick();
    }
  }

  /** Tests that the time to make a queue does not depend on the number of queues. */
  @Test
  public void thousandsOfQueuesCostNoMoreThanTheFirst() throws Exception {
    int part = 1_000;
    try (TestCluster cluster = new TestCluster()) {
      cluster.node("a1", 8 * GB);
      // Warms up: loads classes.
      make(cluster, "w", part / 2);
      long first = make(cluster, "f", part);
      make(cluster, "m", 15 * part / 2);
      long last = make(cluster, "l", part);
      assertNotNull(view(cluster, "root.l" + (part - 1)));
      assertEquals(10 * part, view(cluster, "root").children().size());
      // If the time grew with the number of queues, it would be nine times as long.
      assertTrue("a hundred took " + first / 1_000 + " us at first, " + last / 1_000
          + " us at last", last < 4 * first);
      cluster.refreshQueues();
      assertEquals(10 * part, view(cluster, "root").children().size());
    }
  }

  /**
   * Returns the processor time of the fastest hundred: other work on the machine slows some of
   * them, and what the collector does others.
   */
  private static long make(TestCluster cluster, String name, int count) throws Exception {
    long least = Long.MAX_VALUE;
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long begun = threads.getCurrentThreadCpuTime();
    for (int i = 0; i < count; i++) {
      String user = name + i;
      assertEquals("root." + user, cluster.scheduler.place(user, null, null, false));
      if (i % 100 == 99) {
        long now = threads.getCurrentThreadCpuTime();
        least = Math.min(least, now - begun);
        begun = now;
      }
    }
    return least;
  }

  @Test
  public void anEmptyQueueGoesAndComesBackWhenItIsWanted() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(SOON))) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "root.a.b");
      cluster.launch(app, node);
      RMApp stays = cluster.submit("bob", null);
      cluster.rm.killApp(app.getApplicationId());
      cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
      awaitGone(cluster, "root.a.b");
      awaitGone(cluster, "root.a");
      assertNull(cluster.scheduler.reports.metrics("root.a.b"));
      assertNull(QueueMetrics.getQueueMetrics().get("root.a.b"));
      assertNull("answers of the finished application are still had",
          cluster.scheduler.getAppsInQueue("root.a.b"));
      assertNotNull("it has a job", view(cluster, "root.bob"));
      assertEquals("root.bob", stays.getQueue());

      MockNM other = cluster.node("a2", 8 * GB);
      RMApp again = cluster.submit("carol", "root.a.b");
      cluster.launch(again, other);
      cluster.refreshQueues();
      assertEquals(1, view(cluster, "root.a.b").described.path("running_containers").asInt());
      assertEquals(1, cluster.scheduler.reports.metrics("root.a.b").getAppsSubmitted());
    }
  }

  @Test
  public void aUserMakesSomeQueuesAndReadsWhyNoMore() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(SOON))) {
      cluster.node("a1", 8 * GB);
      for (int i = 0; i < 3; i++) {
        cluster.submit("alice", "root.x" + i);
      }
      try {
        cluster.submit("alice", "root.x3");
        fail("a fourth queue");
      } catch (Exception e) {
        String message = String.valueOf(e.getCause());
        assertTrue(message, message.contains("max_per_user") && message.contains("alice"));
      }
      assertNull(view(cluster, "root.x3"));
      assertEquals("root.x1", cluster.submit("alice", "root.x1").getQueue());
      assertEquals("root.x3", cluster.submit("bob", "root.x3").getQueue());
    }
  }

  @Test
  public void pagesOfAReportMissNothingThatHappensBetween() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      cluster.node("a1", 8 * GB);
      make(cluster, "u", 600);
      Thread maker = new Thread(() -> {
        try {
          make(cluster, "v", 600);
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      });
      maker.start();
      while (maker.isAlive()) {
        cluster.scheduler.update();
      }
      maker.join();
      cluster.tick();
      assertEquals(1_200, view(cluster, "root").children().size());
    }
  }

  @Test
  public void aQueueThatLeftTheConfigurationDrains() throws Exception {
    String two = "{\"queues\": [{\"path\": \"root.old\"}, {\"path\": \"root.new\"}]}";
    Configuration conf = TestCluster.conf(two);
    File file = new File(conf.get(ConfigFile.FILE_PROPERTY));
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp inside = cluster.submit("alice", "old");
      RMApp outside = cluster.submit("alice", "new");
      cluster.launch(inside, node);
      Files.write(file.toPath(), "{\"queues\": [{\"path\": \"root.new\"}]}"
          .getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      QueueInfo old = cluster.scheduler.getQueueInfo("root.old", false, false);
      assertEquals(QueueState.DRAINING, old.getQueueState());
      assertEquals(QueueState.RUNNING,
          cluster.scheduler.getQueueInfo("root.new", false, false).getQueueState());
      for (String target : new String[] {"root.old", "root.nosuch"}) {
        try {
          cluster.scheduler.preValidateMoveApplication(outside.getApplicationId(), target);
          fail(target);
        } catch (YarnException e) {
          assertTrue(e.getMessage(), e.getMessage().contains(target));
          assertTrue("names one that works", e.getMessage().contains("root.new"));
          assertFalse("a usage error on 3.5", e.getMessage().contains("queue -list"));
        }
      }
      assertEquals("root.new",
          cluster.scheduler.moveApplication(inside.getApplicationId(), "root.new"));
      cluster.rm.waitForState(inside.getApplicationId(), RMAppState.RUNNING);
    }
  }

  @Test
  public void aReloadTakesOverTheLargestContainer() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 2 * GB);
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      assertEquals(2 * GB, cluster.scheduler.getMaximumResourceCapability().getMemorySize());
      conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 4 * GB);
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(4 * GB, cluster.scheduler.getMaximumResourceCapability().getMemorySize());
    }
  }
}
