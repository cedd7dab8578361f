package io.heddle.yarn.engine;

import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * The AMRMProxies of a federation. They submit a job to the sub-clusters in which its
 * ApplicationMaster does not run.
 */
public final class Proxies {
  /** The beginning of the name that a proxy gives each application; nothing else marks them. */
  private static final String NAME = "UnmanagedAM-";

  private Proxies() {}

  /** Returns whether a proxy submitted this application; so its ApplicationMaster is elsewhere. */
  public static boolean submitted(RMApp app) {
    return app.getApplicationSubmissionContext() != null
        && app.getApplicationSubmissionContext().getUnmanagedAM()
        && app.getName() != null && app.getName().startsWith(NAME);
  }
}
