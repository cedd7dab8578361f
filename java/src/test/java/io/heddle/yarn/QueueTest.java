package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.queues.QueueSnapshot;
import io.heddle.yarn.queues.QueueView;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.junit.Test;

/** Tests queues for users, administrators and the configuration. */
public class QueueTest {
  private static final String TWO_QUEUES =
      "{\"heartbeat_fill\": 1.0, \"queues\": ["
      + "{\"path\": \"root\", \"acl_submit\": \" \", \"acl_admin\": \"boss\"},"
      + "{\"path\": \"root.ads\", \"acl_submit\": \"alice,bob\"},"
      + "{\"path\": \"root.web.search\", \"acl_submit\": \"bob\", \"max_running_jobs\": 1}],"
      + "\"placement\": [{\"rule\": \"specified\", \"create\": false}]}";

  private static UserGroupInformation user(String name) {
    return UserGroupInformation.createUserForTesting(name, new String[0]);
  }

  @Test
  public void submissionsGoWhereTheRulesSay() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      cluster.node("a1", 8 * GB);
      assertEquals("root.alice", cluster.submit("alice", null).getQueue());
      assertEquals("root.alice", cluster.submit("alice", "default").getQueue());
      assertEquals("root.x.y", cluster.submit("alice", "root.x.y").getQueue());
      assertEquals("root.z", cluster.submit("alice", "z").getQueue());
      QueueInfo root = cluster.scheduler.getQueueInfo("root", true, true);
      assertEquals(3, root.getChildQueues().size());
      assertNotNull(cluster.scheduler.getQueueInfo("x", true, false));
      assertEquals(2, cluster.scheduler.getAppsInQueue("root.alice").size());
      assertEquals(4, cluster.scheduler.getAppsInQueue("root").size());
      assertNull(cluster.scheduler.getAppsInQueue("root.nobody"));
    }
  }

  @Test
  public void aQueueThatDoesNotExistIsAnErrorForTheUser() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(TWO_QUEUES))) {
      cluster.node("a1", 8 * GB);
      try {
        cluster.submit("alice", "root.nosuch");
        fail("the queue does not exist");
      } catch (Exception e) {
        assertTrue(String.valueOf(e.getCause()), e.getCause().getMessage().contains("nosuch"));
      }
      try {
        cluster.scheduler.getQueueInfo("root.nosuch", false, false);
        fail("the queue does not exist");
      } catch (IOException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("root.nosuch"));
      }
    }
  }

  @Test
  public void rightsAreThoseOfTheQueueAndAllAbove() throws Exception {
    Configuration conf = TestCluster.conf(TWO_QUEUES);
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      HeddleScheduler scheduler = cluster.scheduler;
      QueueACL submit = QueueACL.SUBMIT_APPLICATIONS;
      assertTrue(scheduler.checkAccess(user("alice"), submit, "root.ads"));
      assertFalse(scheduler.checkAccess(user("alice"), submit, "root.web.search"));
      assertFalse(scheduler.checkAccess(user("mallory"), submit, "root.ads"));
      assertFalse(scheduler.checkAccess(user("alice"), QueueACL.ADMINISTER_QUEUE, "root.ads"));
      assertTrue(scheduler.checkAccess(user("boss"), QueueACL.ADMINISTER_QUEUE, "root.ads"));
      assertTrue("administering implies submitting",
          scheduler.checkAccess(user("boss"), submit, "root.web.search"));
      assertTrue("of a queue that is gone, the one above decides",
          scheduler.checkAccess(user("boss"), QueueACL.ADMINISTER_QUEUE, "root.web.gone"));
      assertFalse(scheduler.checkAccess(user("bob"), submit, "root.gone"));

      assertEquals("root.ads", cluster.submit("alice", "ads").getQueue());
      try {
        cluster.submit("mallory", "root.ads");
        fail("mallory may not submit");
      } catch (Exception e) {
        String message = String.valueOf(e.getCause());
        assertTrue(message, message.contains("mallory") && message.contains("root.ads"));
      }
      UserGroupInformation.setLoginUser(user("bob"));
      try {
        int queues = 0;
        for (QueueUserACLInfo rights : scheduler.getQueueUserAclInfo()) {
          queues += rights.getUserAcls().contains(submit) ? 1 : 0;
        }
        assertEquals("ads and search", 2, queues);
      } finally {
        UserGroupInformation.setLoginUser(null);
      }
    }
  }

  @Test
  public void withoutAclsEverybodyMayEverything() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(TWO_QUEUES))) {
      assertTrue(cluster.scheduler.checkAccess(
          user("mallory"), QueueACL.ADMINISTER_QUEUE, "root.web.search"));
    }
  }

  @Test
  public void anApplicationMovesWithItsContainersAndAsks() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(TWO_QUEUES))) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "root.ads");
      MockAM am = cluster.launch(app, node);
      ask(am, any(1, GB, 2), any(2, 32 * GB / 8, 3));
      cluster.heartbeat();
      cluster.scheduler.preValidateMoveApplication(app.getApplicationId(), "search");
      assertEquals("root.web.search",
          cluster.scheduler.moveApplication(app.getApplicationId(), "search"));
      cluster.assertBooksEqual();
      QueueMetrics ads = cluster.scheduler.reports.table().get("root.ads").getMetrics();
      QueueMetrics search = cluster.scheduler.reports.table().get("root.web.search").getMetrics();
      assertEquals(0, ads.getAllocatedContainers());
      assertEquals(0, ads.getPendingContainers());
      assertEquals(4, search.getAllocatedContainers());
      assertEquals(2, search.getPendingContainers());
      cluster.refreshQueues();
      QueueView view = cluster.scheduler.reports.table().snapshot().get("root.web.search");
      assertEquals("the engine agrees", 4, view.described.path("running_containers").asInt());
      assertEquals(2, view.described.path("pending_containers").asInt());
      try {
        cluster.scheduler.preValidateMoveApplication(app.getApplicationId(), "root.web");
        fail("not a leaf");
      } catch (YarnException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("root.web"));
      }
    }
  }

  @Test
  public void aQueuesLimitOfRunningJobsIsKept() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(TWO_QUEUES))) {
      MockNM node = cluster.node("a1", 16 * GB);
      RMApp first = cluster.submit("bob", "search");
      MockAM am = cluster.launch(first, node);
      RMApp second = cluster.submit("bob", "search");
      cluster.heartbeat();
      cluster.heartbeat();
      assertEquals(15 * GB, cluster.freeMb(node));
      cluster.rm.killApp(first.getApplicationId());
      cluster.rm.waitForState(first.getApplicationId(), RMAppState.KILLED);
      cluster.rm.waitForAppRemovedFromScheduler(first.getApplicationId());
      MockAM next = cluster.launch(second, node);
      ask(next, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(next).size());
      assertNotNull(am);
    }
  }

  @Test
  public void aPriorityIsStoredAndCountsAtOnce() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0, \"policy\": \"fifo\"}");
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 5 * GB);
      RMApp early = cluster.submit("alice", null);
      MockAM first = cluster.launch(early, node);
      RMApp late = cluster.submit("bob", null);
      MockAM second = cluster.launch(late, node);
      ask(first, any(1, GB, 3));
      ask(second, any(1, GB, 3));
      SettableFuture<Object> future = SettableFuture.create();
      Priority priority = cluster.scheduler.updateApplicationPriority(
          Priority.newInstance(20), late.getApplicationId(), future, user("bob"));
      assertTrue("otherwise the caller waits forever", future.isDone());
      assertEquals("no higher than the cluster allows", 10, priority.getPriority());
      assertEquals(priority, late.getApplicationSubmissionContext().getPriority());
      cluster.heartbeat();
      assertEquals(3, fetch(second).size());
      assertEquals(0, fetch(first).size());
      SettableFuture<Object> again = SettableFuture.create();
      cluster.scheduler.updateApplicationPriority(
          priority, late.getApplicationId(), again, user("bob"));
      assertTrue(again.isDone());
    }
  }

  @Test
  public void aQueueDescribesItself() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(TWO_QUEUES))) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "ads");
      cluster.launch(app, node);
      cluster.tick();
      cluster.refreshQueues();
      QueueInfo info = cluster.scheduler.getQueueInfo("ads", false, false);
      assertEquals("root.ads", info.getQueueName());
      assertTrue(info.getAccessibleNodeLabels().contains("*"));
      assertEquals(1, info.getQueueStatistics().getNumAppsRunning());
      assertEquals(GB, info.getQueueStatistics().getAllocatedMemoryMB());
      assertEquals(1, cluster.scheduler.getRootQueueMetrics().getAppsSubmitted());
      assertEquals(7 * GB, cluster.scheduler.getRootQueueMetrics().getAvailableMB());
      // The percentage is of its possible share, not of its use.
      assertEquals(12.5f, app.getCurrentAppAttempt().getApplicationResourceUsageReport()
          .getQueueUsagePercentage(), 0.01f);
      assertEquals(0.125f, info.getCurrentCapacity(), 0.001f);
      // A new object each time, because callers may write into it.
      assertFalse(info == cluster.scheduler.getQueueInfo("ads", false, false));
    }
  }

  private static void expectRefusedAtStart(String json, String... words) throws Exception {
    Configuration conf = TestCluster.conf(json);
    try {
      new TestCluster(conf).close();
      fail("must not start with " + json);
    } catch (Exception e) {
      StringBuilder text = new StringBuilder();
      for (Throwable t = e; t != null; t = t.getCause()) {
        text.append(t.getMessage()).append('\n');
      }
      for (String word : words) {
        assertTrue(text.toString(), text.indexOf(word) >= 0);
      }
      assertTrue("names the file: " + text,
          text.indexOf(conf.get(ConfigFile.FILE_PROPERTY)) >= 0);
    }
  }

  @Test
  public void aWrongConfigurationRefusesToStart() throws Exception {
    expectRefusedAtStart("{\"polcy\": \"fair\"}", "polcy", "policy");
    expectRefusedAtStart("{\"policy\": \"fare\"}", "fair");
    expectRefusedAtStart("{\"queues\": [{\"path\": \"ads\"}]}", "queues[0].path");
    expectRefusedAtStart("{\"policy\": ", "line 1");
    expectRefusedAtStart("[]", "object");
    expectRefusedAtStart("{\"queues\": [], \"queues\": []}", "line 1", "queues");
    expectRefusedAtStart("{}}", "line 1");
  }

  @Test
  public void aWrongReloadChangesNothing() throws Exception {
    Configuration conf = TestCluster.conf(TWO_QUEUES);
    File file = new File(conf.get(ConfigFile.FILE_PROPERTY));
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "ads"), node);
      for (String wrong : new String[] {"{\"polcy\": 1}", "{", ""}) {
        Files.write(file.toPath(), wrong.getBytes(StandardCharsets.UTF_8));
        try {
          cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
          fail("must be refused: " + wrong);
        } catch (IOException e) {
          assertTrue(e.getMessage(), e.getMessage().contains(file.getPath()));
        }
        assertNotNull(cluster.scheduler.getQueueInfo("root.web.search", false, false));
      }
      Files.write(file.toPath(), TWO_QUEUES.replace("root.web.search", "root.web.shop")
          .getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertNotNull(cluster.scheduler.getQueueInfo("root.web.shop", false, false));
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void aRefusedSubmissionMakesNoQueue() throws Exception {
    String closed = "{\"queues\": [{\"path\": \"root\", \"acl_submit\": \"alice\","
        + " \"acl_admin\": \" \"},"
        + "{\"path\": \"root.open\", \"acl_submit\": \"*\"}]}";
    Configuration conf = TestCluster.conf(closed);
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      for (String queue : new String[] {null, "typo", "root.open.not.yet"}) {
        try {
          String got = cluster.submit("mallory", queue).getQueue();
          assertEquals("root.open.not.yet", got);
        } catch (Exception e) {
          String message = String.valueOf(e.getCause());
          assertTrue(message, message.contains("mallory") && message.contains("permission"));
          assertFalse("root.open is for all", "root.open.not.yet".equals(queue));
        }
      }
      cluster.refreshQueues();
      QueueSnapshot after = cluster.scheduler.reports.table().snapshot();
      assertNull(after.get("root.typo"));
      assertNull(after.get("root.mallory"));
      // Valid submissions still work.
      assertEquals("root.typo", cluster.submit("alice", "typo").getQueue());
    }
  }

  @Test
  public void anApplicationThatEndsWhileItWaitsIsActiveNoLonger() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 2 * GB);
      MockAM am = cluster.run("alice", node);
      QueueMetrics root = cluster.scheduler.getRootQueueMetrics();
      int before = root.getActiveApps();
      ask(am, any(1, GB, 50));
      assertEquals(before + 1, root.getActiveApps());
      cluster.rm.killApp(am.getApplicationAttemptId().getApplicationId());
      cluster.rm.drainEvents();
      assertEquals(before, root.getActiveApps());
    }
  }
}
