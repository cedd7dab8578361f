package io.heddle.yarn.web;

import java.util.Arrays;
import java.util.List;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/** Asks YARN's access control who may view an application, as its own pages do. */
public final class ViewRights {
  private ViewRights() {}

  /**
   * Tells whether the caller may view the application: its owner, whom it lets view it, and
   * administrators of the cluster and of its queue; everybody while {@code yarn.acl.enable} is
   * false.
   */
  public static boolean mayView(ResourceManager manager, HttpServletRequest request,
      UserGroupInformation caller, RMApp app) {
    String forwarded = request.getHeader("X-Forwarded-For");
    List<String> addresses = forwarded == null ? null : Arrays.asList(forwarded.split(","));
    return manager.getApplicationACLsManager().checkAccess(
            caller, ApplicationAccessType.VIEW_APP, app.getUser(), app.getApplicationId())
        || manager.getQueueACLsManager().checkAccess(
            caller, QueueACL.ADMINISTER_QUEUE, app, request.getRemoteAddr(), addresses);
  }
}
