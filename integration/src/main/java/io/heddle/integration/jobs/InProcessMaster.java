/*
 * The ApplicationMaster of an unmanaged application, in the calling thread: registered with the
 * ResourceManager, and able to start containers. Its caller asks for containers and starts them.
 */
package io.heddle.integration.jobs;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.client.api.YarnClient;

/** One ApplicationMaster, from registration to {@link #close}. */
final class InProcessMaster implements AutoCloseable {
  final AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient();
  final NMClient nodes = NMClient.createNMClient();
  private final YarnClient yarn;
  private final ApplicationId id;

  /**
   * Registers with the ResourceManager, as the current user, by whose token it is accepted.
   *
   * @param yarn the client that submitted it; its owner closes it
   * @param id an application that the same user submitted
   */
  InProcessMaster(Configuration conf, YarnClient yarn, ApplicationId id) throws Exception {
    this.yarn = yarn;
    this.id = id;
    // By default all masters of a JVM share one cache and so each other's tokens.
    NMTokenCache tokens = new NMTokenCache();
    master.setNMTokenCache(tokens);
    nodes.setNMTokenCache(tokens);
    try {
      master.init(conf);
      master.start();
      nodes.init(conf);
      nodes.start();
      master.registerApplicationMaster("localhost", 0, "");
    } catch (Exception e) {
      close();
      throw e;
    }
  }

  /** Reports success and waits until YARN has recorded it. */
  void finish() throws Exception {
    master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
    ShellApplication.awaitFinished(yarn, id);
  }

  @Override
  public void close() {
    nodes.stop();
    master.stop();
  }
}
