/*
 * Two sub-clusters of YARN Federation with Heddle, each a ResourceManager and a NodeManager with an
 * AMRMProxy; a Router; and their store in ZooKeeper. All but the first ResourceManager, ZooKeeper,
 * HDFS and the job history server are processes.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.yarn.LocalConfigurationProvider;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.federation.policies.dao.WeightedPolicyInfo;
import org.apache.hadoop.yarn.server.federation.policies.manager.PriorityBroadcastPolicyManager;
import org.apache.hadoop.yarn.server.federation.policies.manager.WeightedLocalityPolicyManager;
import org.apache.hadoop.yarn.server.federation.store.FederationStateStore;
import org.apache.hadoop.yarn.server.federation.store.impl.ZookeeperFederationStateStore;
import org.apache.hadoop.yarn.server.federation.store.records.GetSubClustersInfoRequest;
import org.apache.hadoop.yarn.server.federation.store.records.SetSubClusterPolicyConfigurationRequest;
import org.apache.hadoop.yarn.server.federation.store.records.SubClusterIdInfo;
import org.apache.hadoop.yarn.server.federation.store.records.SubClusterPolicyConfiguration;

/**
 * A running federation. The Router sends every application to the first sub-cluster, so that a test
 * knows where its ApplicationMaster is; its containers may be in both.
 */
public final class Federation implements AutoCloseable {
  /** After so long without its proxy an application ends in the second sub-cluster. */
  public static final int EXPIRY_MS = 40_000;

  private static final String FIRST = "first";
  private static final String SECOND = "second";
  /** The first host of each rack; a rack is a sub-cluster. */
  private static final int FIRST_NODE = 0;
  private static final int SECOND_NODE = Topology.HOSTS.size() / 2;
  private static final int LOG_LINES = 40;


  /** Of NodeManagers: neither sub-cluster has a standby. */
  private static final Map<String, String> WITHOUT_STANDBY = withoutStandby();

  private final File folder;
  private ZooKeeper zooKeeper;
  private MiniCluster home;
  private SubCluster second;
  private Node secondNode;
  private RouterProcess router;

  private Federation() throws IOException {
    folder = Files.createTempDirectory("heddle-federation-").toFile();
  }

  private static Map<String, String> withoutStandby() {
    Map<String, String> set = new LinkedHashMap<>();
    set.put("yarn.federation.non-ha.enabled", "true");
    set.put(YarnConfiguration.FEDERATION_FAILOVER_ENABLED, "false");
    return set;
  }

  /**
   * Starts one with this heddle.json in each sub-cluster. Applications are submitted to the names
   * of queues, as given here. The Router looks for a policy of this name, and the proxies for one
   * of the queue's path, which they learn from Heddle.
   *
   * @param splitQueue its applications' asks are split between the sub-clusters
   * @param broadcastQueue its applications' asks are sent to both whole; what is granted twice
   *     comes back
   */
  public static Federation start(
      String engineConfiguration, String splitQueue, String broadcastQueue) throws Exception {
    Federation federation = new Federation();
    try {
      federation.begin(engineConfiguration);
      federation.setPolicy(toFirst(splitQueue));
      federation.setPolicy(toFirst(broadcastQueue));
      federation.setPolicy(split("root." + splitQueue));
      federation.setPolicy(broadcast("root." + broadcastQueue));
      return federation;
    } catch (Exception | Error e) {
      try {
        federation.close();
      } catch (RuntimeException | Error inClose) {
        e.addSuppressed(inClose);
      }
      throw e;
    }
  }

  /** Returns the sub-cluster of the masters, with its HDFS. Its clients ask the Router. */
  public MiniCluster home() {
    return home;
  }

  /** Returns the other sub-cluster. */
  public SubCluster second() {
    return second;
  }

  /** Returns the host of the first sub-cluster's node. */
  public static String homeHost() {
    return Topology.HOSTS.get(FIRST_NODE);
  }

  /** Returns the host of the second sub-cluster's node. */
  public static String secondHost() {
    return Topology.HOSTS.get(SECOND_NODE);
  }

  private void begin(String engineConfiguration) throws Exception {
    zooKeeper = new ZooKeeper(Files.createDirectory(folder.toPath().resolve("zoo")).toFile());
    MiniCluster.Builder builder = MiniCluster.named("federation-home")
        .engineConfiguration(engineConfiguration)
        .nodesOn(FIRST_NODE)
        .nodeProcesses()
        .set(YarnConfiguration.YARN_MINICLUSTER_FIXED_PORTS, "true")
        .set(YarnConfiguration.RM_CLUSTER_ID, FIRST);
    common().forEach(builder::set);
    // The history server has the ResourceManager's settings here. As a client it would look for
    // standbys when it starts.
    builder.set(YarnConfiguration.FEDERATION_FAILOVER_ENABLED, "false");
    WITHOUT_STANDBY.forEach(builder::setForNodes);
    FreePort.addresses().forEach(builder::set);
    home = builder.start();
    startSecond(engineConfiguration);
    int port = FreePort.next();
    startRouter(port);
    home.setForClients(YarnConfiguration.RM_ADDRESS, "127.0.0.1:" + port);
    // The proxy of the node where the ApplicationMaster runs; its container has this variable.
    home.setForClients(YarnConfiguration.RM_SCHEDULER_ADDRESS,
        "${env.NM_HOST}:" + proxyPort(home.daemonConfiguration()));
    home.setForClients(YarnConfiguration.FEDERATION_ENABLED, "false");
    FederationStateStore store = home.resourceManager().getFederationStateStoreService();
    Await.until("both sub-clusters are active", Await.SECONDS, () ->
        store.getSubClusters(GetSubClustersInfoRequest.newInstance(true)).getSubClusters().size()
            == 2, this::describe);
    Await.until("the second sub-cluster has its node", Await.SECONDS,
        () -> second.room()[1] == 1, this::describe);
  }

