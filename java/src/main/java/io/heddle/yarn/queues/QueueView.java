package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * The engine's description of one queue at one moment. Once its snapshot is published, only its
 * children, {@link #leaf} and {@link #details} change. RPC and web threads read it and never enter
 * the engine.
 */
public final class QueueView {
  static final Set<String> ALL_LABELS = Collections.singleton(CommonNodeLabelsManager.ANY);

  /** All that the engine says. */
  public final JsonNode described;
  final int id;
  public final String path;
  final String parent;
  public volatile boolean leaf;
  final float weight;
  final Resource maxShare;
  /** The largest container that may be asked for in it. */
  final Resource maxContainer;
  /** Its guarantee if it has one, else its entitlement if its demand were unlimited. */
  final Resource activeShare;
  public final Resource used;
  final int maxRunningJobs;
  final boolean limitsJobs;
  final AccessControlList aclSubmit;
  final AccessControlList aclAdmin;
  /** The node labels that requests may name. */
  final Set<String> labels;
  /** The label of requests that name none, or null. */
  final String defaultLabel;
  final boolean dynamic;
  final boolean draining;
  final QueueState state;
  /** What only a Capacity Scheduler's file has; null before it was worked out. */
  volatile JsonNode details;
  // By queue number.
  private final Map<Integer, QueueView> children = new ConcurrentSkipListMap<>();

  /** Reads one element of the reply to {@code queues}. */
  QueueView(JsonNode queue) {
    described = queue;
    id = queue.path("id").asInt();
    path = queue.path("path").asText();
    parent = path.indexOf('.') < 0 ? null : path.substring(0, path.lastIndexOf('.'));
    leaf = queue.path("leaf").asBoolean();
    weight = (float) queue.path("weight").asDouble(1.0);
    maxShare = resource(queue.path("max_share"), Long.MAX_VALUE);
    maxContainer = resource(queue.path("max_container"), Long.MAX_VALUE);
    activeShare =
        resource(queue.path(queue.has("guaranteed") ? "guaranteed" : "active_share"), 0);
    used = resource(queue.path("used"), 0);
    maxRunningJobs = queue.path("max_running_jobs").asInt(Integer.MAX_VALUE);
    limitsJobs = queue.has("max_jobs");
    aclSubmit = new AccessControlList(queue.path("acl_submit").asText(" "));
    aclAdmin = new AccessControlList(queue.path("acl_admin").asText(" "));
    labels = labels(queue.path("accessible_labels"));
    defaultLabel = queue.path("default_label").textValue();
    dynamic = queue.path("dynamic").asBoolean();
    draining = queue.path("draining").asBoolean();
    String said = queue.path("state").asText(draining ? "draining" : "running");
    state = QueueState.valueOf(said.toUpperCase(Locale.ROOT));
  }

  private static Set<String> labels(JsonNode named) {
    if (!named.isArray()) {
      return ALL_LABELS;
    }
    Set<String> labels = new HashSet<>();
    named.forEach(label -> labels.add(label.asText()));
    return Collections.unmodifiableSet(labels);
  }

  /** Reads amounts by resource type; missing ones are {@code absent}. */
  static Resource resource(JsonNode amounts, long absent) {
    Resource resource = Resource.newInstance(0, 0);
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      JsonNode amount = amounts.path(type.getName());
      long value = amount.isNumber() ? amount.asLong() : absent;
      // YARN's vcores are an int.
      boolean vcores = ResourceInformation.VCORES_URI.equals(type.getName());
      resource.setResourceValue(
          type.getName(), vcores ? Math.min(value, Integer.MAX_VALUE) : value);
    }
    return resource;
  }

  /** Adds a child queue, or replaces an earlier view of it. */
  void addChild(QueueView child) {
    children.put(child.id, child);
    leaf = false;
  }

  void removeChild(QueueView child) {
    children.remove(child.id, child);
    leaf = children.isEmpty();
  }

  /** Returns the child queues. */
  public List<QueueView> children() {
    return new ArrayList<>(children.values());
  }
}
