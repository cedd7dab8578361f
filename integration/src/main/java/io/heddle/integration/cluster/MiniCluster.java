/*
 * The embedded cluster of the integration tests and the demo: HDFS, YARN with four NodeManagers on
 * two racks, the job history server, one or two ResourceManagers. All of it is Hadoop's own code in
 * this JVM; only tasks, ApplicationMasters and, if asked for, NodeManagers are processes. Works
 * with any scheduler.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;
import org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.yarn.FileSystemBasedConfigurationProvider;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;

/**
 * A running cluster. Make one with {@link #named}; {@link #close} stops everything and removes the
 * work folder.
 *
 * <p>Hadoop's mini clusters run HDFS, the ResourceManagers and the history server. The NodeManagers
 * are started here (see {@link Topology} for why). They use real RPC and so follow a failover of
 * the ResourceManager as on a real cluster.
 */
public final class MiniCluster implements AutoCloseable {
  /** Set to keep the work folder, with all logs of all containers, after the cluster stopped. */
  public static final String KEEP_PROPERTY = "heddle.integration.keep";

  /** Names a folder that keeps the log of each cluster that stopped: of all but its containers. */
  public static final String LOGS_PROPERTY = "heddle.integration.logs";

  /** Names another scheduler class for every cluster that does not ask for one. */
  public static final String SCHEDULER_PROPERTY = "heddle.integration.scheduler";

  /** Has more options for the JVMs of tasks and ApplicationMasters. */
  public static final String TASK_OPTIONS_PROPERTY = "heddle.integration.task-options";

  /** The class name of Heddle's scheduler. */
  public static final String HEDDLE = "io.heddle.yarn.HeddleScheduler";

  private final File workFolder;
  private final ClusterLog log;
  private final List<Node> nodes = new ArrayList<>();
  private MiniDFSCluster hdfs;
  private FileSystem fileSystem;
  private MiniYARNCluster yarn;
  private JobHistoryServer historyServer;
  private Configuration conf;
  private final Map<String, String> forClients = new LinkedHashMap<>();
  private final Map<String, String> forNodes = new LinkedHashMap<>();

  private MiniCluster(File workFolder, ClusterLog log) {
    this.workFolder = workFolder;
    this.log = log;
  }

  /** Returns a builder of a cluster. The name is part of its work folder's name. */
  public static Builder named(String name) {
    return new Builder(name);
  }

  /** The settings of a cluster. */
  public static final class Builder {
    private final String name;
    private final Map<String, String> properties = new LinkedHashMap<>();
    private final Map<String, String> nodeProperties = new LinkedHashMap<>();
    private final Map<String, String> files = new LinkedHashMap<>();
    private String schedulerClass = System.getProperty(SCHEDULER_PROPERTY, HEDDLE);
    private String engineConfiguration;
    private boolean highlyAvailable;
    private boolean nodeProcesses;
    private int[] hosts = {0, 1, 2, 3};

    private Builder(String name) {
      this.name = name;
    }

    /** Sets {@code yarn.resourcemanager.scheduler.class}; Heddle's by default. */
    public Builder scheduler(String className) {
      schedulerClass = className;
      return this;
    }

    /** Sets the text of heddle.json; without it Heddle runs without a configuration. */
    public Builder engineConfiguration(String json) {
      engineConfiguration = json;
      return this;
    }

    /** Asks for two ResourceManagers with one state store; the first is active. */
    public Builder highlyAvailable() {
      highlyAvailable = true;
      return this;
    }

    /**
     * Runs each NodeManager in a JVM of its own, so that its metrics are its own. Such nodes cannot
     * be stopped before the cluster.
     */
    public Builder nodeProcesses() {
      nodeProcesses = true;
      return this;
    }

    /** Starts NodeManagers only on these of {@link Topology#HOSTS}; HDFS has all of them. */
    Builder nodesOn(int... indices) {
      hosts = indices;
      return this;
    }

    /** Sets a Hadoop property. */
    public Builder set(String key, String value) {
      properties.put(key, value);
      return this;
    }

    /** Sets a Hadoop property of the NodeManagers alone. */
    Builder setForNodes(String key, String value) {
      nodeProperties.put(key, value);
      return this;
    }

    /** Adds a file beside the ResourceManager's yarn-site.xml. */
    public Builder file(String fileName, String text) {
      files.put(fileName, text);
      return this;
    }

    /** Starts the cluster; returns once all its nodes are usable. */
    public MiniCluster start() throws Exception {
      Path folder = Files.createTempDirectory("heddle-" + name + "-");
      MiniCluster cluster =
          new MiniCluster(folder.toFile(), ClusterLog.open(folder.resolve("hadoop.log").toFile()));
      try {
        cluster.start(this);
        return cluster;
      } catch (Exception | Error e) {
        cluster.close();
        throw e;
      }
    }
  }

