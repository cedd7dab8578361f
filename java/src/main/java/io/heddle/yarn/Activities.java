package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.ActivitiesManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.ActivityDiagnosticConstant;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.ActivityLevel;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.ActivityState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.AllocationState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.AppAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.NodeAllocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWSConsts.ActivitiesGroupBy;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.ActivitiesInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppActivitiesInfo;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Answers the ResourceManager's REST about scheduling activities from the engine's explanations.
 * The engine can always explain, so nothing is recorded and the first request has an answer. This
 * service is never started: the superclass's thread only cleans up recordings.
 *
 * <p>Takes none of the scheduler's locks, except an attempt's for the key of an ask.
 */
final class Activities extends ActivitiesManager {
  /** The name of an allocation without a container, as in YARN's own answers. */
  private static final String NO_CONTAINER = "Container-Id-Not-Assigned";

  private final RMContext rmContext;
  private final Engine engine;
  private final JobNames names;

  Activities(RMContext rmContext, Engine engine, JobNames names) {
    super(rmContext);
    this.rmContext = rmContext;
    this.engine = engine;
    this.names = names;
  }

  /** Does nothing: there is nothing to record. */
  @Override
  public void recordNextNodeUpdateActivities(String nodeId) {}

  /** Does nothing, as above. */
  @Override
  public void turnOnAppActivitiesRecording(ApplicationId application, double maxTime) {}

  @Override
  public ActivitiesInfo getActivitiesInfo(String nodeId, ActivitiesGroupBy groupBy) {
    NodeId node = nodeId == null ? null : NodeId.fromString(nodeId);
    return answer(explain(null), node, nodeId, groupBy);
  }

  private ActivitiesInfo answer(
      JsonNode explained, NodeId node, String nodeId, ActivitiesGroupBy groupBy) {
    List<NodeAllocation> allocations = allocations(explained, node);
    return allocations.isEmpty() && engine.up()
        ? new ActivitiesInfo(ActivityDiagnosticConstant.QUEUE_DO_NOT_NEED_MORE_RESOURCE, nodeId)
        : new ActivitiesInfo(allocations.isEmpty() ? null : allocations, nodeId, groupBy);
  }

  /** Answers for the first nodes, one each; 3.4 and later call it. */
  public List<ActivitiesInfo> recordAndGetBulkActivitiesInfo(
      int count, ActivitiesGroupBy groupBy) {
    JsonNode explained = explain(null);
    List<NodeId> nodes = new ArrayList<>(rmContext.getRMNodes().keySet());
    Collections.sort(nodes);
    return nodes.stream().limit(count)
        .map(node -> answer(explained, node, node.toString(), groupBy))
        .collect(Collectors.toList());
  }

  @Override
  public AppActivitiesInfo getAppActivitiesInfo(ApplicationId application,
      Set<Integer> priorities, Set<Long> requestIds, ActivitiesGroupBy groupBy, int limit,
      boolean summarize, double maxTime) {
    RMApp app = rmContext.getRMApps().get(application);
    HeddleJob job = names.find(application);
    if (job == null || app == null
        || app.getFinalApplicationStatus() != FinalApplicationStatus.UNDEFINED) {
      return super.getAppActivitiesInfo(
          application, priorities, requestIds, groupBy, limit, summarize, maxTime);
    }
    List<AppAllocation> allocations = new ArrayList<>();
    for (JsonNode row : explain(job.id())) {
      for (JsonNode told : row.path("allocations")) {
        AppAllocation allocation = allocation(job, told)
            .filterAllocationAttempts(priorities, requestIds);
        if (!allocation.getAllocationAttempts().isEmpty()) {
          allocations.add(allocation);
        }
      }
    }
    int most = summarize ? 1 : limit > 0 ? limit : allocations.size();
    return new AppActivitiesInfo(
        allocations.subList(Math.max(0, allocations.size() - most), allocations.size()),
        application, groupBy);
  }

  /** Returns the rows about one job, or about all with null; none while there is no engine. */
  private JsonNode explain(Integer job) {
    JsonNode explained = engine.peek(job == null ? SetupJson.request("activities")
        : SetupJson.request("activities", "job", job));
    return explained.isObject() ? SetupJson.ask("activities", (ObjectNode) explained)
        : SetupJson.array();
  }

  private AppAllocation allocation(HeddleJob job, JsonNode told) {
    NodeId node = node(told);
    AppAllocation allocation = new AppAllocation(
        priorityOf(job), node, job.queue().getQueueName());
    for (JsonNode row : told.path("requests")) {
      SchedulerRequestKey key = key(job, row);
      allocation.addAppAllocationActivity(NO_CONTAINER, priority(key), state(row), text(row),
          node == null ? ActivityLevel.REQUEST : ActivityLevel.NODE, node, requestId(key));
    }
    allocation.updateAppContainerStateAndTime(null, state(told), at(told), text(told));
    return allocation;
  }

