package io.heddle.integration.web;

import io.heddle.integration.cluster.FreePort;
import java.nio.file.Path;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.ha.HAServiceProtocol.RequestSource;
import org.apache.hadoop.ha.HAServiceProtocol.StateChangeRequestInfo;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/**
 * Two real ResourceManagers with their web servers; the test decides which one is active. No node,
 * and no ZooKeeper.
 */
final class MiniPair implements AutoCloseable {
  private static final String[] IDS = {"rm0", "rm1"};

  final ResourceManager[] managers = new ResourceManager[IDS.length];
  final String[] addresses = new String[IDS.length];
  private final Path folder;

  /** Starts both as standbys; deletes {@code folder} at the end. */
  MiniPair(YarnConfiguration conf, Path folder) throws Exception {
    this.folder = folder;
    conf.setBoolean(YarnConfiguration.RM_HA_ENABLED, true);
    conf.set(YarnConfiguration.RM_HA_IDS, String.join(",", IDS));
    conf.set(YarnConfiguration.RM_CLUSTER_ID, "web");
    conf.setBoolean(YarnConfiguration.AUTO_FAILOVER_ENABLED, false);
    for (int i = 0; i < IDS.length; i++) {
      for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
        conf.set(HAUtil.addSuffix(key, IDS[i]), "localhost:" + FreePort.next());
      }
      addresses[i] = "http://"
          + conf.get(HAUtil.addSuffix(YarnConfiguration.RM_WEBAPP_ADDRESS, IDS[i]));
    }
    MiniManager.resetStatics();
    for (int i = 0; i < IDS.length; i++) {
      YarnConfiguration own = new YarnConfiguration(conf);
      own.set(YarnConfiguration.RM_HA_ID, IDS[i]);
      managers[i] = new ResourceManager();
      managers[i].init(own);
      managers[i].start();
    }
  }

  /** Activates one and makes the other a standby. */
  void activate(int active) throws Exception {
    StateChangeRequestInfo byUser = new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER);
    managers[1 - active].getRMContext().getRMAdminService().transitionToStandby(byUser);
    managers[active].getRMContext().getRMAdminService().transitionToActive(byUser);
  }

  /** Stops one for good, and activates the other. */
  void replace(int gone) throws Exception {
    managers[gone].stop();
    managers[gone] = null;
    managers[1 - gone].getRMContext().getRMAdminService().transitionToActive(
        new StateChangeRequestInfo(RequestSource.REQUEST_BY_USER));
  }

  @Override
  public void close() {
    for (ResourceManager manager : managers) {
      if (manager != null) {
        manager.stop();
      }
    }
    FileUtil.fullyDelete(folder.toFile());
  }
}
