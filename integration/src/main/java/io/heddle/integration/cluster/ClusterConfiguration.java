/*
 * The Hadoop configuration of the embedded cluster, and why each value differs from the default.
 * The scheduler's policy is not here, but in the heddle.json that a test gives to the harness.
 */
package io.heddle.integration.cluster;

import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.v2.jobhistory.JHAdminConfig;
import org.apache.hadoop.net.StaticMapping;
import org.apache.hadoop.security.NullGroupsMapping;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Builds the configuration that HDFS, YARN and the MapReduce clients of one cluster share. */
final class ClusterConfiguration {
  /** Room for four tasks on a node: more JVMs would only compete for the processors. */
  static final int NODE_MEMORY_MB = 2048;

  static final int NODE_VCORES = 4;
  private static final int TASK_MEMORY_MB = 512;
  private static final int HEARTBEAT_MS = 200;
  /**
   * Threads of each RPC server. Each looks once a second whether there is a call, which for the 350
   * of the defaults is a fifth of the processor time of a cluster whose tasks wait.
   */
  private static final int HANDLERS = 4;

  private static final String[] SERVERS = {
    DFSConfigKeys.DFS_NAMENODE_HANDLER_COUNT_KEY,
    DFSConfigKeys.DFS_DATANODE_HANDLER_COUNT_KEY,
    YarnConfiguration.RM_CLIENT_THREAD_COUNT,
    YarnConfiguration.RM_RESOURCE_TRACKER_CLIENT_THREAD_COUNT,
    YarnConfiguration.RM_SCHEDULER_CLIENT_THREAD_COUNT,
    YarnConfiguration.NM_CONTAINER_MGR_THREAD_COUNT,
    YarnConfiguration.NM_LOCALIZER_CLIENT_THREAD_COUNT,
    MRJobConfig.MR_AM_TASK_LISTENER_THREAD_COUNT,
    JHAdminConfig.MR_HISTORY_CLIENT_THREAD_COUNT,
  };

  /**
   * Options of every task and ApplicationMaster JVM. They live for seconds, so the optimizing
   * compiler and a parallel collector cost more than they save, and so does the other compiler for
   * what runs a few hundred times. --add-opens is for Hadoop 3.3.6 on JDK 17: its
   * ApplicationMaster's Guice reflects into java.lang and fails without it. Java 8, whose version
   * is 1.8, knows neither that nor the compiler's threshold.
   */
  private static final String TASK_JVM =
      "-Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto "
          + (System.getProperty("java.specification.version").startsWith("1.")
              ? "" : "-XX:CompileThresholdScaling=3 --add-opens=java.base/java.lang=ALL-UNNAMED ")
          + System.getProperty(MiniCluster.TASK_OPTIONS_PROPERTY, "");

  private ClusterConfiguration() {}

  static YarnConfiguration create(File workFolder, String schedulerClass) {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set("hadoop.tmp.dir", new File(workFolder, "tmp").getPath());
    // By default all clusters share one folder in /tmp, so two at once would conflict.
    conf.set(
        "yarn.node-attribute.fs-store.root-dir",
        new File(workFolder, "node-attribute").toURI().toString());
    conf.set(YarnConfiguration.RM_SCHEDULER, schedulerClass);
    // All nodes are one machine: each would count the others' tasks as foreign load.
    conf.setBoolean("heddle.node-load.enable", false);
    for (String server : SERVERS) {
      conf.setInt(server, HANDLERS);
    }
    topology(conf);
    hdfs(conf, workFolder);
    yarn(conf);
    mapReduce(conf);
    return conf;
  }

  private static void topology(Configuration conf) {
    conf.set("net.topology.node.switch.mapping.impl", StaticMapping.class.getName());
    conf.set(StaticMapping.KEY_HADOOP_CONFIGURED_NODE_MAPPING, Topology.staticMapping());
    // Each node has its own address (see Topology), so host names identify nodes without ports,
    // and the hosts of HDFS blocks match them.
    conf.setBoolean(YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME, false);
    // The users have no accounts; asking the operating system for their groups would fail.
    conf.set("hadoop.security.group.mapping", NullGroupsMapping.class.getName());
  }

