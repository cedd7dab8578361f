package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.yarn.api.records.Resource;

/**
 * All queues as the engine described them at one moment, with those that were made since and
 * without those that were removed. Replaced as a whole now and then and when the configuration
 * changes. Reads take no lock; the scheduler's write lock guards changes.
 */
public final class QueueSnapshot {
  /** The path of the queue above all others. */
  static final String ROOT = "root";
  /** Before the engine was asked for the first time. */
  static final QueueSnapshot EMPTY =
      new QueueSnapshot(Collections.<String, String>emptyMap(), null);

  private final Map<String, QueueView> byPath = new ConcurrentHashMap<>();
  // By the last part of the path.
  private final Map<String, Set<String>> byName = new ConcurrentHashMap<>();

  // The name of the implementation by stage.
  private final Map<String, String> stages;
  private final Resource capacity;

  private QueueSnapshot(Map<String, String> stages, Resource capacity) {
    this.stages = stages;
    this.capacity = capacity;
  }

  /** Reads the reply to {@code queues}; parents come before their children. */
  static QueueSnapshot read(JsonNode reply) {
    return read(Collections.singletonList(reply));
  }

  /** Reads the pages of a reply to {@code queues}. */
  static QueueSnapshot read(List<JsonNode> pages) {
    JsonNode last = pages.get(pages.size() - 1);
    Map<String, String> stages = new HashMap<>();
    last.path("policy").fields().forEachRemaining(
        stage -> stages.put(stage.getKey(), stage.getValue().asText()));
    Resource capacity = QueueView.resource(last.path("cluster").path("capacity"), 0);
    QueueSnapshot snapshot = new QueueSnapshot(stages, capacity);
    for (JsonNode page : pages) {
      for (JsonNode element : page.path("queues")) {
        snapshot.put(new QueueView(element));
      }
    }
    return snapshot;
  }

  /** Adds a queue, or replaces a leaf. Its parent comes first. */
  void put(QueueView queue) {
    byPath.put(queue.path, queue);
    byName.computeIfAbsent(lastPart(queue.path), name -> ConcurrentHashMap.newKeySet())
        .add(queue.path);
    QueueView parent = queue.parent == null ? null : byPath.get(queue.parent);
    if (parent != null) {
      parent.addChild(queue);
    }
  }

  /** Takes a leaf out. */
  void remove(String path) {
    QueueView queue = byPath.remove(path);
    if (queue == null) {
      return;
    }
    byName.computeIfPresent(lastPart(path), (name, paths) -> {
      paths.remove(path);
      return paths.isEmpty() ? null : paths;
    });
    QueueView parent = queue.parent == null ? null : byPath.get(queue.parent);
    if (parent != null) {
      parent.removeChild(queue);
    }
  }

  private static String lastPart(String path) {
    return path.substring(path.lastIndexOf('.') + 1);
  }

  /** Returns the name of the implementation of a stage of the policy in force. */
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
    List<QueueView> all = new ArrayList<>();
    QueueView root = root();
    if (root != null) {
      all.add(root);
    }
    for (int i = 0; i < all.size(); i++) {
      all.addAll(all.get(i).children());
    }
    return all;
  }

  /** Returns the queue with exactly this path, or null. */
  public QueueView get(String path) {
    return byPath.get(path);
  }

  /** Returns the queue that people mean by a path, a path below root, or a unique last name. */
  public QueueView find(String name) {
    if (name == null) {
      return null;
    }
    QueueView queue = byPath.get(name);
    if (queue == null) {
      queue = byPath.get(ROOT + "." + name);
    }
    if (queue != null) {
      return queue;
    }
    Set<String> named = byName.getOrDefault(name, Collections.<String>emptySet());
    return named.size() == 1 ? byPath.get(named.iterator().next()) : null;
  }

  /** Whether the path of any queue ends so. */
  boolean anyEndsWith(String ending) {
    for (String path : byName.getOrDefault(lastPart(ending), Collections.<String>emptySet())) {
      if (path.endsWith(ending)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns the full path that a name means. For a queue that does not exist, the parts above it
   * that exist decide where it would be.
   */
  String pathOf(String name) {
    QueueView queue = find(name);
    if (queue != null) {
      return queue.path;
    }
    int dot = name == null ? -1 : name.lastIndexOf('.');
    if (dot < 0) {
      return name == null || name.isEmpty() ? ROOT : ROOT + "." + name;
    }
    return pathOf(name.substring(0, dot)) + name.substring(dot);
  }
}
