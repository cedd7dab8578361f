package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * All queues as the engine described them at one moment. Immutable; replaced as a whole on the
 * tick and whenever a queue is made or the configuration changes.
 */
final class QueueSnapshot {
  /** The path of the queue above all others. */
  static final String ROOT = "root";
  /** Before the engine was asked for the first time. */
  static final QueueSnapshot EMPTY =
      new QueueSnapshot(Collections.<String, QueueView>emptyMap());

  private final Map<String, QueueView> byPath;
  // Last part of the path to queue, or to null when two queues share it.
  private final Map<String, QueueView> byName = new HashMap<>();

  private QueueSnapshot(Map<String, QueueView> byPath) {
    this.byPath = byPath;
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
    return new QueueSnapshot(byPath);
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
