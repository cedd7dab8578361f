package io.heddle.yarn.recording;

import static java.util.stream.Collectors.toList;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.Journal;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;
import org.junit.runners.Parameterized.Parameters;

/**
 * The recording schedulers in Hadoop's own ResourceManager: the journal has what happened, and a
 * recording that fails does not affect the scheduler.
 */
@RunWith(Parameterized.class)
public class RecorderTest {
  private static final int GB = TestCluster.GB;
  private static final int MAP = 20;
  private static final int RELEASED = -100;
  /** Tries of one heartbeat each. */
  private static final int TRIES = 200;
  private static final int TRY_MS = 50;

  private final Class<? extends ResourceScheduler> recording;
  private final Class<? extends ResourceScheduler> stock;
  private final File journal;

  /** Makes the test for a scheduler and the stock one that it extends. */
  public RecorderTest(Class<? extends ResourceScheduler> recording,
      Class<? extends ResourceScheduler> stock) throws Exception {
    this.recording = recording;
    this.stock = stock;
    journal = new File(Files.createTempDirectory("heddle-recording").toFile(), "rm.journal");
  }

  @Parameters(name = "{0}")
  public static List<Object[]> schedulers() {
    return Arrays.asList(
        new Object[] {RecordingFairScheduler.class, FairScheduler.class},
        new Object[] {RecordingCapacityScheduler.class, CapacityScheduler.class});
  }