  private void start(Builder builder) throws Exception {
    LocalFiles.use();
    YarnConfiguration initial = ClusterConfiguration.create(workFolder, builder.schedulerClass);
    configure(initial, builder);
    hdfs = RackedHdfs.start(initial);
    fileSystem = hdfs.getNewFileSystemInstance(0);
    // Made here, because the history server would make it without access for others.
    FileSystem.mkdirs(fileSystem, new org.apache.hadoop.fs.Path("/history"), everybody());
    if (builder.highlyAvailable) {
      startTwoResourceManagers(initial, builder.name);
    } else {
      // Hadoop's MapReduce mini cluster without NodeManagers.
      yarn = new MiniMRYarnCluster("heddle-" + builder.name, 0);
      yarn.init(initial);
      yarn.start();
      conf = yarn.getConfig();
    }
    forNodes.putAll(builder.nodeProperties);
    for (int index : builder.hosts) {
      Node node = new Node(index,
          new File(workFolder, "node" + (index + 1)),
          builder.nodeProcesses);
      nodes.add(node);
      node.start(nodeConfiguration());
    }
    awaitNodes(nodes.size());
  }

  private static FsPermission everybody() {
    return new FsPermission((short) 0777);
  }

  /**
   * Sets the builder's properties in memory and in a yarn-site.xml. A ResourceManager reads only
   * that file again, at {@code rmadmin -refreshQueues} and when it becomes active.
   */
  private void configure(Configuration initial, Builder builder) throws IOException {
    Path folder = Files.createDirectory(workFolder.toPath().resolve("conf"));
    Configuration site = new Configuration(false);
    site.set(YarnConfiguration.RM_SCHEDULER, builder.schedulerClass);
    if (builder.engineConfiguration != null) {
      Path file = folder.resolve("heddle.json");
      Files.write(file, builder.engineConfiguration.getBytes(StandardCharsets.UTF_8));
      site.set("heddle.config.file", file.toString());
    }
    for (Map.Entry<String, String> file : builder.files.entrySet()) {
      Files.write(folder.resolve(file.getKey()), file.getValue().getBytes(StandardCharsets.UTF_8));
    }
    if (builder.files.containsKey("capacity-scheduler.xml")) {
      // The defaults of these clusters would go over the file's.
      String prefix = "yarn.scheduler.capacity.";
      initial.getPropsWithPrefix(prefix).keySet().forEach(key -> initial.unset(prefix + key));
    }
    builder.properties.forEach(site::set);
    try (OutputStream out = Files.newOutputStream(folder.resolve("yarn-site.xml"))) {
      site.writeXml(out);
    }
    site.forEach(property -> initial.set(property.getKey(), property.getValue()));
    initial.set(
        YarnConfiguration.RM_CONFIGURATION_PROVIDER_CLASS,
        FileSystemBasedConfigurationProvider.class.getName());
    initial.set(YarnConfiguration.FS_BASED_RM_CONF_STORE, folder.toUri().toString());
  }

  /**
   * Does what MiniMRYarnCluster does, around a MiniYARNCluster, because only that can have two
   * ResourceManagers. The ports are fixed: a ResourceManager reopens its ports at every transition
   * to active, and its clients must find it at the same ones.
   */
  private void startTwoResourceManagers(YarnConfiguration initial, String name) throws Exception {
    String[] ids = {"rm0", "rm1"};
    initial.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    initial.set(YarnConfiguration.RM_HA_IDS, String.join(",", ids));
    initial.set(YarnConfiguration.RM_CLUSTER_ID, name);
    initial.setBoolean(YarnConfiguration.AUTO_FAILOVER_ENABLED, false);
    initial.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    initial.set(YarnConfiguration.RM_STORE, FileSystemRMStateStore.class.getName());
    initial.set(YarnConfiguration.FS_RM_STATE_STORE_URI, "/resource-manager-state");
    initial.setLong(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_SCHEDULING_WAIT_MS, 1000);
    initial.setLong(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_BASE_MS, 100);
    initial.setLong(YarnConfiguration.CLIENT_FAILOVER_SLEEPTIME_MAX_MS, 500);
    initial.setBoolean(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, true);
    for (String id : ids) {
      for (String key : YarnConfiguration.getServiceAddressConfKeys(initial)) {
        initial.set(HAUtil.addSuffix(key, id), "localhost:" + FreePort.next());
      }
    }
    yarn = new MiniYARNCluster("heddle-" + name, ids.length, 0, 1, 1);
    yarn.init(initial);
    yarn.start();
    resourceManager(0).getRMContext().getRMAdminService().transitionToActive(byUser());
    startHistoryServer(initial);
    conf = new YarnConfiguration(initial);
    conf.unset(YarnConfiguration.RM_HA_ID);
  }

  private void startHistoryServer(YarnConfiguration initial) {
    initial.set(JHAdminConfig.MR_HISTORY_ADDRESS, "localhost:0");
    initial.set(JHAdminConfig.MR_HISTORY_WEBAPP_ADDRESS, "localhost:0");
    initial.set(JHAdminConfig.JHS_ADMIN_ADDRESS, "localhost:0");
    historyServer = new JobHistoryServer();
    historyServer.init(initial);
    historyServer.start();
    for (String key :
        new String[] {JHAdminConfig.MR_HISTORY_ADDRESS, JHAdminConfig.MR_HISTORY_WEBAPP_ADDRESS}) {
      initial.set(key, historyServer.getConfig().get(key));
    }
  }

