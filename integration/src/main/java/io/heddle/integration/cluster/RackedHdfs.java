/*
 * HDFS whose DataNodes report the hosts of the cluster's topology. Everything else is Hadoop's
 * MiniDFSCluster.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * Sets the DataNodes' hosts by overriding a method. MiniDFSCluster's own option also adds an entry
 * to Hadoop's static name resolution, which would map every NodeManager's address to 127.0.0.1.
 */
final class RackedHdfs extends MiniDFSCluster {
  private static final String HOST = "heddle.integration.datanode.host";

  private RackedHdfs(Builder builder) throws IOException {
    super(builder);
  }

  /** Starts a NameNode, and one DataNode for each host of {@link Topology}. */
  static RackedHdfs start(Configuration conf) throws IOException {
    Configuration[] overlays = new Configuration[Topology.HOSTS.size()];
    for (int i = 0; i < overlays.length; i++) {
      overlays[i] = new Configuration(false);
      overlays[i].set(HOST, Topology.HOSTS.get(i));
    }
    RackedHdfs hdfs =
        new RackedHdfs(
            new Builder(conf).numDataNodes(overlays.length).dataNodeConfOverlays(overlays));
    hdfs.waitActive();
    return hdfs;
  }

  /** Called for each DataNode by the constructor of MiniDFSCluster, when no field is set yet. */
  @Override
  protected void setupDatanodeAddress(
      Configuration conf, boolean hostsFile, boolean checkAddresses, int httpPort, int ipcPort)
      throws IOException {
    super.setupDatanodeAddress(conf, hostsFile, checkAddresses, httpPort, ipcPort);
    conf.set(DFSConfigKeys.DFS_DATANODE_HOST_NAME_KEY, conf.get(HOST));
  }
}
