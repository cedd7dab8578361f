package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.config.ConfigFile;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests what changes of queues mean to applications, under the files of the stock schedulers:
 * reloads, moves, submissions for others, rights, restarts.
 */
public class QueueChangeTest {
  private static final String ROOT = "yarn.scheduler.capacity.root.";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private static Configuration capacity(Configuration conf) {
    conf.set("heddle.queues.from", "capacity");
    conf.set(ROOT + "queues", "a,b");
    conf.set(ROOT + "a.capacity", "60");
    conf.set(ROOT + "b.capacity", "40");
    return conf;
  }

  private File fair(Configuration conf, String allocations) throws IOException {
    File file = folder.newFile();
    write(file, allocations);
    conf.set("heddle.queues.from", "fair");
    conf.set("yarn.scheduler.fair.allocation.file", file.getPath());
    return file;
  }

  private static void write(File file, String allocations) throws IOException {
    Files.write(file.toPath(), ("<allocations>" + allocations + "</allocations>")
        .getBytes(StandardCharsets.UTF_8));
  }

  private static void reload(TestCluster cluster, Configuration conf) throws IOException {
    cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
  }

  private static QueueState state(TestCluster cluster, String queue) throws IOException {
    cluster.refreshQueues();
    return cluster.scheduler.getQueueInfo(queue, false, false).getQueueState();
  }

  private static void end(TestCluster cluster, RMApp app) throws Exception {
    cluster.rm.killApp(app.getApplicationId());
    cluster.rm.waitForAppRemovedFromScheduler(app.getApplicationId());
  }