  private static Configuration conf(Class<?> scheduler) throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    conf.setBoolean("yarn.scheduler.fair.user-as-default-queue", false);
    conf.setLong("yarn.scheduler.fair.update-interval-ms", 3_600_000);
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
    // Which thread places is chance otherwise; the tests with real daemons have that.
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    return conf;
  }

  private Configuration recorded() throws Exception {
    Configuration conf = conf(recording);
    conf.set(Journal.PATH_PROPERTY, journal.getPath());
    return conf;
  }

  private static MockRM start(Configuration conf) {
    MockRM rm = new MockRM(conf);
    // MockRM turns all log levels on.
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    return rm;
  }

  private static RMApp submit(MockRM rm) throws Exception {
    return MockRMAppSubmitter.submit(rm, submission(rm).build());
  }

  private static MockRMAppSubmissionData.Builder submission(MockRM rm)
      throws IOException {
    return MockRMAppSubmissionData.Builder.createWithMemory(GB, rm).withAppName("test")
        .withUser("alice").withQueue("default").withUnmanagedAM(false);
  }

  /**
   * Starts an ApplicationMaster outside the cluster. Within the cluster, another thread may place
   * its container during the very call that asks for it: RMAppAttemptImpl drops that call's answer,
   * and the attempt waits for ever.
   */
  private static MockAM launch(MockRM rm) throws Exception {
    RMApp app = MockRMAppSubmitter.submit(rm, submission(rm).withUnmanagedAM(true).build());
    ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
    rm.waitForState(attempt, RMAppAttemptState.LAUNCHED);
    MockAM am = new MockAM(rm.getRMContext(), rm.getApplicationMasterService(), attempt);
    am.registerAppAttempt();
    return am;
  }

  /** A heartbeat after the work of the Fair Scheduler's own thread. */
  private static void heartbeat(MockRM rm, MockNM node) throws Exception {
    ((AbstractYarnScheduler<?, ?>) rm.getResourceScheduler()).update();
    node.nodeHeartbeat(true);
    rm.drainEvents();
  }

  private static List<Container> get(MockRM rm, MockAM am, MockNM node, int count)
      throws Exception {
    TestCluster.ask(am, TestCluster.any(MAP, 2 * GB, count));
    List<Container> got = new ArrayList<>();
    for (int tries = 0; got.size() < count; tries++) {
      assertTrue("only " + got, tries < TRIES);
      heartbeat(rm, node);
      got.addAll(TestCluster.fetch(am));
      if (got.size() < count) {
        Thread.sleep(TRY_MS);
      }
    }
    return got;
  }

  /** Runs an application with two containers, of which one ends and one is given back. */
  private static int script(MockRM rm) throws Exception {
    MockNM node = rm.registerNode("a1:1234", 8 * GB, 8);
    rm.drainEvents();
    RMApp app = submit(rm);
    MockAM am = MockRM.launchAndRegisterAM(app, rm, node);
    List<Container> got = get(rm, am, node, 2);
    for (Container container : got) {
      node.nodeHeartbeat(am.getApplicationAttemptId(), container.getId().getContainerId(),
          ContainerState.RUNNING);
    }
    rm.drainEvents();
    node.nodeHeartbeat(am.getApplicationAttemptId(), got.get(0).getId().getContainerId(),
        ContainerState.COMPLETE);
    rm.drainEvents();
    TestCluster.release(am, got.get(1).getId());
    rm.drainEvents();
    MockRM.finishAMAndVerifyAppState(app, rm, node, am);
    rm.drainEvents();
    return got.size();
  }

  /** Runs two applications that do not fit at once; where each container went, in order. */
  private static List<String> contest(MockRM rm) throws Exception {
    MockNM[] nodes = {rm.registerNode("a1:1234", 6 * GB, 8), rm.registerNode("b1:1234", 5 * GB, 8)};
    rm.drainEvents();
    MockAM[] masters = {MockRM.launchAndRegisterAM(submit(rm), rm, nodes[0]),
        MockRM.launchAndRegisterAM(submit(rm), rm, nodes[1])};
    TestCluster.ask(masters[0], TestCluster.any(MAP, 2 * GB, 4));
    TestCluster.ask(masters[1], TestCluster.any(MAP, GB, 6));
    List<String> places = new ArrayList<>();
    for (int round = 0; round < 20; round++) {
      heartbeat(rm, nodes[round % 2]);
      for (MockAM am : masters) {
        for (Container got : TestCluster.fetch(am)) {
          places.add(round + ": " + got.getId().getApplicationAttemptId().getApplicationId().getId()
              + "/" + got.getId().getContainerId() + " on " + got.getNodeId().getHost());
          if (places.size() % 3 == 0) {
            TestCluster.release(am, got.getId());
          }
        }
      }
    }
    return places;
  }

  @Test
  public void theJournalHasWhatHappenedAndNothingElse() throws Exception {
    try (MockRM rm = start(recorded())) {
      script(rm);
    }
    JournalFile read = JournalFile.read(journal, 1);
    assertTrue(read.setup,
        read.setup.contains("\"decided_by\":\"" + stock.getSimpleName() + "\""));
    assertEquals(Arrays.asList(
        "node 0 has 8192",
        "{\"op\":\"place\",\"queue\":\"root.default\",\"queue_number\":0,\"user\":\"alice\","
            + "\"user_number\":0}",
        "job 0 in queue 0 of user 0",
        "job 0 runs 1 on node 0 at priority 0 with 1024, its master",
        "job 0 runs 2 on node 0 at priority 20 with 2048",
        "job 0 runs 3 on node 0 at priority 20 with 2048",
        "job 0 ended 2 with 0",
        "job 0 ended 3 with " + RELEASED,
        "job 0 ended 1 with 0",
        "{\"op\":\"finished\",\"job\":0,\"finished_ms\":...,\"status\":\"SUCCEEDED\"}",
        "job 0 ended"), read.lines.stream()
            .map(line -> line.replaceAll("_ms\":-?[0-9]+", "_ms\":...")).collect(toList()));
    assertEquals("closed", read.end);
    assertEquals(0, read.answers);
  }

  @Test
  public void theStockSchedulerDecidesTheSame() throws Exception {
    List<String> places;
    try (MockRM rm = start(recorded())) {
      places = contest(rm);
    }
    assertTrue(places.toString(), places.size() > 6);
    try (MockRM rm = start(conf(stock))) {
      assertEquals(contest(rm), places);
    }
  }

  /** Its end comes before anybody was told of its start. */
  @Test
  public void aContainerThatNobodyFetchedIsThereWithItsEnd() throws Exception {
    try (MockRM rm = start(recorded())) {
      // Too full with the ApplicationMaster, whichever thread places.
      MockNM node = rm.registerNode("a1:1234", 2 * GB, 8);
      rm.drainEvents();
      MockAM am = MockRM.launchAndRegisterAM(submit(rm), rm, node);
      MockNM other = rm.registerNode("b1:1234", 8 * GB, 8);
      rm.drainEvents();
      TestCluster.ask(am, TestCluster.any(MAP, 2 * GB, 1));
      for (int tries = 0; used(rm, other) == 0; tries++) {
        assertTrue("nothing was placed", tries < TRIES);
        heartbeat(rm, other);
        Thread.sleep(TRY_MS);
      }
      other.nodeHeartbeat(false);
      rm.drainEvents();
    }
    List<String> lines = JournalFile.read(journal, 1).lines;
    int at = lines.indexOf("job 0 runs 2 on node 1 at priority 20 with 2048");
    assertTrue(lines.toString(), at > 0);
    assertEquals("job 0 ended 2 with " + RELEASED, lines.get(at + 1));
    assertEquals("node 1 left", lines.get(at + 2));
  }

  /** The next recording begins with what runs, so that its end is of something known. */
  @Test
  public void aRestartRecordsWhatRuns() throws Exception {
    Configuration conf = recorded();
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
    conf.set(YarnConfiguration.RM_STORE, MemoryRMStateStore.class.getName());
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (MockRM first = new MockRM(conf, store)) {
      first.start();
      MockNM node = first.registerNode("a1:1234", 8 * GB, 8);
      first.drainEvents();
      MockAM am = MockRM.launchAndRegisterAM(submit(first), first, node);
      Container got = get(first, am, node, 1).get(0);
      try (MockRM second = new MockRM(conf, store)) {
        second.start();
        Logger.getRootLogger().setLevel(Level.WARN);
        node.setResourceTrackerService(second.getResourceTrackerService());
        node.registerNode(Arrays.asList(TestCluster.amReport(am, GB),
            TestCluster.report(got, ContainerState.RUNNING)),
            Collections.singletonList(am.getApplicationAttemptId().getApplicationId()));
        second.drainEvents();
      }
    }
    List<String> lines = JournalFile.read(journal, 2).lines;
    assertEquals(Arrays.asList("job 0 in queue 0 of user 0", "node 0 has 8192",
        "job 0 runs 1 on node 0 at priority 0 with 1024, its master",
        "job 0 runs 2 on node 0 at priority 20 with 2048"),
        lines.subList(1, 5).stream().sorted(Comparator.comparing(
            line -> line.contains("runs 2"))).collect(toList()));
  }

  private static long used(MockRM rm, MockNM node) {
    return rm.getResourceScheduler().getNodeReport(node.getNodeId()).getUsedResource()
        .getMemorySize();
  }

  @Test
  public void withoutAPathItIsTheStockScheduler() throws Exception {
    try (MockRM rm = start(conf(recording))) {
      assertEquals(2, script(rm));
    }
    assertFalse(new File(journal.getPath() + ".000001.000001").exists());
  }

  @Test
  public void aPathThatCannotBeWrittenDisturbsNobody() throws Exception {
    Configuration conf = recorded();
    conf.set(Journal.PATH_PROPERTY, "/dev/full");
    try (MockRM rm = start(conf)) {
      assertEquals(2, script(rm));
    }
  }

  @Test
  public void aJournalThatIsFullDisturbsNobody() throws Exception {
    Configuration conf = recorded();
    conf.setLong(Journal.BYTES_PROPERTY, 1);
    try (MockRM rm = start(conf)) {
      assertEquals(2, script(rm));
    }
  }

  /** A fault in the recorder itself, as a library that cannot be loaded would be one. */
  @Test
  public void aFaultOfTheRecorderDisturbsNobody() throws Exception {
    Configuration conf = recorded();
    conf.set(Journal.BYTES_PROPERTY, "much");
    try (MockRM rm = start(conf)) {
      assertEquals(2, script(rm));
    }
    assertFalse(new File(journal.getPath() + ".000001.000001").exists());
  }

  /**
   * ApplicationMasters call, nodes report and the Fair Scheduler's own thread places, all at once.
   * Each container is there once, and its end comes after its start. RecordingTest has the Capacity
   * Scheduler's threads.
   */
  @Test
  public void manyThreadsLeaveAWholeJournal() throws Exception {
    final int masters = 6;
    final int containers = 40;
    Configuration conf = recorded();
    conf.setBoolean("yarn.scheduler.fair.continuous-scheduling-enabled", true);
    // It places only what its last update has seen.
    conf.setLong("yarn.scheduler.fair.update-interval-ms", 10);
    Set<String> got = ConcurrentHashMap.newKeySet();
    ExecutorService threads = Executors.newCachedThreadPool();
    try (MockRM rm = start(conf)) {
      List<MockNM> nodes = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        nodes.add(rm.registerNode("a" + i + ":1234", 16 * GB, 64));
      }
      rm.drainEvents();
      List<MockAM> all = new ArrayList<>();
      for (int i = 0; i < masters; i++) {
        all.add(launch(rm));
      }
      AtomicBoolean over = new AtomicBoolean();
      List<Future<?>> reports = new ArrayList<>();
      for (MockNM node : nodes) {
        reports.add(threads.submit(() -> {
          while (!over.get()) {
            node.nodeHeartbeat(true);
            // Faster than the ResourceManager works, its queue of events would only grow.
            Thread.sleep(2);
          }
          return null;
        }));
      }
      List<Future<?>> calls = new ArrayList<>();
      for (int i = 0; i < masters; i++) {
        int job = i;
        calls.add(threads.submit(() -> takeAndGiveBack(all.get(job), job, containers, got)));
      }
      try {
        for (Future<?> call : calls) {
          call.get(300, TimeUnit.SECONDS);
        }
      } finally {
        over.set(true);
      }
      for (Future<?> report : reports) {
        report.get(60, TimeUnit.SECONDS);
      }
      rm.drainEvents();
    } finally {
      threads.shutdownNow();
    }
    Set<String> running = new HashSet<>();
    Set<String> ended = new HashSet<>();
    Pattern line = Pattern.compile("job (\\d+) (runs|ended) (\\d+) (on|with).*");
    for (String text : JournalFile.read(journal, 1).lines) {
      Matcher matcher = line.matcher(text);
      if (matcher.matches()) {
        String container = matcher.group(1) + "/" + matcher.group(3);
        boolean starts = matcher.group(2).equals("runs");
        assertTrue(text, starts ? running.add(container) : running.contains(container));
        assertTrue(text, starts || ended.add(container));
      }
    }
    assertTrue(got.size() + " containers", got.size() >= masters * containers);
    assertTrue("started", running.containsAll(got));
    assertTrue("ended", ended.containsAll(got));
  }

  /** Asks for containers and gives each back, until it has got this many; notes all of them. */
  private static Void takeAndGiveBack(MockAM am, int job, int count, Set<String> got)
      throws Exception {
    List<ContainerId> back = new ArrayList<>();
    for (int taken = 0; taken < count || !back.isEmpty();) {
      List<ResourceRequest> asks = new ArrayList<>();
      if (taken < count) {
        asks.add(TestCluster.any(MAP, GB, 2));
      }
      List<Container> containers = am.allocate(asks, back).getAllocatedContainers();
      back = new ArrayList<>();
      Thread.sleep(1);
      for (Container container : containers) {
        got.add(job + "/" + (container.getId().getContainerId() & 0xFFFF));
        back.add(container.getId());
        taken++;
      }
    }
    return null;
  }
}