  /** Returns what all daemons begin with. */
  private Configuration settings() {
    Configuration conf = home.daemonConfiguration();
    // Heddle has added its own in the first ResourceManager. The next is for the history server.
    conf.unset("hadoop.http.filter.initializers");
    conf.unset(YarnConfiguration.FEDERATION_FAILOVER_ENABLED);
    return conf;
  }

  private static int proxyPort(Configuration conf) {
    return conf.getSocketAddr(YarnConfiguration.AMRM_PROXY_ADDRESS, null, 0).getPort();
  }

  /** What all daemons of both sub-clusters and the Router have. */
  private Map<String, String> common() throws IOException {
    Map<String, String> set = new LinkedHashMap<>();
    set.put(YarnConfiguration.FEDERATION_ENABLED, "true");
    set.put(YarnConfiguration.FEDERATION_STATESTORE_CLIENT_CLASS,
        ZookeeperFederationStateStore.class.getName());
    set.put("hadoop.zk.address", zooKeeper.address());
    // Half a minute and five minutes by default; a sub-cluster is not used before the first.
    set.put("yarn.federation.state-store.heartbeat.initial-delay", "1s");
    set.put(YarnConfiguration.FEDERATION_STATESTORE_HEARTBEAT_INTERVAL_SECS, "1");
    set.put(YarnConfiguration.FEDERATION_MACHINE_LIST, machines());
    set.put(YarnConfiguration.AMRM_PROXY_ENABLED, "true");
    set.put(YarnConfiguration.AMRM_PROXY_ADDRESS, "127.0.0.1:" + FreePort.next());
    set.put(YarnConfiguration.AMRM_PROXY_INTERCEPTOR_CLASS_PIPELINE,
        "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.FederationInterceptor");
    // The Router asks in the names of users.
    String user = "hadoop.proxyuser." + System.getProperty("user.name");
    set.put(user + ".hosts", "*");
    set.put(user + ".groups", "*");
    return set;
  }

  private String machines() throws IOException {
    List<String> lines = new ArrayList<>();
    for (int host = 0; host < Topology.HOSTS.size(); host++) {
      lines.add(String.join(", ", Topology.HOSTS.get(host),
          host < SECOND_NODE ? FIRST : SECOND, Topology.rackOf(host)));
    }
    Path file = folder.toPath().resolve("machines");
    return Files.write(file, lines, StandardCharsets.UTF_8).toString();
  }

  private void startSecond(String engineConfiguration) throws IOException {
    File own = Files.createDirectory(folder.toPath().resolve(SECOND)).toFile();
    Configuration conf = settings();
    FreePort.addresses().forEach(conf::set);
    conf.set(YarnConfiguration.RM_CLUSTER_ID, SECOND);
    // Container ids of one application must differ between sub-clusters.
    conf.setLong(YarnConfiguration.RM_EPOCH, 1000);
    // A quarter of an hour by default; here, only proxies are heard of, which need no start.
    conf.setInt(YarnConfiguration.RM_AM_EXPIRY_INTERVAL_MS, EXPIRY_MS);
    conf.set(YarnConfiguration.RM_CONFIGURATION_PROVIDER_CLASS,
        LocalConfigurationProvider.class.getName());
    conf.set("yarn.node-attribute.fs-store.root-dir", new File(own, "attributes").toURI() + "");
    Path heddle = Paths.get(own.getPath(), "heddle.json");
    Files.write(heddle, engineConfiguration.getBytes(StandardCharsets.UTF_8));
    conf.set("heddle.config.file", heddle.toString());
    second = new SubCluster(conf, own);
    secondNode = new Node(SECOND_NODE, new File(folder, "node2"), true);
    WITHOUT_STANDBY.forEach(conf::set);
    secondNode.start(conf);
  }

