/*
 * One NodeManager of the embedded cluster, on an address of its own. Can be stopped in an orderly
 * way, lost as in a crash, and started again.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** A real NodeManager which speaks to the ResourceManager over RPC, as on a real cluster. */
public final class Node {
  /**
   * Some seconds are usual. Hadoop's own code has waits there without a bound, and once one of
   * them held a test class until its time was over.
   */
  private static final int STOP_SECONDS = 90;

  private final int index;
  private final File folder;
  private NodeManager nodeManager;

  Node(int index, File folder) {
    this.index = index;
    this.folder = folder;
  }

  /** Its host name, which is its loopback address. */
  public String host() {
    return Topology.HOSTS.get(index);
  }

  /** The NodeManager itself, null while it is stopped. */
  public synchronized NodeManager nodeManager() {
    return nodeManager;
  }

  /** Starts it against the cluster of this configuration. */
  synchronized void start(Configuration cluster) {
    if (nodeManager != null) {
      throw new IllegalStateException(host() + " is running already");
    }
    YarnConfiguration conf = new YarnConfiguration(cluster);
    String anyPort = host() + ":0";
    conf.set(YarnConfiguration.NM_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_LOCALIZER_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_COLLECTOR_SERVICE_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_WEBAPP_ADDRESS, anyPort);
    conf.set(YarnConfiguration.NM_LOCAL_DIRS, new File(folder, "local").getPath());
    conf.set(YarnConfiguration.NM_LOG_DIRS, new File(folder, "log").getPath());
    NodeManager starting = new NodeManager();
    starting.init(conf);
    starting.start();
    nodeManager = starting;
  }

  /**
   * Stops it in an orderly way: it says goodbye, and the ResourceManager knows at once.
   *
   * @throws IllegalStateException with its stack if it hangs; it is given up then
   */
  public synchronized void stop() {
    if (nodeManager == null) {
      return;
    }
    NodeManager stopping = nodeManager;
    nodeManager = null;
    Thread thread = new Thread(stopping::stop, "stop of " + host());
    thread.setDaemon(true);
    thread.start();
    try {
      thread.join(TimeUnit.SECONDS.toMillis(STOP_SECONDS));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      IllegalStateException hangs =
          new IllegalStateException(host() + " did not stop in " + STOP_SECONDS + " s");
      hangs.setStackTrace(thread.getStackTrace());
      throw hangs;
    }
  }

  /**
   * Stops it as a crash would: its containers die, and the ResourceManager finds out only when the
   * heartbeats stay away. A NodeManager that believes itself decommissioned says no goodbye.
   */
  public synchronized void crash() {
    if (nodeManager == null) {
      throw new IllegalStateException(host() + " is not running");
    }
    nodeManager.getNMContext().setDecommissioned(true);
    stop();
  }
}
