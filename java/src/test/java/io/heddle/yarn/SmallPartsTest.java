package io.heddle.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import java.io.StringWriter;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.util.Records;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;
import org.junit.Test;

/** The parts that need neither a ResourceManager nor the native library. */
public class SmallPartsTest {
  @Test
  public void namesKeepTheirNumbers() throws Exception {
    Interner names = new Interner("*");
    assertEquals(0, names.intern("*"));
    assertEquals(Interner.UNKNOWN, names.find("a"));
    for (int i = 0; i < 100; i++) {
      assertEquals(i + 1, names.intern("host" + i));
    }
    assertEquals(51, names.find("host50"));
    assertEquals("host50", names.name(51));
    assertEquals(101, names.size());
  }

  @Test
  public void threadsThatNameTheSameGetTheSameNumber() throws Exception {
    Interner names = new Interner();
    int[][] seen = new int[4][1000];
    Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; t++) {
      int[] mine = seen[t];
      threads[t] = new Thread(() -> {
        for (int i = 0; i < mine.length; i++) {
          mine[i] = names.intern("n" + i);
        }
      });
      threads[t].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(1000, names.size());
    for (int i = 0; i < 1000; i++) {
      for (int[] mine : seen) {
        assertEquals(seen[0][i], mine[i]);
      }
      assertEquals("n" + i, names.name(seen[0][i]));
    }
  }

  @Test
  public void freedNumbersAreGivenAgainTheSmallestFirst() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    DenseTable<Integer> table = new DenseTable<>();
    java.util.TreeSet<Integer> free = new java.util.TreeSet<>();
    Map<Integer, Integer> model = new HashMap<>();
    int end = 0;
    for (int i = 0; i < 5000; i++) {
      if (random.nextInt(100) < 55) {
        int id = table.add(i);
        int expected = free.isEmpty() ? end++ : free.pollFirst();
        assertEquals("seed " + seed, expected, id);
        model.put(id, i);
      } else if (!model.isEmpty()) {
        int id = random.nextInt(end);
        table.remove(id);
        if (model.remove(id) != null) {
          free.add(id);
        }
      }
      assertEquals("seed " + seed, model.size(), table.size());
    }
    for (int id = -1; id <= end; id++) {
      assertEquals("seed " + seed, model.get(id), table.get(id));
    }
  }

  @Test
  public void containerIdsSurviveTheirKeys() {
    ApplicationId app = ApplicationId.newInstance(1234567890123L, 42);
    long[] numbers = {1, 5L << 40 | 1, 65535L << 40 | (1L << 32) - 1};
    for (long number : numbers) {
      for (int attempt : new int[] {1, 2, 255, 256, 65535}) {
        ContainerId id = ContainerId.newContainerId(
            ApplicationAttemptId.newInstance(app, attempt), number);
        assertEquals(id, ContainerKeys.toId(app, ContainerKeys.of(id)));
      }
    }
    assertEquals(0x0005_0002_00000007L, ContainerKeys.of(5L << 40 | 7, 2));
  }

  @Test
  public void accidentsAreFreeAndLoopsAreSlowedDown() {
    RebuildLimiter limiter = new RebuildLimiter();
    long now = 1_000_000;
    for (int i = 0; i < RebuildLimiter.FREE_REBUILDS; i++) {
      assertEquals(0, limiter.lost(now++));
      assertTrue(limiter.allows(now));
    }
    long pause = limiter.lost(now);
    assertEquals(RebuildLimiter.PAUSE_MIN_MS, pause);
    assertFalse(limiter.allows(now + pause - 1));
    assertTrue(limiter.allows(now + pause));
    long last = pause;
    for (int i = 0; i < 12; i++) {
      now += last;
      long next = limiter.lost(now);
      if (next == 0) {
        // The pauses have grown so long that the losses are rare again.
        assertTrue(last >= RebuildLimiter.WINDOW_MS / RebuildLimiter.FREE_REBUILDS);
        return;
      }
      assertEquals(Math.min(RebuildLimiter.PAUSE_MAX_MS, last * 2), next);
      last = next;
    }
  }

  @Test
  public void rareLossesNeverSlowDown() {
    RebuildLimiter limiter = new RebuildLimiter();
    for (int i = 0; i < 100; i++) {
      assertEquals(0, limiter.lost(i * RebuildLimiter.WINDOW_MS));
    }
  }

  @Test
  public void whatDiffersBetweenHadoopVersionsIsFound() throws Exception {
    QueueMetrics metrics = QueueMetrics.forQueue("compat", null, false, new Configuration(false));
    Compat.submitApp(metrics, "alice", false);
    Compat.submitAppAttempt(metrics, "alice", false);
    assertEquals(1, metrics.getAppsSubmitted());
    assertEquals(1, metrics.getAppsPending());
    SchedulerApplication<HeddleAppAttempt> application =
        Compat.newApplication(null, "alice", Priority.newInstance(3), true);
    assertEquals("alice", application.getUser());
    assertEquals(3, application.getPriority().getPriority());
    QueueInfo info = Records.newRecord(QueueInfo.class);
    Compat.describeQueue(info, "root.x", "HeddleScheduler", 2f, 7);
    String version = System.getProperty("heddle.test.hadoop", "");
    if (!version.startsWith("3.3") && !version.isEmpty()) {
      assertEquals("root.x", QueueInfo.class.getMethod("getQueuePath").invoke(info));
      assertEquals("HeddleScheduler",
          QueueInfo.class.getMethod("getSchedulerType").invoke(info));
      assertEquals(7, QueueInfo.class.getMethod("getMaxParallelApps").invoke(info));
    }
  }

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

  /** Operators who counted on it must see it in the log, with what to do. */
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

  @Test
  public void queuesAreFoundByWhatPeopleCallThem() {
    QueueSnapshot queues = QueueSnapshot.read(SetupJson.read(
        "{\"queues\": [{\"id\": 0, \"path\": \"root\"}, {\"id\": 1, \"path\": \"root.a\"},"
            + " {\"id\": 2, \"path\": \"root.a.x\", \"leaf\": true},"
            + " {\"id\": 3, \"path\": \"root.b\"},"
            + " {\"id\": 4, \"path\": \"root.b.x\", \"leaf\": true},"
            + " {\"id\": 5, \"path\": \"root.b.y\", \"leaf\": true,"
            + " \"max_share\": {\"memory-mb\": 9223372036854775807}}]}"));
    assertEquals(2, queues.find("root.a.x").id);
    assertEquals(2, queues.find("a.x").id);
    assertEquals(5, queues.find("y").id);
    assertNull("two of that name", queues.find("x"));
    assertNull(queues.find(null));
    assertEquals("root.b.gone.far", queues.pathOf("root.b.gone.far"));
    assertEquals("root.b.gone", queues.pathOf("b.gone"));
    assertEquals("root.b.y.gone", queues.pathOf("y.gone"));
    assertEquals("root.nowhere", queues.pathOf("nowhere"));
    assertEquals(2, queues.get("root.b").children().size());
    assertNotNull(queues.find("root.b.y").maxShare);
  }
}
