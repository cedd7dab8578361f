package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Native;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;

/**
 * Validates a change of the scheduler's configuration. YARN's own answer at this address casts to
 * its own scheduler, so it fails here.
 */
final class ValidateRequest {
  static final String PATH = "/ws/v1/cluster/scheduler-conf/validate";

  private static final int BYTES_MAX = 10_000_000;

  private ValidateRequest() {}

  /** Whether a request at the path is the scheduler's to answer. */
  static boolean isOurs(HttpServletRequest request, WebScheduler scheduler) {
    return "POST".equals(request.getMethod()) && scheduler.configurationCheck() != null;
  }

  static void answer(ResourceManager manager, ConfigurationCheck check,
      HttpServletRequest request, HttpServletResponse response) throws IOException {
    if (!isAdmin(manager, request.getRemoteUser())) {
      Replies.sentence(response, HttpServletResponse.SC_FORBIDDEN,
          "Only admins can carry out this operation.");
      return;
    }
    byte[] body = ByteStreams.toByteArray(
        ByteStreams.limit(request.getInputStream(), BYTES_MAX));
    String type = request.getContentType();
    JsonNode change = SetupJson.ask("scheduler_conf", "content_type", type == null ? "" : type,
        "body", new String(body, StandardCharsets.UTF_8));
    if (change.has("wrong")) {
      Replies.sentence(response, HttpServletResponse.SC_BAD_REQUEST,
          change.path("wrong").asText());
      return;
    }
    ObjectNode properties = SetupJson.object();
    try {
      check.check(change).forEach(properties::put);
    } catch (IOException e) {
      Replies.sentence(response, HttpServletResponse.SC_BAD_REQUEST,
          "CapacityScheduler configuration validation failed:" + e);
      return;
    }
    String accept = String.join(",", Collections.list(request.getHeaders("Accept")));
    Replies.send(response, Native.ask(SetupJson.request(
        "configuration", "accept", accept, "properties", properties)), head -> { });
  }

  private static boolean isAdmin(ResourceManager manager, String user) {
    ApplicationACLsManager rights = manager.getApplicationACLsManager();
    return user != null && (!rights.areACLsEnabled()
        || rights.isAdmin(UserGroupInformation.createRemoteUser(user)));
  }
}
