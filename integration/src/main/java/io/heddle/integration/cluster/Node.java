/*
 * One NodeManager of the embedded cluster, with its own address. It can be stopped in an orderly
 * way, crashed, and restarted.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** A real NodeManager that uses RPC, as on a real cluster. */
public final class Node {
  private final int index;
  private final File folder;
  private final boolean inProcess;
  private NodeManager nodeManager;
  private NodeProcess process;

  /** Makes one that runs in this JVM, or as a process. */
  Node(int index, File folder, boolean inProcess) {
    this.index = index;
    this.folder = folder;
    this.inProcess = inProcess;
  }

  /** Returns its host name, which is its loopback address. */
  public String host() {
    return Topology.HOSTS.get(index);
  }

  /** Returns the NodeManager itself, or null while it is stopped or if it is a process. */
  public synchronized NodeManager nodeManager() {
    return nodeManager;
  }

  /** Starts it in the cluster of this configuration. */
  synchronized void start(Configuration cluster) {
    if (nodeManager != null || process != null) {
      throw new IllegalStateException(host() + " is running already");
    }
    YarnConfiguration conf = new YarnConfiguration(cluster);
    String anyPort = host() + ":0";
    conf.set(YarnConfiguration.NM_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_WEBAPP_ADDRESS, anyPort);
    // Each node's proxy has the same port: a job's configuration has one for all its masters.
    int proxyPort = conf.getSocketAddr(YarnConfiguration.AMRM_PROXY_ADDRESS,
        YarnConfiguration.DEFAULT_AMRM_PROXY_ADDRESS, YarnConfiguration.DEFAULT_AMRM_PROXY_PORT)
        .getPort();
    conf.set(YarnConfiguration.AMRM_PROXY_ADDRESS, host() + ":" + proxyPort);
    conf.set(YarnConfiguration.NM_LOCAL_DIRS, new File(folder, "local").getPath());
    conf.set(YarnConfiguration.NM_LOG_DIRS, new File(folder, "log").getPath());
    if (inProcess) {
      try {
        process = new NodeProcess(conf, folder);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return;
    }
    NodeManager starting = new NodeManager();
    starting.init(conf);
    starting.start();
    nodeManager = starting;
  }

  /** Stops it in an orderly way: it unregisters, so the ResourceManager knows at once. */
  public synchronized void stop() {
    if (nodeManager != null) {
      BoundedStop.run(host(), BoundedStop.SECONDS, forget()::stop);
    }
  }

  /** Stops it at the end of the cluster; prints a hang. */
  synchronized void stopOrTell() {
    if (nodeManager != null) {
      BoundedStop.runOrTell(host(), BoundedStop.SECONDS, forget()::stop);
    }
    if (process != null) {
      BoundedStop.runOrTell(host(), BoundedStop.SECONDS, process::stop);
      process = null;
    }
  }

  private NodeManager forget() {
    NodeManager stopping = nodeManager;
    nodeManager = null;
    return stopping;
  }

  /**
   * Stops it as a crash would: its containers end, and the ResourceManager notices only missing
   * heartbeats. A NodeManager that is marked as decommissioned does not unregister.
   */
  public synchronized void crash() {
    if (nodeManager == null) {
      throw new IllegalStateException(host() + " is not running");
    }
    nodeManager.getNMContext().setDecommissioned(true);
    stop();
  }
}
