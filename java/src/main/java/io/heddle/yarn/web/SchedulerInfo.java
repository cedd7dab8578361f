package io.heddle.yarn.web;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.queues.QueueSnapshot;
import io.heddle.yarn.queues.QueueView;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * {@code GET /ws/v1/cluster/scheduler} in the shape of the stock Fair scheduler's answer, field by
 * field and in its order, so that what reads that reads this. From one snapshot: no lock, no call
 * into the engine.
 *
 * <p>Fields whose meaning here is not the stock scheduler's, or that have none:
 *
 * <table>
 * <caption>Fields</caption>
 * <tr><th>Field</th><th>Carries</th></tr>
 * <tr><td>{@code schedulingPolicy}</td><td>what decides between the queues below (stage
 *   {@code share}), of a leaf what decides between its jobs ({@code order}), as in the stock
 *   scheduler; the names are Heddle's</td></tr>
 * <tr><td>{@code fairResources}</td><td>what the queue is entitled to now; never more than it
 *   wants</td></tr>
 * <tr><td>{@code steadyFairResources}</td><td>under shares by weight: the part of its parent's
 *   that the weights of all queues there give it, up to its maximum; minima are left out. Under
 *   other policies as {@code fairResources}, because weights mean nothing there</td></tr>
 * <tr><td>{@code maxContainerAllocation}</td><td>the cluster's for every queue: queues have no
 *   such limit</td></tr>
 * <tr><td>{@code amUsedResources}, {@code amMaxResources}</td><td>0: ApplicationMasters are
 *   counted by the engine and not told</td></tr>
 * <tr><td>{@code reservedResources}, {@code reservedContainers}</td><td>0: a node held for a large
 *   ask is held inside the engine, and YARN sees no reserved container</td></tr>
 * <tr><td>{@code preemptable}</td><td>true: no queue is exempt</td></tr>
 * <tr><td>{@code numPendingApps}, {@code numActiveApps}</td><td>YARN's metrics: applications
 *   accepted and running, where the stock scheduler counts those without and with a
 *   container</td></tr>
 * </table>
 */
final class SchedulerInfo {
  // In 3.5.0 another library writes the ResourceManager's answers, and leaves out an empty map.
  private static final boolean EMPTY_MAPS = writesEmptyMaps();

  private static final JsonFactory JSON = new JsonFactory();

  private final JsonGenerator out;
  private final QueueReports reports;
  private final QueueSnapshot snapshot;
  private final Resource largest;
  private final Resource none = Resource.newInstance(0, 0);
  private final boolean byWeight;

  private SchedulerInfo(JsonGenerator out, QueueReports reports, QueueSnapshot snapshot) {
    this.out = out;
    this.reports = reports;
    this.snapshot = snapshot;
    largest = reports.largestContainer();
    byWeight = reports.table().sharesByWeight();
  }

  /** Answers a request that only reads. */
  static void answer(QueueReports reports, HttpServletRequest request,
      HttpServletResponse response) throws IOException {
    // One header may come as several.
    List<String> accepted = Collections.list(request.getHeaders("Accept"));
    String type = MediaTypes.choose(
        String.join(",", accepted), MediaTypes.JSON, MediaTypes.XML);
    if (type == null) {
      Replies.sentence(response, HttpServletResponse.SC_NOT_ACCEPTABLE,
          "This is there as " + MediaTypes.JSON + " and as " + MediaTypes.XML + ".");
      return;
    }
    QueueSnapshot snapshot = reports == null ? null : reports.snapshot();
    if (snapshot == null || snapshot.root() == null) {
      Replies.notYet(response);
      return;
    }
    StringWriter json = new StringWriter();
    try (JsonGenerator out = JSON.createGenerator(json)) {
      new SchedulerInfo(out, reports, snapshot).write();
    }
    Replies.send(response, HttpServletResponse.SC_OK, type + ";charset=utf-8",
        type.equals(MediaTypes.XML) ? XmlDocument.of(json.toString())
            : json.toString().getBytes(StandardCharsets.UTF_8));
  }

