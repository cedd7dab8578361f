package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.After;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests a stock scheduler's file in the ResourceManager: sizes of asks, groups in rules of
 * placement, rights, lifetimes. Where the file is found is in config/FairFileTest.
 */
public class StockFileTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private Configuration fair(String allocations) throws Exception {
    File file = folder.newFile();
    Files.write(file.toPath(), ("<allocations>" + allocations + "</allocations>")
        .getBytes(StandardCharsets.UTF_8));
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "fair");
    conf.set("yarn.scheduler.fair.allocation.file", file.getPath());
    return conf;
  }

  private static Configuration capacity() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "capacity");
    String root = "yarn.scheduler.capacity.root.";
    conf.set(root + "queues", "a,b");
    conf.set(root + "a.capacity", "60");
    conf.set(root + "b.capacity", "40");
    return conf;
  }

  private static Resource of(long memoryMb, int vcores) {
    return Resource.newInstance(memoryMb, vcores);
  }

  // ---- Sizes.

  /** docs/develop/stock-fair.md, 9.6. */
  @Test
  public void asksAreRoundedUpToTheFairSchedulersIncrements() throws Exception {
    Configuration conf = fair("<queue name='a'><maxContainerAllocation>3072 mb, 4 vcores"
        + "</maxContainerAllocation><queue name='b'/></queue><queue name='c'/>");
    conf.setInt("yarn.scheduler.increment-allocation-mb", 512);
    conf.setInt("yarn.scheduler.increment-allocation-vcores", 2);
    try (TestCluster cluster = new TestCluster(conf)) {
      HeddleScheduler scheduler = cluster.scheduler;
      Resource most = of(4000, 5);
      assertEquals(of(1536, 2), scheduler.getNormalizedResource(of(1025, 2), most));
      assertEquals("the smallest container", of(1024, 2),
          scheduler.getNormalizedResource(of(1, 1), most));
      assertEquals("cut to the largest, which is no multiple", of(4000, 5),
          scheduler.getNormalizedResource(of(3900, 5), most));
      Resource largest = scheduler.getMaximumResourceCapability();
      assertEquals("the nearest queue above", of(3072, 4),
          scheduler.getMaximumResourceCapability("root.a.b"));
      assertEquals(largest, scheduler.getMaximumResourceCapability("root.c"));
      assertEquals(largest, scheduler.getMaximumResourceCapability("root.unknown"));
      cluster.node("a1", 16 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "root.a.b"), cluster.node("a2", 16 * GB));
      try {
        ask(am, any(1, 3073, 1));
        fail("larger than a container may be in the queue");
      } catch (InvalidResourceRequestException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("3072"));
      }
      ask(am, any(1, 2600, 1));
      cluster.heartbeat();
      assertEquals(3072, TestCluster.fetch(am).get(0).getResource().getMemorySize());
    }
  }

  @Test
  public void asksAreRoundedUpToTheSmallestContainerWithoutAFairSchedulersFile()
      throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.setInt("yarn.scheduler.increment-allocation-mb", 512);
    try (TestCluster cluster = new TestCluster(conf)) {
      assertEquals(of(2048, 1),
          cluster.scheduler.getNormalizedResource(of(1025, 1), of(8 * GB, 4)));
    }
  }

  /** With its default calculator the Capacity Scheduler gives every container one vcore. */
  @Test
  public void memoryAloneCountsUnlessTheCapacitySchedulersFileSaysOtherwise() throws Exception {
    try (TestCluster cluster = new TestCluster(capacity())) {
      assertEquals(of(2048, 1),
          cluster.scheduler.getNormalizedResource(of(1025, 3), of(8 * GB, 4)));
      assertEquals("[MEMORY]", cluster.scheduler.getSchedulingResourceTypes().toString());
    }
    Configuration dominant = capacity();
    dominant.set("yarn.scheduler.capacity.resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");
    try (TestCluster cluster = new TestCluster(dominant)) {
      assertEquals(of(2048, 3),
          cluster.scheduler.getNormalizedResource(of(1025, 3), of(8 * GB, 4)));
      assertEquals("[MEMORY, CPU]", cluster.scheduler.getSchedulingResourceTypes().toString());
    }
  }

  /** A node of 4 vcores: the ApplicationMaster and 3 containers of 1 GB, or as many as fit. */
  @Test
  public void aRefreshThatChangesTheCalculatorChangesWhatNodesHold() throws Exception {
    String calculator = "yarn.scheduler.capacity.resource-calculator";
    String dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
    Configuration conf = capacity();
    conf.set("yarn.scheduler.capacity.root.a.user-limit-factor", "10");
    conf.set(calculator, dominant);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 16 * GB, 4);
      MockAM am = cluster.launch(cluster.submit("alice", "root.a"), node);
      long masterMb = 16 * GB - cluster.freeMb(node);
      ask(am, any(1, GB, 10));
      cluster.heartbeat();
      assertEquals(masterMb + 3 * GB, 16 * GB - cluster.freeMb(node));
      conf.unset(calculator);
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals("[MEMORY]", cluster.scheduler.getSchedulingResourceTypes().toString());
      cluster.heartbeat();
      assertEquals(masterMb + 10 * GB, 16 * GB - cluster.freeMb(node));
      assertEquals(-7, cluster.scheduler.getSchedulerNode(node.getNodeId())
          .getUnallocatedResource().getVirtualCores());
      assertEquals(10, TestCluster.fetch(am).size());
      cluster.assertBooksEqual();
      conf.set(calculator, dominant);
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(masterMb + 10 * GB, 16 * GB - cluster.freeMb(node));
    }
  }

  // ---- Placement and rights.

  private static Configuration grouped(Configuration conf) {
    conf.set(CommonConfigurationKeys.HADOOP_USER_GROUP_STATIC_OVERRIDES,
        "carol=staff,dev;nobody-knows=");
    // Hadoop keeps the first one for the whole process.
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(conf);
    return conf;
  }

  @After
  public void forgetGroups() {
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(new Configuration());
  }

  @Test
  public void groupsAreThoseThatHadoopFinds() throws Exception {
    Configuration conf = grouped(fair("<queue name='dev'/><queuePlacementPolicy>"
        + "<rule name='secondaryGroupExistingQueue'/><rule name='primaryGroup'/>"
        + "</queuePlacementPolicy>"));
    try (TestCluster cluster = new TestCluster(conf)) {
      assertEquals("root.dev", cluster.submit("carol", null).getQueue());
    }
    conf = grouped(
        fair("<queuePlacementPolicy><rule name='primaryGroup'/></queuePlacementPolicy>"));
    try (TestCluster cluster = new TestCluster(conf)) {
      assertEquals("root.staff", cluster.submit("carol", null).getQueue());
      try {
        cluster.submit("nobody-knows", null);
        fail("a user without groups");
      } catch (Exception e) {
        assertTrue(e.toString(), String.valueOf(e.getCause()).contains("nobody-knows"));
      }
    }
  }

  /** FairScheduler.addApplication checks the right to submit in any case. */
  @Test
  public void theFairSchedulersRightsHoldWithoutYarnAclEnable() throws Exception {
    Configuration conf = fair("<queue name='root'><aclSubmitApps> </aclSubmitApps>"
        + "<aclAdministerApps> </aclAdministerApps>"
        + "<queue name='a'><aclSubmitApps>alice</aclSubmitApps></queue></queue>");
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, false);
    try (TestCluster cluster = new TestCluster(conf)) {
      assertEquals("root.a", cluster.submit("alice", "root.a").getQueue());
      try {
        cluster.submit("bob", "root.a");
        fail("bob may not submit");
      } catch (Exception e) {
        assertTrue(e.toString(), String.valueOf(e.getCause()).contains("permission"));
      }
    }
  }

  /** docs/develop/stock-fair.md, 6.6. */
  @Test
  public void prioritiesCountUnderAFairFileOnlyWhereHeddleJsonSetsAMaximum() throws Exception {
    Configuration conf = fair("<queue name='a'/><queue name='b'/>");
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    Files.write(new File(conf.get("heddle.config.file")).toPath(),
        "{\"queues\": [{\"path\": \"root.b\", \"max_priority\": 5}]}"
            .getBytes(StandardCharsets.UTF_8));
    try (TestCluster cluster = new TestCluster(conf)) {
      HeddleScheduler scheduler = cluster.scheduler;
      for (int asked : new int[] {7, -3}) {
        assertEquals(0, scheduler.checkAndGetApplicationPriority(Priority.newInstance(asked),
            alice(), "root.a", null).getPriority());
      }
      assertEquals(5, scheduler.checkAndGetApplicationPriority(Priority.newInstance(7),
          alice(), "root.b", null).getPriority());
      RMApp app = cluster.submit("alice", "root.a");
      try {
        scheduler.updateApplicationPriority(Priority.newInstance(7), app.getApplicationId(),
            SettableFuture.create(), alice());
        fail("stock does not support it");
      } catch (YarnException e) {
        assertTrue(e.getMessage(), e.getMessage().contains("max_priority"));
      }
    }
  }

  /** docs/develop/stock-capacity.md, 6.4. */
  @Test
  public void aCapacityFileGrantsPrioritiesByUserAndByWorkflow() throws Exception {
    Configuration conf = capacity();
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    String file = "yarn.scheduler.capacity.";
    conf.set(file + "root.a.acl_application_max_priority",
        "[user=alice group=ops max_priority=6 default_priority=2]");
    conf.set(file + "workflow-priority-mappings", "nightly:root.a:5,report:root.a:8");
    conf.set(file + "workflow-priority-mappings-override.enable", "true");
    try (TestCluster cluster = new TestCluster(conf)) {
      HeddleScheduler scheduler = cluster.scheduler;
      assertEquals(6, scheduler.checkAndGetApplicationPriority(Priority.newInstance(6),
          alice(), "root.a", null).getPriority());
      assertEquals(2, scheduler.checkAndGetApplicationPriority(
          null, alice(), "root.a", null).getPriority());
      UserGroupInformation ops =
          UserGroupInformation.createUserForTesting("oscar", new String[] {"ops"});
      assertEquals(1, scheduler.checkAndGetApplicationPriority(Priority.newInstance(1),
          ops, "root.a", null).getPriority());
      UserGroupInformation bob = UserGroupInformation.createRemoteUser("bob");
      refuses(() -> scheduler.checkAndGetApplicationPriority(Priority.newInstance(7),
          alice(), "root.a", null));
      refuses(() -> scheduler.checkAndGetApplicationPriority(null, bob, "root.a", null));
      assertEquals(9, scheduler.checkAndGetApplicationPriority(Priority.newInstance(9),
          bob, "root.b", null).getPriority());
      RMApp nightly = ofWorkflow(cluster, "nightly");
      assertEquals(5, nightly.getApplicationPriority().getPriority());
      assertEquals(5, nightly.getApplicationSubmissionContext().getPriority().getPriority());
      assertEquals(2, ofWorkflow(cluster, "other").getApplicationPriority().getPriority());
      refuses(() -> scheduler.updateApplicationPriority(Priority.newInstance(7),
          nightly.getApplicationId(), SettableFuture.create(), alice()));
    }
  }

  private static RMApp ofWorkflow(TestCluster cluster, String workflow) throws Exception {
    String tag = YarnConfiguration.DEFAULT_YARN_WORKFLOW_ID_TAG_PREFIX + workflow;
    return MockRMAppSubmitter.submit(cluster.rm, cluster.submission("alice", "root.a")
        .withAppPriority(null).withApplicationTags(Collections.singleton(tag)).build());
  }

  private static void refuses(Callable<?> call) throws Exception {
    try {
      call.call();
    } catch (YarnException e) {
      assertTrue(e.getMessage(), e.getMessage().contains("max_priorities"));
      return;
    }
    fail("the queue does not grant it");
  }

  private static UserGroupInformation alice() {
    return UserGroupInformation.createRemoteUser("alice");
  }

  @Test
  public void lifetimesAreTheQueues() throws Exception {
    Configuration conf = capacity();
    String queue = "yarn.scheduler.capacity.root.a.";
    conf.set(queue + "default-application-lifetime", "60");
    conf.set(queue + "maximum-application-lifetime", "90");
    try (TestCluster cluster = new TestCluster(conf)) {
      HeddleScheduler scheduler = cluster.scheduler;
      assertEquals(60, scheduler.checkAndGetApplicationLifetime("root.a", -1));
      assertEquals(90, scheduler.checkAndGetApplicationLifetime("root.a", 100));
      assertEquals(80, scheduler.checkAndGetApplicationLifetime("a", 80));
      assertEquals(90, scheduler.getMaximumApplicationLifetime("root.a"));
      assertEquals(100, scheduler.checkAndGetApplicationLifetime("root.b", 100));
      assertEquals(-1, scheduler.getMaximumApplicationLifetime("root.b"));
    }
  }

  /** The console shows it; the log alone had it before. */
  @Test
  public void whatAFileDoesNotDoIsAWarningUntilItLeavesTheFile() throws Exception {
    Configuration conf = fair("<queue name='a'><schedulingPolicy>drf</schedulingPolicy></queue>");
    try (TestCluster cluster = new TestCluster(conf)) {
      List<String> warnings = cluster.scheduler.config.warnings();
      assertEquals(warnings.toString(), 1, warnings.size());
      assertTrue(warnings.get(0), warnings.get(0).contains("queue root.a does not exist"));
      Files.write(Paths.get(conf.get("yarn.scheduler.fair.allocation.file")),
          "<allocations><queue name='a'/></allocations>".getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(Collections.emptyList(), cluster.scheduler.config.warnings());
    }
  }

  // ---- Queues in which nothing fits.

  private static void refusesSubmission(TestCluster cluster, String queue) {
    try {
      cluster.submit("alice", queue);
      fail(queue);
    } catch (Exception e) {
      assertTrue(String.valueOf(e.getCause()),
          String.valueOf(e.getCause()).contains("max_share is 0"));
    }
  }

  /** {@code FairScheduler.addApplication}: the ApplicationMaster never fits. */
  @Test
  public void aFairQueueWithAMaximumOf0TakesNoSubmission() throws Exception {
    String queues = "";
    for (String most : new String[] {"0 mb, 0 vcores", "0 mb, 8 vcores", "8192 mb, 0 vcores"}) {
      queues += "<queue name='q" + most.replaceAll("[^0-9]", "") + "'><maxResources>" + most
          + "</maxResources></queue>";
    }
    try (TestCluster cluster = new TestCluster(fair(queues + "<queue name='open'/>"))) {
      cluster.node("a1", 8 * GB);
      for (String queue : new String[] {"root.q00", "root.q08", "root.q81920"}) {
        refusesSubmission(cluster, queue);
      }
      assertEquals("root.open", cluster.submit("alice", "root.open").getQueue());
    }
  }

  private static Configuration withoutVcores(Class<?> scheduler) throws Exception {
    Configuration conf = capacity();
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    String prefix = "yarn.scheduler.capacity.";
    conf.setBoolean(prefix + "schedule-asynchronously.enable", false);
    conf.set(prefix + "resource-calculator", DominantResourceCalculator.class.getName());
    conf.set(prefix + "root.a.capacity", "[memory=4096]");
    conf.set(prefix + "root.a.maximum-capacity", "[memory=8192]");
    conf.set(prefix + "root.b.capacity", "[memory=4096,vcores=4]");
    return conf;
  }

  /** docs/stock-differences.md: stock takes the application, which then never runs. */
  @Test
  public void aCapacityQueueWithAMaximumWithoutVcoresTakesNoSubmission() throws Exception {
    MockRM stock = new MockRM(withoutVcores(CapacityScheduler.class));
    Logger.getRootLogger().setLevel(Level.WARN);
    stock.start();
    try {
      MockNM node = stock.registerNode("a1:1234", 8 * GB, 8);
      RMApp app = MockRMAppSubmitter.submit(stock, MockRMAppSubmissionData.Builder
          .createWithMemory(GB, stock).withAppName("test").withUser("alice").withQueue("root.a")
          .withUnmanagedAM(false).withAcls(new HashMap<>()).build());
      for (int i = 0; i < 5; i++) {
        node.nodeHeartbeat(true);
        stock.drainEvents();
      }
      assertEquals(RMAppState.ACCEPTED, app.getState());
      assertNull("it waits for ever", app.getCurrentAppAttempt().getMasterContainer());
    } finally {
      stock.stop();
    }
    try (TestCluster cluster = new TestCluster(withoutVcores(HeddleScheduler.class))) {
      cluster.node("a1", 8 * GB, 8);
      refusesSubmission(cluster, "root.a");
      assertEquals("root.b", cluster.submit("alice", "root.b").getQueue());
    }
  }
}
