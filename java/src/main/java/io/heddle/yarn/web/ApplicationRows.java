package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.security.Principal;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Set;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppInfo;
import org.apache.hadoop.yarn.webapp.util.WebAppUtils;

/** Lists applications for the page about queues, with the columns of the stock page. */
final class ApplicationRows {
  /** States that the stock page leaves out: the scheduler does not know such applications yet. */
  private static final Set<RMAppState> UNKNOWN =
      EnumSet.of(RMAppState.NEW, RMAppState.NEW_SAVING, RMAppState.SUBMITTED);

  private ApplicationRows() {}

  /** Returns a list of texts for each application that the caller may see, then its address. */
  static ArrayNode of(ResourceManager manager, HttpServletRequest request) {
    Configuration conf = manager.getConfig();
    String scheme = WebAppUtils.getHttpSchemePrefix(conf);
    UserGroupInformation caller =
        conf.getBoolean(YarnConfiguration.FILTER_ENTITY_LIST_BY_USER,
            YarnConfiguration.DEFAULT_DISPLAY_APPS_FOR_LOGGED_IN_USER) ? callerOf(request) : null;
    ArrayNode rows = JsonNodeFactory.instance.arrayNode();
    for (RMApp app : manager.getRMContext().getRMApps().values()) {
      if (!UNKNOWN.contains(app.getState())
          && (caller == null || ViewRights.mayView(manager, request, caller, app))) {
        row(rows.addArray(), new AppInfo(manager, app, true, scheme));
      }
    }
    return rows;
  }

  private static void row(ArrayNode row, AppInfo app) {
    row.addArray().add(app.getAppId()).add(app.getUser()).add(app.getName())
        .add(app.getApplicationType()).add(app.getQueue()).add(time(app.getStartTime()))
        .add(time(app.getLaunchTime())).add(time(app.getFinishTime()))
        .add(String.valueOf(app.getState())).add(String.valueOf(app.getFinalStatus()))
        .add(count(app.getRunningContainers())).add(count(app.getAllocatedVCores()))
        .add(count(app.getAllocatedMB())).add(String.format("%.1f%%", app.getProgress()))
        .add(app.getTrackingUI());
    row.add(app.isTrackingUrlReady() ? app.getTrackingUrlPretty() : null);
  }

  private static String time(long epochMs) {
    return epochMs <= 0 ? "N/A" : Instant.ofEpochMilli(epochMs).toString();
  }

  private static String count(long value) {
    return value == -1 ? "N/A" : String.valueOf(value);
  }

  private static UserGroupInformation callerOf(HttpServletRequest request) {
    Principal caller = request.getUserPrincipal();
    return caller == null ? null : UserGroupInformation.createRemoteUser(caller.getName());
  }
}