  private void write() throws IOException {
    out.writeStartObject();
    out.writeObjectFieldStart("scheduler");
    out.writeObjectFieldStart("schedulerInfo");
    out.writeStringField("type", "fairScheduler");
    out.writeObjectFieldStart("rootQueue");
    fields(snapshot.root(), snapshot.capacity());
    out.writeEndObject();
    out.writeEndObject();
    out.writeEndObject();
    out.writeEndObject();
  }

  private void fields(QueueView queue, Resource steady) throws IOException {
    QueueMetrics metrics = reports.metrics(queue.path);
    out.writeNumberField("maxApps", queue.maxRunningJobs == QueueView.NO_LIMIT
        ? Integer.MAX_VALUE : queue.maxRunningJobs);
    resource("minResources", queue.minShare);
    resource("maxResources", queue.maxShare);
    resource("usedResources", queue.used);
    resource("amUsedResources", none);
    resource("amMaxResources", none);
    resource("demandResources", queue.demand);
    resource("steadyFairResources", steady);
    resource("fairResources", queue.fairShare);
    resource("clusterResources", snapshot.capacity());
    resource("reservedResources", none);
    resource("maxContainerAllocation", largest);
    out.writeNumberField("pendingContainers", queue.pendingContainers);
    out.writeNumberField("allocatedContainers", queue.runningContainers);
    out.writeNumberField("reservedContainers", 0);
    out.writeStringField("queueName", queue.path);
    out.writeStringField("schedulingPolicy", snapshot.stage(queue.leaf ? "order" : "share"));
    out.writeBooleanField("preemptable", true);
    if (queue.leaf) {
      out.writeNumberField("numPendingApps", metrics == null ? 0 : metrics.getAppsPending());
      out.writeNumberField("numActiveApps", metrics == null ? 0 : metrics.getAppsRunning());
    } else {
      children(queue, steady);
    }
  }

  private void children(QueueView queue, Resource steady) throws IOException {
    double weights = 0;
    for (QueueView child : queue.children()) {
      weights += child.weight;
    }
    out.writeObjectFieldStart("childQueues");
    out.writeArrayFieldStart("queue");
    for (QueueView child : queue.children()) {
      out.writeStartObject();
      if (child.leaf) {
        out.writeStringField("type", "fairSchedulerLeafQueueInfo");
      }
      double part = weights > 0 ? child.weight / weights : 0;
      fields(child, byWeight
          ? Resources.componentwiseMin(Resources.multiply(steady, part), child.maxShare)
          : child.fairShare);
      out.writeEndObject();
    }
    out.writeEndArray();
    out.writeEndObject();
  }

  private void resource(String field, Resource amounts) throws IOException {
    out.writeObjectFieldStart(field);
    out.writeNumberField("memory", amounts.getMemorySize());
    out.writeNumberField("vCores", amounts.getVirtualCores());
    out.writeObjectFieldStart("resourceInformations");
    out.writeArrayFieldStart("resourceInformation");
    for (ResourceInformation type : amounts.getResources()) {
      out.writeStartObject();
      if (EMPTY_MAPS) {
        out.writeObjectFieldStart("attributes");
        out.writeEndObject();
      }
      out.writeNumberField("maximumAllocation", type.getMaximumAllocation());
      out.writeNumberField("minimumAllocation", type.getMinimumAllocation());
      out.writeStringField("name", type.getName());
      out.writeStringField("resourceType", type.getResourceType().toString());
      out.writeStringField("units", type.getUnits());
      out.writeNumberField("value", type.getValue());
      out.writeEndObject();
    }
    out.writeEndArray();
    out.writeEndObject();
    out.writeEndObject();
  }

  /** Whether Jersey 1 writes the ResourceManager's answers: its web filter is one of Jersey's. */
  private static boolean writesEmptyMaps() {
    try {
      Class<?> filter = Class.forName(
          "org.apache.hadoop.yarn.server.resourcemanager.webapp.RMWebAppFilter", false,
          SchedulerInfo.class.getClassLoader());
      return filter.getSuperclass().getName().startsWith("com.sun.jersey.");
    } catch (ClassNotFoundException | LinkageError e) {
      return false;
    }
  }
}