  private static void refused(TestCluster cluster, Configuration conf, String words) {
    try {
      reload(cluster, conf);
      fail("must be refused: " + words);
    } catch (IOException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(words));
    }
  }

  /** {@code CapacitySchedulerConfigValidator}, {@code QueueStateHelper}, AbstractLeafQueue. */
  @Test
  public void aReloadOfACapacityFileIsRefusedAsByStock() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "a");
      Configuration without = new Configuration(conf);
      without.set(ROOT + "queues", "b");
      without.set(ROOT + "b.capacity", "100");
      without.unset(ROOT + "a.capacity");
      refused(cluster, without, "queue root.a left the file while it is running");
      Configuration smaller = new Configuration(conf);
      smaller.set(ROOT + "a.maximum-allocation-mb", "4096");
      refused(cluster, smaller, "queue root.a: its largest container");

      Configuration stopped = new Configuration(conf);
      stopped.set(ROOT + "a.state", "STOPPED");
      reload(cluster, stopped);
      assertEquals(QueueState.DRAINING, state(cluster, "root.a"));
      end(cluster, app);
      assertEquals(QueueState.STOPPED, state(cluster, "root.a"));
      reload(cluster, conf);
      assertEquals("until RUNNING is written", QueueState.STOPPED, state(cluster, "root.a"));
      Configuration running = new Configuration(conf);
      running.set(ROOT + "a.state", "RUNNING");
      reload(cluster, running);
      assertEquals(QueueState.RUNNING, state(cluster, "root.a"));
      reload(cluster, stopped);
      reload(cluster, without);
      Thread.sleep(1_100);
      cluster.tick();
      assertNull(cluster.scheduler.getQueue("root.a"));
    }
  }

  /** A lock whose holders wait long for it, as behind a busy scheduler. */
  private static final class SlowLock extends ReentrantLock {
    private static final long serialVersionUID = 1;

    @Override
    public void lock() {
      try {
        Thread.sleep(200);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      super.lock();
    }
  }

  private static long effectiveMb(TestCluster cluster, String queue) throws Exception {
    return cluster.scheduler.getQueueInfo(queue, false, false).getQueueConfigurations().get("")
        .getEffectiveMinCapacity().getMemorySize();
  }

  /** The reports of many queues are renewed seldom; a node that is lost changes all at once. */
  @Test
  public void percentagesFollowALostNodeWithoutWaiting() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    conf.set(ROOT + "a.capacity", "50");
    conf.set(ROOT + "b.capacity", "50");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      cluster.tick();
      // The next one is due seconds after this one.
      cluster.scheduler.queues.clusterChanged(
          cluster.scheduler.getClusterResource(),
          cluster.scheduler.getMaximumResourceCapability());
      cluster.scheduler.queues.refreshIfDue(new SlowLock());
      assertEquals(8 * GB, effectiveMb(cluster, "root.a"));
      cluster.forget(second);
      cluster.rm.sendNodeLost(second);
      cluster.tick();
      assertEquals(4 * GB, effectiveMb(cluster, "root.a"));
    }
  }

  @Test
  public void aQueueThatIsKeptStoppedStaysSoInTheNextEngine() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    Configuration stopped = new Configuration(conf);
    stopped.set(ROOT + "a.state", "STOPPED");
    try (TestCluster cluster = new TestCluster(stopped).expectFaults()) {
      cluster.node("a1", 8 * GB);
      reload(cluster, conf);
      cluster.scheduler.engine.lost("a test");
      cluster.tick();
      assertEquals(QueueState.STOPPED, state(cluster, "root.a"));
    }
  }

  @Test
  public void anEmptyQueueThatLeftAFairFileGoesAndItsParentIsALeaf() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    File file = fair(conf, "<queue name='a'><queue name='k'/></queue>");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      write(file, "<queue name='a'/>");
      reload(cluster, conf);
      Thread.sleep(1_100);
      cluster.tick();
      assertNull(cluster.scheduler.getQueue("root.a.k"));
      assertEquals("root.a", cluster.submit("alice", "root.a").getQueue());
      QueueInfo info = cluster.scheduler.getQueueInfo("root.a", false, false);
      assertEquals("as stock", 0, info.getQueueStatistics().getNumActiveUsers());
      if (!VersionInfo.getVersion().startsWith("3.3")) {
        assertEquals("as stock", -1,
            QueueInfo.class.getMethod("getMaxParallelApps").invoke(info));
      }
      // A queue with a job stays a leaf, and the one below waits.
      write(file, "<queue name='a'><queue name='k'/></queue>");
      reload(cluster, conf);
      assertNull(cluster.scheduler.getQueue("root.a.k"));
      assertTrue(cluster.scheduler.reports.snapshot().get("root.a").leaf);
    }
  }

  /** {@code CapacityScheduler.preValidateMoveApplication}. */
  @Test
  public void aMoveMeetsTheLimitsOfASubmission() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    conf.set(ROOT + "queues", "a,b,c");
    conf.set(ROOT + "b.capacity", "20");
    conf.set(ROOT + "c.capacity", "20");
    conf.set(ROOT + "b.state", "STOPPED");
    conf.set(ROOT + "c.maximum-applications", "1");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "a");
      cluster.submit("bob", "c");
      String[][] cases = {{"root.b", "is stopped"}, {"root.c", "max_jobs"}};
      for (String[] one : cases) {
        try {
          cluster.scheduler.preValidateMoveApplication(app.getApplicationId(), one[0]);
          fail(one[0]);
        } catch (YarnException e) {
          assertTrue(e.getMessage(), e.getMessage().contains(one[1]));
        }
      }
    }
  }

  /** {@code RMAppManager.getUserNameForPlacement}: the caller's rights count, not the tag's. */
  @Test
  public void aSubmissionForAnotherUserAsksForTheCallersRights() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    fair(conf, "<queue name='root'><aclSubmitApps>hive</aclSubmitApps>"
        + "<aclAdministerApps> </aclAdministerApps></queue><queuePlacementPolicy>"
        + "<rule name='user' create='true'/></queuePlacementPolicy>");
    conf.setBoolean(YarnConfiguration.APPLICATION_TAG_BASED_PLACEMENT_ENABLED, true);
    conf.set(YarnConfiguration.APPLICATION_TAG_BASED_PLACEMENT_USER_WHITELIST, "hive");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      RMApp app = MockRMAppSubmitter.submit(cluster.rm, cluster.submission("hive", null)
          .withApplicationTags(Collections.singleton("userid=carol")).build());
      assertEquals("hive", app.getUser());
      assertEquals("carol's does not exist, as stock", "root.hive", app.getQueue());
    }
  }

  /**
   * Where hive's submission for carol goes, over a Capacity Scheduler's file with rights.
   *
   * @param may who may submit to carol's queue
   */
  private static String placedForCarol(Class<?> scheduler, String may) throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    conf.set(ROOT + "queues", "carol,hive");
    conf.set(ROOT + "carol.capacity", "60");
    conf.set(ROOT + "hive.capacity", "40");
    conf.set("yarn.scheduler.capacity.queue-mappings", "u:%user:%user");
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    String[][] rights = {{"", " "}, {"carol.", may}, {"hive.", "hive"}};
    for (String[] of : rights) {
      conf.set(ROOT + of[0] + "acl_submit_applications", of[1]);
      conf.set(ROOT + of[0] + "acl_administer_queue", " ");
    }
    conf.setBoolean(YarnConfiguration.APPLICATION_TAG_BASED_PLACEMENT_ENABLED, true);
    conf.set(YarnConfiguration.APPLICATION_TAG_BASED_PLACEMENT_USER_WHITELIST, "hive");
    MockRM rm = new MockRM(conf);
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    try {
      RMApp app = MockRMAppSubmitter.submit(rm, MockRMAppSubmissionData.Builder
          .createWithMemory(GB, rm).withAppName("test").withUser("hive").withQueue(null)
          .withUnmanagedAM(false).withAcls(new HashMap<>())
          .withApplicationTags(Collections.singleton("userid=carol")).build());
      return app.getUser() + "'s in " + app.getQueue().replaceFirst("root\\.", "");
    } finally {
      rm.stop();
    }
  }

  /** The application stays its submitter's: the tag places it, and the limits are the user's. */
  @Test
  public void aSubmissionForAnotherUserIsPlacedAsByStockOverACapacityFile() throws Exception {
    String[][] cases = {{"carol", "hive's in hive"}, {"carol,hive", "hive's in carol"}};
    for (String[] one : cases) {
      assertEquals("stock", one[1], placedForCarol(CapacityScheduler.class, one[0]));
      assertEquals("Heddle", one[1], placedForCarol(HeddleScheduler.class, one[0]));
    }
  }

  private static String refusal(TestCluster cluster, String user, String queue) {
    try {
      cluster.submit(user, queue);
    } catch (Exception e) {
      return String.valueOf(e.getCause());
    }
    throw new AssertionError(user + " into " + queue);
  }

  /**
   * Asks for each kind of queue: alice learns why not, and mallory only that she may not.
   *
   * @param below what alice is told of a parent
   * @param unknown what she is told of a queue that does not exist
   */
  private static void assertNothingIsLearnt(Configuration conf, String below, String unknown)
      throws Exception {
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      cluster.submit("alice", "root.full");
      String[][] cases = {{"root.p", below}, {"root.nowhere", unknown},
          {"root.full", "max_jobs"}, {"root.still", "is stopped"}, {"root.p.q", null}};
      for (String[] one : cases) {
        String told = refusal(cluster, "mallory", one[0]);
        assertTrue(told, told.contains("does not have permission"));
        if (one[1] != null) {
          assertFalse(told, told.contains(one[1]));
          told = refusal(cluster, "alice", one[0]);
          assertTrue(told, told.contains(one[1]));
          assertFalse(told, told.contains("permission"));
        }
      }
    }
  }

  @Test
  public void aUserWithoutRightsLearnsNothingOfQueues() throws Exception {
    Configuration conf = TestCluster.conf("{\"queues\": [{\"path\": \"root.full\","
        + " \"max_jobs\": 1}, {\"path\": \"root.still\", \"state\": \"stopped\"}]}");
    fair(conf, "<queue name='root'><aclSubmitApps>alice</aclSubmitApps>"
        + "<aclAdministerApps> </aclAdministerApps><queue name='p'><queue name='q'/></queue>"
        + "<queue name='full'/><queue name='still'/>"
        + "</queue><queuePlacementPolicy><rule name='specified' create='false'/>"
        + "<rule name='reject'/></queuePlacementPolicy>");
    assertNothingIsLearnt(conf, "below it", "rule refuses it");
  }

  @Test
  public void aUserWithoutRightsLearnsNothingOfQueuesOfACapacityFile() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    conf.set(ROOT + "queues", "p,full,still");
    conf.set(ROOT + "p.queues", "q");
    for (String queue : Arrays.asList("p", "full", "still", "p.q")) {
      conf.set(ROOT + queue + ".capacity", queue.equals("p.q") ? "100" : "30");
    }
    conf.set(ROOT + "p.capacity", "40");
    conf.set(ROOT + "full.maximum-applications", "1");
    conf.set(ROOT + "still.state", "STOPPED");
    conf.set(ROOT + "acl_submit_applications", "alice");
    conf.set(ROOT + "acl_administer_queue", " ");
    assertNothingIsLearnt(conf, "below it", "unknown queue");
  }

  /** {@code CapacityScheduler.checkAccess}. */
  @Test
  public void aNameThatMeansTwoQueuesGivesNoAccess() throws Exception {
    Configuration conf = capacity(TestCluster.conf("{}"));
    conf.set(ROOT + "a.queues", "b");
    conf.set(ROOT + "a.b.capacity", "100");
    try (TestCluster cluster = new TestCluster(conf)) {
      UserGroupInformation user = UserGroupInformation.createRemoteUser("alice");
      assertFalse(
          cluster.scheduler.checkAccess(user, QueueACL.SUBMIT_APPLICATIONS, "b"));
      assertTrue(
          cluster.scheduler.checkAccess(user, QueueACL.SUBMIT_APPLICATIONS, "root.b"));
      assertTrue(cluster.scheduler.checkAccess(user, QueueACL.SUBMIT_APPLICATIONS, "a"));
    }
  }

  /** Ticks until an application has diagnostics: the engine is asked for them at intervals. */
  private static String told(TestCluster cluster, RMApp app) throws Exception {
    String told = "";
    for (int i = 0; i < 200 && told.isEmpty(); i++) {
      cluster.tick();
      told = app.createAndGetApplicationReport(app.getUser(), true).getDiagnostics();
      Thread.sleep(50);
    }
    return told;
  }

  @Test
  public void afterARestartTheRecordedQueueStands() throws Exception {
    Configuration conf = TestCluster.recovering("{}");
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit()) {
      MockNM node = old.node("a1", 8 * GB);
      RMApp made = old.submit("carol", "root.staff.carol");
      String queue = made.getQueue();
      MockAM am = old.launch(made, node);
      RMApp waits = old.submit("carol", "root.staff.carol");
      conf.set(ConfigFile.FILE_PROPERTY, TestCluster.write(
          "{\"placement\": [{\"rule\": \"user\"}]}").getPath());
      try (TestCluster next = new TestCluster(conf, store).withoutAudit()) {
        RMApp kept = next.rm.getRMContext().getRMApps().get(made.getApplicationId());
        assertEquals(queue, kept.getQueue());
        node.setResourceTrackerService(next.rm.getResourceTrackerService());
        node.registerNode(Collections.singletonList(TestCluster.amReport(am, GB)),
            Collections.singletonList(made.getApplicationId()));
        next.rm.drainEvents();
        conf.set(ConfigFile.FILE_PROPERTY, TestCluster.write(
            "{\"queues\": [{\"path\": \"" + queue + ".below\"}]}").getPath());
        // The store ends with the first that stops.
        try (TestCluster last = new TestCluster(conf, store).withoutAudit()) {
          RMApp lost = last.rm.getRMContext().getRMApps().get(made.getApplicationId());
          assertEquals("root.recovery", lost.getQueue());
          // Applications without an attempt are told with the first tick.
          last.tick();
          JobNames names = last.scheduler.jobNames;
          for (RMApp app : Arrays.asList(made, waits)) {
            String id = app.getApplicationId().toString();
            JsonNode row = names.of("/heddle/v1/explain/" + id).path(0);
            assertEquals(id, row.path(1).asText());
            assertEquals(queue, row.path(5).asText());
          }
          // YARN shows no such text of an attempt that it has recovered.
          String said = told(last, last.rm.getRMContext().getRMApps().get(
              waits.getApplicationId()));
          assertTrue(said, said.startsWith("Its queue " + queue + " is gone or has queues below it"
              + " since the restart; the application runs on in root.recovery."));
        }
      }
    }
  }
}
