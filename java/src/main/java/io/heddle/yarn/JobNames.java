package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.web.ApiHandler;
import io.heddle.yarn.web.ViewRights;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * Maps the engine's numbers of jobs and nodes to names, for answers over HTTP. A job has YARN's id,
 * its user and its name; a node has YARN's id. A job or node that is put aside also has the reason,
 * because the engine does not know it; a job that lost its queue at a restart has that queue. Web
 * threads read without the scheduler's lock: before the engine answers, a job may have ended and
 * its number been reused.
 */
final class JobNames implements ApiHandler.Names {
  /** Longest name in an answer: submitters choose names of any length. */
  private static final int NAME_CHARS_MAX = 200;
  private static final Pattern NUMBERED = Pattern.compile("\\b(job|node)#(\\d{1,9})\\b");

  private final RMContext rmContext;
  private final ConcurrentNavigableMap<Integer, HeddleJob> jobs = new ConcurrentSkipListMap<>();
  private final ConcurrentNavigableMap<Integer, Node> nodes = new ConcurrentSkipListMap<>();

  /** A node, and the time by the engine's clock at which it got its number. */
  private static final class Node {
    private final HeddleNode node;
    private final long sinceMs;

    Node(HeddleNode node, long sinceMs) {
      this.node = node;
      this.sinceMs = sinceMs;
    }
  }

  JobNames(RMContext rmContext) {
    this.rmContext = rmContext;
  }

  /** Adds a job that got its number. */
  void added(HeddleJob job) {
    jobs.put(job.id(), job);
  }

  /** Removes a job that ended. */
  void removed(HeddleJob job) {
    jobs.remove(job.id(), job);
  }

  /** Adds a node that got its number. */
  void added(HeddleNode node) {
    nodes.put(node.id(), new Node(node, EngineClock.nowMs()));
  }

  /** Removes a node that left. */
  void removed(HeddleNode node) {
    nodes.remove(node.id());
  }

  /** Returns the job with a number, or null. */
  HeddleJob job(int id) {
    return jobs.get(id);
  }

  /** Returns the job of an application, or null. */
  HeddleJob find(ApplicationId application) {
    for (HeddleJob job : jobs.values()) {
      if (job.applicationId().equals(application)) {
        return job;
      }
    }
    return null;
  }

  /** Returns YARN's id of the node with a number, or null. */
  NodeId node(int id) {
    Node node = nodes.get(id);
    return node == null ? null : node.node.getNodeID();
  }

  /** Replaces numbers by names in a sentence of the engine. */
  String named(String text) {
    Matcher matcher = NUMBERED.matcher(text);
    StringBuffer result = new StringBuffer();
    while (matcher.find()) {
      int id = Integer.parseInt(matcher.group(2));
      HeddleJob job = matcher.group(1).equals("job") ? job(id) : null;
      Object name = job != null ? job.applicationId()
          : matcher.group(1).equals("node") ? node(id) : null;
      matcher.appendReplacement(result,
          Matcher.quoteReplacement(name == null ? matcher.group() : name.toString()));
    }
    return matcher.appendTail(result).toString();
  }

  @Override
  public ArrayNode nodes() {
    ArrayNode names = JsonNodeFactory.instance.arrayNode();
    for (Map.Entry<Integer, Node> entry : nodes.entrySet()) {
      Node node = entry.getValue();
      ArrayNode row = names.addArray().add(entry.getKey()).add(node.node.getNodeID().toString())
          .add(node.sinceMs).add(node.node.getRackName()).add(node.node.getPartition());
      String aside = node.node.faults().aside();
      if (aside != null) {
        row.add(aside);
      }
    }
    return names;
  }

  /** Hashes all rows, so that no caller has to report a change. */
  @Override
  public String nodesMark() {
    long mark = 0;
    for (Map.Entry<Integer, Node> entry : nodes.entrySet()) {
      Node node = entry.getValue();
      int row = Objects.hash(node.node.getNodeID(), node.node.getRackName(),
          node.node.getPartition(), node.node.faults().aside());
      mark = 31 * (31 * (31 * mark + entry.getKey()) + node.sinceMs) + row;
    }
    return Long.toHexString(mark);
  }

  @Override
  public boolean concern(String path) {
    return !SetupJson.ask("names", "path", path).isNull();
  }

  @Override
  public ArrayNode of(String path) {
    JsonNode about = SetupJson.ask("names", "path", path);
    ArrayNode names = JsonNodeFactory.instance.arrayNode();
    String asked = about.path("one").textValue();
    if (asked != null) {
      for (Map.Entry<Integer, HeddleJob> entry : jobs.entrySet()) {
        if (asked.equals(entry.getValue().applicationId().toString())
            || asked.equals(entry.getKey().toString())) {
          add(names, entry);
        }
      }
    }
    int max = about.path("max").asInt();
    for (Map.Entry<Integer, HeddleJob> entry : jobs.entrySet()) {
      if (names.size() >= max) {
        break;
      }
      add(names, entry);
    }
    return names;
  }

  @Override
  public ArrayNode viewed(ArrayNode jobs, HttpServletRequest request) {
    String user = request.getRemoteUser();
    ResourceManager manager = rmContext.getResourceManager();
    if (user == null || manager == null || !manager.getConfig().getBoolean(
        YarnConfiguration.YARN_ACL_ENABLE, YarnConfiguration.DEFAULT_YARN_ACL_ENABLE)) {
      return null;
    }
    UserGroupInformation caller = UserGroupInformation.createRemoteUser(user);
    ArrayNode viewed = JsonNodeFactory.instance.arrayNode();
    for (JsonNode row : jobs) {
      HeddleJob job = job(row.path(0).asInt());
      RMApp app = job == null ? null : rmContext.getRMApps().get(job.applicationId());
      if (app != null && ViewRights.mayView(manager, request, caller, app)) {
        viewed.add(job.id());
      }
    }
    return viewed;
  }

  private void add(ArrayNode names, Map.Entry<Integer, HeddleJob> entry) {
    HeddleJob job = entry.getValue();
    RMApp app = rmContext.getRMApps().get(job.applicationId());
    String name = app == null || app.getName() == null ? "" : app.getName();
    ArrayNode row = names.addArray().add(entry.getKey()).add(job.applicationId().toString())
        .add(SetupJson.text(job.user(), NAME_CHARS_MAX)).add(SetupJson.text(name, NAME_CHARS_MAX));
    String aside = job.faults().aside();
    String lost = job.lostQueue();
    if (aside != null) {
      row.addArray().add(job.queue().getQueueName()).add(aside);
    } else if (lost != null) {
      row.addNull();
    }
    if (lost != null) {
      row.add(lost);
    }
  }
}
