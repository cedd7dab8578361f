package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * All queues as the engine described them at one moment. Immutable; replaced as a whole on the
 * tick and whenever a queue is made or the configuration changes.
 */
public final class QueueSnapshot {
  /** The path of the queue above all others. */
  static final String ROOT = "root";
  /** Before the engine was asked for the first time. */
  static final QueueSnapshot EMPTY =
      new QueueSnapshot(
          Collections.<String, QueueView>emptyMap(), Collections.<String, String>emptyMap(), null);

  private final Map<String, QueueView> byPath;
  // Last part of the path to queue, or to null when two queues share it.
  private final Map<String, QueueView> byName = new HashMap<>();

  // Implementation by stage, such as "fair" by "share".
  private final Map<String, String> stages;
  private final Resource capacity;

  private QueueSnapshot(
      Map<String, QueueView> byPath, Map<String, String> stages, Resource capacity) {
    this.byPath = byPath;
    this.stages = stages;
    this.capacity = capacity;
    for (QueueView queue : byPath.values()) {
      String name = queue.path.substring(queue.path.lastIndexOf('.') + 1);
      byName.put(name, byName.containsKey(name) ? null : queue);
    }
  }

  /** Reads the reply to {@code queues}; parents come before their children. */
  static QueueSnapshot read(JsonNode reply) {
    Map<String, QueueView> byPath = new LinkedHashMap<>();
    for (JsonNode element : reply.path("queues")) {
      QueueView queue = new QueueView(element);
      byPath.put(queue.path, queue);
      QueueView parent = queue.parent == null ? null : byPath.get(queue.parent);
      if (parent != null) {
        parent.addChild(queue);
      }
    }
    Map<String, String> stages = new HashMap<>();
    reply.path("policy").fields().forEachRemaining(
        stage -> stages.put(stage.getKey(), stage.getValue().asText()));
    Resource capacity = QueueView.resource(reply.path("cluster").path("capacity"), 0);
    return new QueueSnapshot(byPath, stages, capacity);
  }

  /** Whether any stage of the policy in force is this one. */
  boolean uses(String stage) {
    return stages.containsValue(stage);
  }

  /** Returns the implementation of a stage of the policy in force; "share" gives "fair", say. */
  public String stage(String name) {
    return stages.getOrDefault(name, "");
  }

  /** Returns what all nodes together have, or null before the engine was asked. */
  public Resource capacity() {
    return capacity;
  }

  /** Returns the queue above all others, or null before the engine was asked. */
  public QueueView root() {
    return byPath.get(ROOT);
  }

  /** Returns all queues, parents before children. */
  Iterable<QueueView> all() {
    return byPath.values();
  }

  /** Returns how many queues there are. */
  int size() {
    return byPath.size();
  }

  /** Returns the queue with exactly this path, or null. */
  QueueView get(String path) {
    return byPath.get(path);
  }

  /** Returns the queue that people mean by a path, a path below root, or a unique last name. */
  QueueView find(String name) {
    if (name == null) {
      return null;
    }
    QueueView queue = byPath.get(name);
    if (queue == null) {
      queue = byPath.get(ROOT + "." + name);
    }
    return queue != null ? queue : byName.get(name);
  }

  /** Whether the path of any queue ends so. */
  boolean anyEndsWith(String ending) {
    for (String path : byPath.keySet()) {
      if (path.endsWith(ending)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the queue of a name, or the nearest above it that exists; null if there is none. */
  QueueView findNearest(String name) {
    QueueView queue = find(name);
    String path = name == null ? "" : name;
    while (queue == null && path.indexOf('.') >= 0) {
      path = path.substring(0, path.lastIndexOf('.'));
      queue = find(path);
    }
    return queue != null ? queue : byPath.get(ROOT);
  }
}
