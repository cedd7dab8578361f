/*
 * HDFS whose DataNodes say that they are on the hosts of the cluster's topology. Everything else is
 * Hadoop's MiniDFSCluster.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * MiniDFSCluster can name its DataNodes' hosts only together with an entry in Hadoop's static name
 * resolution, by which this JVM would then take every NodeManager's address for 127.0.0.1.
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

  /** Called for each DataNode, from the constructor of MiniDFSCluster: no field is set yet. */
  @Override
  protected void setupDatanodeAddress(
      Configuration conf, boolean hostsFile, boolean checkAddresses, int httpPort, int ipcPort)
      throws IOException {
    super.setupDatanodeAddress(conf, hostsFile, checkAddresses, httpPort, ipcPort);
    conf.set(DFSConfigKeys.DFS_DATANODE_HOST_NAME_KEY, conf.get(HOST));
  }
}
