package io.heddle.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.engine.SetupJson;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.util.RackResolver;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

/**
 * A ResourceManager (Hadoop's own, with mocked transport) that schedules with Heddle and the real
 * native library, with helpers for tests. On close it asserts that there were no unexpected
 * failures and that the engine's books equal Java's.
 */
public final class TestCluster implements AutoCloseable {
  public static final int GB = 1024;

  public final MockRM rm;
  public final HeddleScheduler scheduler;
  private final List<MockNM> nodes = new ArrayList<>();
  private boolean faultsExpected;
  private long failuresExpected;
  private boolean audited = true;

  /** Starts with the defaults of tests: one heartbeat may fill its node. */
  public TestCluster() throws Exception {
    this(conf("{\"heartbeat_fill\": 1.0}"));
  }

  public TestCluster(Configuration conf) throws Exception {
    this(conf, null);
  }

  public TestCluster(Configuration conf, RMStateStore store) throws Exception {
    rm = store == null ? new MockRM(conf) : new MockRM(conf, store);
    // MockRM turns all log levels on.
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    scheduler = (HeddleScheduler) rm.getResourceScheduler();
  }

  /** Returns a configuration with this heddle.json: only ticks and reports of tests decide. */
  public static Configuration conf(String heddleJson) throws IOException {
    // Metrics are static in Hadoop; each test starts from 0.
    QueueMetrics.clearQueueMetrics();
    // The authorization provider is static too.
    YarnAuthorizationProvider.destroy();
    DefaultMetricsSystem.setMiniClusterMode(true);
    YarnConfiguration conf = new YarnConfiguration();
    // No DNS knows the hosts of the tests.
    conf.setBoolean(CommonConfigurationKeys.HADOOP_SECURITY_TOKEN_SERVICE_USE_IP, false);
    SecurityUtil.setConfiguration(conf);
    UserGroupInformation.setConfiguration(conf);
    conf.setClass(CommonConfigurationKeysPublic.NET_TOPOLOGY_NODE_SWITCH_MAPPING_IMPL_KEY,
        LetterRacks.class, org.apache.hadoop.net.DNSToSwitchMapping.class);
    RackResolver.init(conf);
    conf.set(YarnConfiguration.RM_SCHEDULER, HeddleScheduler.class.getName());
    // By default all share one folder in /tmp, so two test runs at once would conflict.
    conf.set("yarn.node-attribute.fs-store.root-dir",
        new File(System.getProperty("java.io.tmpdir"), "node-attribute").toURI().toString());
    conf.setLong(HeddleScheduler.TICK_PROPERTY, 3_600_000);
    conf.setBoolean(Offers.PROPERTY, false);
    conf.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 0);
    conf.set(ConfigFile.FILE_PROPERTY, write(heddleJson).getPath());
    return conf;
  }

  /** Returns a configuration whose applications survive the ResourceManager in a store. */
  public static Configuration recovering(String heddleJson) throws IOException {
    Configuration conf = conf(heddleJson);
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
    conf.set(YarnConfiguration.RM_STORE, MemoryRMStateStore.class.getName());
    return conf;
  }

  /** Returns a node's report of a running AM to a restarted ResourceManager. */
  public static NMContainerStatus amReport(MockAM am, int memoryMb) {
    return NMContainerStatus.newInstance(
        ContainerId.newContainerId(am.getApplicationAttemptId(), 1), 0, ContainerState.RUNNING,
        Resource.newInstance(memoryMb, 1), "recovered", 0, Priority.newInstance(0), 0);
  }

  /** Returns a node's report of a container to a restarted ResourceManager. */
  public static NMContainerStatus report(Container container, ContainerState state) {
    return NMContainerStatus.newInstance(container.getId(), 0, state,
        container.getResource(), "recovered", 0, container.getPriority(), 0);
  }

  /** Adds node labels to a configuration. */
  public static Configuration labelled(Configuration conf) throws IOException {
    conf.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
    conf.set(YarnConfiguration.FS_NODE_LABELS_STORE_ROOT_DIR,
        Files.createTempDirectory("heddle-labels").toUri().toString());
    return conf;
  }

  public static File write(String text) throws IOException {
    File file = File.createTempFile("heddle-", ".json");
    file.deleteOnExit();
    Files.write(file.toPath(), text.getBytes(StandardCharsets.UTF_8));
    return file;
  }

  public TestCluster expectFaults() {
    faultsExpected = true;
    return this;
  }

  /** Expects this many failures of handlers. */
  public TestCluster expectFailures(long count) {
    failuresExpected = count;
    return this;
  }

  /** Skips the comparison of books on close, for tests that end with events under way. */
  public TestCluster withoutAudit() {
    audited = false;
    return this;
  }

  public MockNM node(String host, int memoryMb, int vcores) throws Exception {
    return node(host, Resource.newInstance(memoryMb, vcores));
  }

  public MockNM node(String host, Resource capacity) throws Exception {
    MockNM node = rm.registerNode(host + ":1234", capacity);
    nodes.add(node);
    rm.drainEvents();
    return node;
  }

  public MockNM node(String host, int memoryMb) throws Exception {
    return node(host, memoryMb, 32);
  }

  /** Sends a heartbeat of every node. */
  public void heartbeat() throws Exception {
    for (MockNM node : nodes) {
      heartbeat(node);
    }
  }

  public void heartbeat(MockNM node) throws Exception {
    node.nodeHeartbeat(true);
    rm.drainEvents();
  }

  public void forget(MockNM node) {
    nodes.remove(node);
  }

  public RMNode rmNode(MockNM node) {
    return rm.getRMContext().getRMNodes().get(node.getNodeId());
  }

  public RMApp submit(String user, String queue) throws Exception {
    return MockRMAppSubmitter.submit(rm, submission(user, queue).build());
  }

  public MockRMAppSubmissionData.Builder submission(String user, String queue) throws IOException {
    return MockRMAppSubmissionData.Builder.createWithMemory(GB, rm).withAppName("test")
        .withUser(user).withQueue(queue).withUnmanagedAM(false)
        .withAcls(new java.util.HashMap<
            org.apache.hadoop.yarn.api.records.ApplicationAccessType, String>());
  }

  public MockAM launch(RMApp app, MockNM node) throws Exception {
    return MockRM.launchAndRegisterAM(app, rm, node);
  }

  public MockAM run(String user, MockNM node) throws Exception {
    return launch(submit(user, null), node);
  }

  public HeddleAppAttempt attempt(MockAM am) {
    return scheduler.getApplicationAttempt(am.getApplicationAttemptId());
  }

  public static ResourceRequest row(
      int priority, String name, int memoryMb, int count, boolean relaxLocality) {
    return ResourceRequest.newInstance(Priority.newInstance(priority), name,
        Resource.newInstance(memoryMb, 1), count, relaxLocality);
  }

  public static ResourceRequest any(int priority, int memoryMb, int count) {
    return row(priority, ResourceRequest.ANY, memoryMb, count, true);
  }

  /** Returns the rows that an AM's library makes for containers on one host. */
  public static List<ResourceRequest> onHost(
      int priority, String host, int memoryMb, int count, boolean relaxLocality) {
    return new ArrayList<>(Arrays.asList(
        row(priority, host, memoryMb, count, true),
        row(priority, LetterRacks.rack(host), memoryMb, count, relaxLocality),
        row(priority, ResourceRequest.ANY, memoryMb, count, relaxLocality)));
  }

  public static AllocateResponse ask(MockAM am, ResourceRequest... rows) throws Exception {
    return ask(am, Arrays.asList(rows));
  }

  public static AllocateResponse ask(MockAM am, List<ResourceRequest> rows) throws Exception {
    return am.allocate(new ArrayList<>(rows), new ArrayList<ContainerId>());
  }

  public static AllocateResponse release(MockAM am, ContainerId... ids) throws Exception {
    return am.allocate(new ArrayList<ResourceRequest>(), Arrays.asList(ids));
  }

  /** Fetches the containers that wait for an AM. */
  public static List<Container> fetch(MockAM am) throws Exception {
    return ask(am, Collections.<ResourceRequest>emptyList()).getAllocatedContainers();
  }

  /** Lets a node report that these containers run. */
  public void running(MockNM node, List<Container> containers) throws Exception {
    for (Container container : containers) {
      node.nodeHeartbeat(container.getId().getApplicationAttemptId(),
          container.getId().getContainerId(), ContainerState.RUNNING);
    }
    rm.drainEvents();
  }

  public void completed(MockNM node, Container container) throws Exception {
    node.nodeHeartbeat(container.getId().getApplicationAttemptId(),
        container.getId().getContainerId(), ContainerState.COMPLETE);
    rm.drainEvents();
  }

  public void tick() {
    scheduler.update();
    rm.drainEvents();
  }

  public long freeMb(MockNM node) {
    return scheduler.getSchedulerNode(node.getNodeId()).getUnallocatedResource().getMemorySize();
  }

  /** Sends a request to the engine once all events are handled. */
  public JsonNode request(String json) {
    rm.drainEvents();
    return SetupJson.read(scheduler.engine.request(json));
  }

  /** Publishes the engine's current description of queues to readers. */
  public void refreshQueues() {
    request(SetupJson.request("queues"));
    scheduler.queues.replay();
    scheduler.reports.table().showMetrics();
  }

  public void assertBooksEqual() {
    rm.drainEvents();
    assertNull(scheduler.inspection().differences());
  }

  @Override
  public void close() {
    try {
      rm.drainEvents();
      assertEquals("errors in events", failuresExpected, scheduler.inspection().failures());
      if (audited) {
        assertBooksEqual();
      }
      if (!faultsExpected) {
        assertEquals("engines lost", 0, scheduler.inspection().engineRebuilds());
      }
      assertEquals("events that the engine had no use for", 0,
          scheduler.inspection().ignoredEvents());
    } finally {
      rm.stop();
    }
  }
}