  /** Returns the allocations of all applications that concern a node; all of them for null. */
  private List<NodeAllocation> allocations(JsonNode explained, NodeId wanted) {
    List<NodeAllocation> allocations = new ArrayList<>();
    for (JsonNode row : explained) {
      HeddleJob job = names.job(row.path("job").asInt());
      for (JsonNode told : row.path("allocations")) {
        NodeId node = node(told);
        if (job != null && (wanted == null || node == null || node.equals(wanted))) {
          allocations.add(tree(job, row, told, node == null ? wanted : node));
        }
      }
    }
    return allocations;
  }

  /** Adds a branch from leaf to root, as YARN's own tree is built: node, request, job, queues. */
  private NodeAllocation tree(HeddleJob job, JsonNode row, JsonNode told, NodeId node) {
    NodeAllocation allocation = new NodeAllocation(node == null ? EMPTY_NODE_ID : node);
    String application = job.applicationId().toString();
    for (JsonNode request : told.path("requests")) {
      SchedulerRequestKey key = key(job, request);
      String name = key == null ? "request" : "request_" + key.getPriority().getPriority() + "_"
          + key.getAllocationRequestId();
      if (node != null) {
        allocation.addAllocationActivity(name, null, priority(key), state(request),
            text(request), ActivityLevel.NODE, node, requestId(key));
      }
      allocation.addAllocationActivity(application, name, priority(key), state(request),
          text(request), ActivityLevel.REQUEST, node, requestId(key));
    }
    String child = application;
    ActivityLevel level = ActivityLevel.APP;
    for (JsonNode queue : row.path("queues")) {
      allocation.addAllocationActivity(queue.asText(), child, priorityOf(job).getPriority(),
          state(told), level == ActivityLevel.APP ? text(told) : null, level, node, null);
      child = queue.asText();
      level = ActivityLevel.QUEUE;
    }
    allocation.addAllocationActivity("", child, null, state(told), null, level, node, null);
    allocation.updateContainerState(null, AllocationState.valueOf(state(told).name()));
    allocation.transformToTree();
    allocation.setTimestamp(at(told));
    allocation.setPartition(partition(node));
    return allocation;
  }

  private String partition(NodeId node) {
    RMNode known = node == null ? null : rmContext.getRMNodes().get(node);
    Set<String> labels =
        known == null ? Collections.<String>emptySet() : known.getNodeLabels();
    return labels.isEmpty() ? CommonNodeLabelsManager.NO_LABEL : labels.iterator().next();
  }

  private NodeId node(JsonNode told) {
    return told.path("node").isInt() ? names.node(told.path("node").asInt()) : null;
  }

  private Priority priorityOf(HeddleJob job) {
    RMApp app = rmContext.getRMApps().get(job.applicationId());
    return app == null ? Priority.newInstance(0) : app.getApplicationPriority();
  }

  /** Returns the key of a row's ask; null if the ask is gone. */
  private static SchedulerRequestKey key(HeddleJob job, JsonNode row) {
    HeddleAppAttempt attempt = job.attempt();
    if (attempt == null || !row.path("ask").isInt()) {
      return null;
    }
    attempt.getWriteLock().lock();
    try {
      AskTable.Entry ask = attempt.asks().get(row.path("ask").asInt());
      return ask == null ? null : ask.key;
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private static Integer priority(SchedulerRequestKey key) {
    return key == null ? null : key.getPriority().getPriority();
  }

  private static Long requestId(SchedulerRequestKey key) {
    return key == null ? null : key.getAllocationRequestId();
  }

  private static ActivityState state(JsonNode row) {
    return ActivityState.valueOf(row.path("state").asText());
  }

  private String text(JsonNode row) {
    return names.named(row.path("diagnostic").asText());
  }

  private static long at(JsonNode row) {
    return EngineClock.toWall(row.path("at_ms").asLong());
  }

  /**
   * Returns all nodes as objects of the class to which YARN's web services cast them. They have
   * names and addresses only: the scheduler's own nodes have the books.
   */
  ClusterNodeTracker<FiCaSchedulerNode> nodes() {
    List<FiCaSchedulerNode> nodes = new ArrayList<>();
    for (RMNode node : rmContext.getRMNodes().values()) {
      nodes.add(new FiCaSchedulerNode(node, false));
    }
    return new ClusterNodeTracker<FiCaSchedulerNode>() {
      @Override
      public List<FiCaSchedulerNode> getAllNodes() {
        return nodes;
      }
    };
  }
}