  private void startRouter(int port) throws Exception {
    Configuration conf = settings();
    String interceptors = "org.apache.hadoop.yarn.server.router.";
    conf.set("yarn.router.clientrm.interceptor-class.pipeline",
        interceptors + "clientrm.FederationClientInterceptor");
    conf.set("yarn.router.rmadmin.interceptor-class.pipeline",
        interceptors + "rmadmin.FederationRMAdminInterceptor");
    conf.set("yarn.router.webapp.interceptor-class.pipeline",
        interceptors + "webapp.FederationInterceptorREST");
    conf.set("yarn.router.clientrm.address", "127.0.0.1:" + port);
    conf.set("yarn.router.rmadmin.address", "127.0.0.1:" + FreePort.next());
    conf.set("yarn.router.webapp.address", "127.0.0.1:" + FreePort.next());
    router = new RouterProcess(conf, new File(folder, "router"));
    Await.until("the Router listens", Await.SECONDS, () -> listens(port), this::describe);
  }

  private boolean listens(int port) {
    router.assertRuns();
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }

  private void setPolicy(SubClusterPolicyConfiguration policy) throws Exception {
    home.resourceManager().getFederationStateStoreService().setPolicyConfiguration(
        SetSubClusterPolicyConfigurationRequest.newInstance(policy));
  }

  /** In the form of the Router's Hadoop: 3.5.0 writes policies that 3.4 reads as empty. */
  private static SubClusterPolicyConfiguration toFirst(String queue) {
    String json = "{\"routerPolicyWeights\": {\"entry\": [{\"key\": {\"id\": \"" + FIRST
        + "\"}, \"value\": \"1\"}]}, \"headroomAlpha\": \"0\"}";
    return SubClusterPolicyConfiguration.newInstance(queue,
        PriorityBroadcastPolicyManager.class.getName(),
        ByteBuffer.wrap(json.getBytes(StandardCharsets.UTF_8)));
  }

  private static SubClusterPolicyConfiguration split(String queue) throws Exception {
    WeightedLocalityPolicyManager manager = new WeightedLocalityPolicyManager();
    manager.setQueue(queue);
    WeightedPolicyInfo info = manager.getWeightedPolicyInfo();
    info.setRouterPolicyWeights(weights(1, 0));
    info.setAMRMPolicyWeights(weights(0.5f, 0.5f));
    // By the weights alone.
    info.setHeadroomAlpha(0);
    return manager.serializeConf();
  }

  private static SubClusterPolicyConfiguration broadcast(String queue) throws Exception {
    PriorityBroadcastPolicyManager manager = new PriorityBroadcastPolicyManager();
    manager.setQueue(queue);
    manager.getWeightedPolicyInfo().setRouterPolicyWeights(weights(1, 0));
    return manager.serializeConf();
  }

  private static Map<SubClusterIdInfo, Float> weights(float first, float second) {
    Map<SubClusterIdInfo, Float> weights = new HashMap<>();
    weights.put(new SubClusterIdInfo(FIRST), first);
    weights.put(new SubClusterIdInfo(SECOND), second);
    return weights;
  }

  /** Returns the ends of the logs of the processes: what they warned of. */
  public String describe() {
    StringBuilder text = new StringBuilder();
    List<File> logs = new ArrayList<>();
    if (second != null) {
      logs.add(second.log());
    }
    if (router != null) {
      logs.add(router.log());
    }
    logs.add(new File(folder, "node2/nodemanager.log"));
    if (home != null) {
      logs.add(new File(home.workFolder(), "node1/nodemanager.log"));
    }
    for (File log : logs) {
      text.append("\n--- ").append(log).append('\n').append(warnings(log));
    }
    return text.toString();
  }

  private static String warnings(File log) {
    try {
      List<String> lines = Files.readAllLines(log.toPath()).stream()
          .filter(line -> line.matches(".*\\b(WARN|ERROR|FATAL|Exception)\\b.*"))
          .collect(Collectors.toList());
      return String.join(
          "\n", lines.subList(Math.max(0, lines.size() - LOG_LINES), lines.size()));
    } catch (IOException e) {
      return e.toString();
    }
  }

  @Override
  public void close() {
    List<Throwable> failures = new ArrayList<>();
    if (router != null) {
      close(failures,
          () -> BoundedStop.runOrTell("the Router", BoundedStop.SECONDS, router::stop));
    }
    if (secondNode != null) {
      close(failures, secondNode::stopOrTell);
    }
    if (second != null) {
      close(failures, () -> BoundedStop.runOrTell(
          "the second ResourceManager", BoundedStop.SECONDS, second::stop));
    }
    if (home != null) {
      close(failures, home::close);
    }
    if (zooKeeper != null) {
      close(failures, zooKeeper::close);
    }
    if (Boolean.getBoolean(MiniCluster.KEEP_PROPERTY)) {
      System.out.println("kept: " + folder);
    } else {
      FileUtil.fullyDelete(folder);
    }
    if (!failures.isEmpty()) {
      IllegalStateException failure = new IllegalStateException("parts failed to stop");
      failures.forEach(failure::addSuppressed);
      throw failure;
    }
  }

  /** Closes a part; a failure must not keep the others from being closed. */
  private static void close(List<Throwable> failures, Runnable part) {
    try {
      part.run();
    } catch (RuntimeException | Error e) {
      failures.add(e);
    }
  }
}
