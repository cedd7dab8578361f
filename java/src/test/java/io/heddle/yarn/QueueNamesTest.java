package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import javax.management.ObjectName;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.After;
import org.junit.Test;

/**
 * Tests names of queues that the metrics system could take for those of others. It refuses a source
 * whose name is taken, as in production; mini clusters allow it. HEDDLE_SEEDS=17 plays one seed of
 * the random names.
 */
public class QueueNamesTest {
  private static final int SEEDS = 20;

  private static TestCluster cluster(String json) throws Exception {
    Configuration conf = TestCluster.conf(json);
    DefaultMetricsSystem.shutdown();
    DefaultMetricsSystem.setMiniClusterMode(false);
    DefaultMetricsSystem.initialize("ResourceManager");
    return new TestCluster(conf);
  }

  @After
  public void allowDuplicates() {
    DefaultMetricsSystem.shutdown();
    DefaultMetricsSystem.setMiniClusterMode(true);
  }

  private static void assertTicksAndReloads(TestCluster cluster) throws Exception {
    cluster.tick();
    cluster.scheduler.reinitialize(cluster.rm.getConfig(), cluster.rm.getRMContext());
    cluster.refreshQueues();
  }

  @Test
  public void aBlankAtAnEdgeIsRefusedAsByTheStockFairScheduler() throws Exception {
    try (TestCluster cluster = cluster("{}")) {
      cluster.node("a1", 8 * GB);
      assertEquals("root.a", cluster.submit("alice", "root.a").getQueue());
      for (String name : new String[] {"root.a ", "root. a", "root.a\u00a0", "root.b .c",
          "root.a\t", "root.a\u0001b"}) {
        try {
          cluster.submit("bob", name);
          fail(name);
        } catch (Exception e) {
          String message = String.valueOf(e.getCause());
          assertTrue(message, message.contains("blank") && message.contains("correct it"));
        }
      }
      assertTicksAndReloads(cluster);
      assertEquals("root.c", cluster.submit("bob", "root.c").getQueue());
      assertNotNull(cluster.scheduler.getQueueInfo("root.c", false, false));
    }
  }

  /** The stock Fair Scheduler takes such names, and then lacks the metrics of one of the two. */
  @Test
  public void namesThatWouldBeOneSourceAreTwo() throws Exception {
    try (TestCluster cluster = cluster("{}")) {
      cluster.node("a1", 8 * GB);
      String other = "root.a,q2=b";
      assertEquals("root.a.b", cluster.submit("alice", "root.a.b").getQueue());
      assertEquals(other, cluster.submit("bob", other).getQueue());
      cluster.rm.drainEvents();
      assertTicksAndReloads(cluster);
      assertNotSame(cluster.scheduler.reports.metrics("root.a.b"),
          cluster.scheduler.reports.metrics(other));
      assertEquals(1, cluster.scheduler.reports.metrics(other).getAppsSubmitted());
      assertEquals(1, ManagementFactory.getPlatformMBeanServer()
          .queryNames(new ObjectName("Hadoop:*,q1=a%2Cq2%3Db"), null).stream()
          .filter(name -> name.toString().contains("name=QueueMetrics")).count());
    }
  }

  /** The engine has the queue by then, so its object must be made whatever the metrics say. */
  @Test
  public void aTakenNameOfMetricsHoldsNothingUp() throws Exception {
    try (TestCluster cluster = cluster("{\"dynamic_queues\": {\"expire_ms\": 1000}}")) {
      cluster.node("a1", 8 * GB);
      DefaultMetricsSystem.instance().register("QueueMetrics,q0=root,q1=taken", "another's",
          (org.apache.hadoop.metrics2.MetricsSource) (collector, all) -> { });
      RMApp app = cluster.submit("alice", "root.taken");
      assertEquals("root.taken", app.getQueue());
      assertTicksAndReloads(cluster);
      assertNotNull(cluster.scheduler.reports.metrics("root.taken"));
      cluster.rm.killApp(app.getApplicationId());
      cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
      for (int i = 0; cluster.scheduler.reports.metrics("root.taken") != null; i++) {
        assertTrue("it never expires", i < 600);
        Thread.sleep(100);
        cluster.tick();
      }
      assertNull(DefaultMetricsSystem.instance().getSource("QueueMetrics,q0=root,q1=taken~1"));
    }
  }

  /** Random names from few characters: whatever is taken, ticks and reloads go on. */
  @Test
  public void noNameStopsTicksAndReloads() throws Exception {
    String[] range = System.getenv().getOrDefault("HEDDLE_SEEDS", "1-" + SEEDS).split("-");
    String[] parts = {"a", "b", "1", ",", "=", "q2", "%2C", "~1", " ", "\u00a0", "\t", ".", ":",
        "\"", "*", "user"};
    try (TestCluster cluster = cluster("{\"dynamic_queues\": {\"max_per_user\": 10000}}")) {
      cluster.node("a1", 8 * GB);
      List<String> taken = new ArrayList<>();
      int last = Integer.parseInt(range[range.length - 1]);
      for (int seed = Integer.parseInt(range[0]); seed <= last; seed++) {
        Random random = new Random(seed);
        try {
          for (int i = 0; i < 20; i++) {
            StringBuilder name = new StringBuilder("root.");
            for (int part = 1 + random.nextInt(6); part > 0; part--) {
              name.append(parts[random.nextInt(parts.length)]);
            }
            try {
              cluster.scheduler.place("u" + seed, name.toString(), null, false);
              taken.add(name.toString());
            } catch (org.apache.hadoop.yarn.exceptions.YarnException e) {
              // Refused with a sentence.
            }
          }
          assertTicksAndReloads(cluster);
          for (String name : taken) {
            assertNotNull(name, cluster.scheduler.reports.metrics(name));
          }
        } catch (Exception | AssertionError e) {
          throw new AssertionError("seed " + seed + ", names " + taken, e);
        }
      }
      assertTrue("too few names: " + taken, taken.size() > 20);
    }
  }
}