  private static StateChangeRequestInfo byUser() {
    return new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER);
  }

  /** Returns a copy of the cluster's configuration, to which a client may add properties. */
  public Configuration configuration() {
    Configuration clients = daemonConfiguration();
    forClients.forEach(clients::set);
    return clients;
  }

  /** Returns a copy of the configuration without what only clients or nodes have. */
  Configuration daemonConfiguration() {
    return new YarnConfiguration(conf);
  }

  /** Sets a property for clients and their jobs only. */
  void setForClients(String key, String value) {
    forClients.put(key, value);
  }

  /** Returns the cluster's HDFS, not Hadoop's cached instance: a ResourceManager may close that. */
  public FileSystem fileSystem() {
    return fileSystem;
  }

  /** Returns all nodes, stopped ones too, in the order of {@link Topology#HOSTS}. */
  public List<Node> nodes() {
    return Collections.unmodifiableList(nodes);
  }

  /** Restarts a node that was stopped or crashed. */
  public void restart(Node node) {
    node.start(nodeConfiguration());
  }

  private Configuration nodeConfiguration() {
    Configuration all = daemonConfiguration();
    forNodes.forEach(all::set);
    return all;
  }

  /** Returns the active ResourceManager. */
  public ResourceManager resourceManager() {
    int active = yarn.getActiveRMIndex();
    if (active < 0) {
      throw new IllegalStateException("no ResourceManager is active");
    }
    return resourceManager(active);
  }

  private ResourceManager resourceManager(int index) {
    return yarn.getResourceManager(index);
  }

  /** Returns the scheduler of the active ResourceManager. */
  public ResourceScheduler scheduler() {
    return resourceManager().getResourceScheduler();
  }

  /** Returns the logs of this JVM: HDFS, all ResourceManagers, all NodeManagers. */
  public ClusterLog log() {
    return log;
  }

  /** Returns the folder that holds all files of the cluster. */
  public File workFolder() {
    return workFolder;
  }

  /**
   * Writes a new text into heddle.json, for {@code rmadmin -refreshQueues} and for the next active
   * ResourceManager. The cluster must have been started with a text.
   */
  public void configureEngine(String json) throws IOException {
    Path file = Paths.get(conf.get("heddle.config.file"));
    Files.write(file, json.getBytes(StandardCharsets.UTF_8));
  }

  /** Makes the active ResourceManager standby and the other one active. */
  public void failOver() throws Exception {
    int active = yarn.getActiveRMIndex();
    resourceManager(active).getRMContext().getRMAdminService().transitionToStandby(byUser());
    resourceManager(1 - active).getRMContext().getRMAdminService().transitionToActive(byUser());
  }

  /** Stops the active ResourceManager for good and makes the other one active. */
  public void stopActiveAndFailOver() throws Exception {
    int active = yarn.getActiveRMIndex();
    yarn.stopResourceManager(active);
    resourceManager(1 - active).getRMContext().getRMAdminService().transitionToActive(byUser());
  }

  /** Waits until this many nodes are usable in the active ResourceManager. */
  public void awaitNodes(int count) throws Exception {
    Await.until(
        count + " nodes running", Await.SECONDS, () -> runningNodes() == count,
        () -> String.valueOf(resourceManager().getRMContext().getRMNodes()));
  }

  private long runningNodes() {
    return resourceManager().getRMContext().getRMNodes().values().stream()
        .map(RMNode::getState)
        .filter(NodeState.RUNNING::equals)
        .count();
  }

  /**
   * Stops the cluster and deletes the work folder, unless {@link #KEEP_PROPERTY} is set. Parts that
   * hang are printed and left running: all tests are over by then.
   */
  @Override
  public void close() {
    // In parallel: a NodeManager takes seconds to stop, mostly waiting.
    nodes.parallelStream().forEach(Node::stopOrTell);
    if (yarn != null) {
      BoundedStop.runOrTell("YARN", BoundedStop.SECONDS, yarn::stop);
    }
    if (historyServer != null) {
      BoundedStop.runOrTell("the history server", BoundedStop.SECONDS, historyServer::stop);
    }
    if (hdfs != null) {
      BoundedStop.runOrTell("HDFS", BoundedStop.SECONDS, hdfs::shutdown);
    }
    log.close();
    if (Boolean.getBoolean(KEEP_PROPERTY)) {
      System.out.println("kept: " + workFolder);
    } else {
      String logs = System.getProperty(LOGS_PROPERTY);
      if (logs != null) {
        File kept = new File(logs, workFolder.getName() + ".log");
        if (!log.file().renameTo(kept)) {
          System.out.println("the log was not kept: no " + kept);
        }
      }
      FileUtil.fullyDelete(workFolder);
    }
  }
}