  private static void hdfs(Configuration conf, File workFolder) {
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(workFolder, "hdfs").getPath());
    conf.setBoolean(DFSConfigKeys.DFS_PERMISSIONS_ENABLED_KEY, false);
    conf.set("fs.permissions.umask-mode", "000");
    conf.setInt(DFSConfigKeys.DFS_REPLICATION_KEY, 2);
    // Allows small blocks, so that small inputs have several splits.
    conf.setLong("dfs.namenode.fs-limits.min-block-size", 1024);
    conf.setLong(DFSConfigKeys.DFS_BLOCK_SIZE_KEY, 1024 * 1024);
    // A NameNode since 3.4 looks for blocks to delete each 10 ms, also while there are none.
    conf.setLong("dfs.namenode.block.deletion.unlock.interval.ms", 1000);
  }

  private static void yarn(Configuration conf) {
    conf.setInt(YarnConfiguration.NM_PMEM_MB, NODE_MEMORY_MB);
    conf.setInt(YarnConfiguration.NM_VCORES, NODE_VCORES);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, NODE_MEMORY_MB);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES, NODE_VCORES);
    conf.setLong(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, HEARTBEAT_MS);
    // With much less a busy test machine would lose nodes.
    conf.setInt(YarnConfiguration.RM_NM_EXPIRY_INTERVAL_MS, 120_000);
    conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    // Nothing reads what containers use, and looking costs a twentieth of the processor time here.
    conf.setBoolean(YarnConfiguration.NM_CONTAINER_MONITOR_ENABLED, false);
    // A nearly full disk of the test machine must not fail a test.
    conf.setBoolean(YarnConfiguration.NM_DISK_HEALTH_CHECK_ENABLE, false);
    // The check still runs once at the start; this limit always passes it.
    conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
    conf.set(YarnConfiguration.NM_AUX_SERVICES, ShuffleHandler.MAPREDUCE_SHUFFLE_SERVICEID);
    conf.set(
        String.format(
            YarnConfiguration.NM_AUX_SERVICE_FMT, ShuffleHandler.MAPREDUCE_SHUFFLE_SERVICEID),
        ShuffleHandler.class.getName());
    conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
    conf.setInt(YarnConfiguration.NM_LOCALIZER_FETCH_THREAD_COUNT, 2);
    // Each container would list its files before it starts.
    conf.setBoolean(YarnConfiguration.NM_LOG_CONTAINER_DEBUG_INFO, false);
    // A stopping NodeManager waits long for applications whose logs it still keeps, so it drops
    // them soon. It deletes no file: the work folder is deleted as a whole, or kept to be read.
    conf.setLong(YarnConfiguration.NM_LOG_RETAIN_SECONDS, 1);
    conf.setInt(YarnConfiguration.DEBUG_NM_DELETE_DELAY_SEC, -1);
    // For runs of the same tests with the stock Capacity scheduler.
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "0.5");
  }

  private static void mapReduce(Configuration conf) {
    conf.set(MRConfig.FRAMEWORK_NAME, MRConfig.YARN_FRAMEWORK_NAME);
    conf.set(MRJobConfig.MR_AM_STAGING_DIR, "/staging");
    conf.set(JHAdminConfig.MR_HISTORY_DONE_DIR, "/history/done");
    conf.set(JHAdminConfig.MR_HISTORY_INTERMEDIATE_DONE_DIR, "/history/intermediate");
    conf.setBoolean(MRJobConfig.JOB_UBERTASK_ENABLE, false);
    conf.setInt(MRJobConfig.MR_AM_VMEM_MB, TASK_MEMORY_MB);
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MEMORY_MB);
    conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, TASK_MEMORY_MB);
    conf.set(MRJobConfig.MR_AM_COMMAND_OPTS, TASK_JVM);
    conf.set(MRJobConfig.MAP_JAVA_OPTS, TASK_JVM);
    conf.set(MRJobConfig.REDUCE_JAVA_OPTS, TASK_JVM);
    conf.setInt(MRJobConfig.IO_SORT_MB, 16);
    conf.setInt(MRJobConfig.MR_AM_TO_RM_HEARTBEAT_INTERVAL_MS, HEARTBEAT_MS);
    // An ApplicationMaster's time limit to reach a lost NodeManager; minutes by default.
    conf.setLong(YarnConfiguration.CLIENT_NM_CONNECT_MAX_WAIT_MS, 3000);
    conf.setLong(YarnConfiguration.CLIENT_NM_CONNECT_RETRY_INTERVAL_MS, 500);
    // Only the scheduler decides which task runs when.
    conf.setBoolean(MRJobConfig.MAP_SPECULATIVE, false);
    conf.setBoolean(MRJobConfig.REDUCE_SPECULATIVE, false);
    // The defaults are one and five seconds, which is most of a small job's run.
    conf.setInt("mapreduce.client.completion.pollinterval", HEARTBEAT_MS);
    conf.setInt("mapreduce.client.progressmonitor.pollinterval", HEARTBEAT_MS);
    conf.setInt("yarn.app.mapreduce.client.job.retry-interval", 500);
  }
}
