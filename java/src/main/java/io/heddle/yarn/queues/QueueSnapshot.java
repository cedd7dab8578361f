package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * All queues as the engine described them at one moment, with later additions and removals.
 * Replaced as a whole by every refresh and every change of the configuration. Reads take no lock;
 * the scheduler's write lock guards changes.
 */
public final class QueueSnapshot {
  /** The path of the root queue. */
  static final String ROOT = "root";
  /** The snapshot before the first answer of the engine. */
  static final QueueSnapshot EMPTY =
      new QueueSnapshot(MissingNode.getInstance());

  private final Map<String, QueueView> byPath = new ConcurrentHashMap<>();
  // Paths by their last part.
  private final Map<String, Set<String>> byName = new ConcurrentHashMap<>();

  // The last page of the reply, for what it says of the cluster and of the policy.
  private final JsonNode reply;

  private QueueSnapshot(JsonNode reply) {
    this.reply = reply;
  }

  /** Reads the reply to {@code queues}; parents come before their children. */
  static QueueSnapshot read(JsonNode reply) {
    return read(Collections.singletonList(reply));
  }

  /** Reads the pages of a reply to {@code queues}. */
  static QueueSnapshot read(List<JsonNode> pages) {
    QueueSnapshot snapshot = new QueueSnapshot(pages.get(pages.size() - 1));
    for (JsonNode page : pages) {
      for (JsonNode element : page.path("queues")) {
        snapshot.put(new QueueView(element));
      }
    }
    return snapshot;
  }

  /** Adds a queue, or replaces a leaf. Its parent must be added before. */
  void put(QueueView queue) {
    byPath.put(queue.path, queue);
    byName.computeIfAbsent(lastPart(queue.path), name -> ConcurrentHashMap.newKeySet())
        .add(queue.path);
    QueueView parent = queue.parent == null ? null : byPath.get(queue.parent);
    if (parent != null) {
      parent.addChild(queue);
    }
  }

  /** Removes a leaf. */
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

  /** Returns the last page of the engine's reply, for its cluster and policy. */
  JsonNode reply() {
    return reply;
  }

  /** Returns the root queue, or null before the first answer of the engine. */
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

  /** Returns the queue with this path, path below root, or unique last part; or null. */
  public QueueView find(String name) {
    if (name == null) {
      return null;
    }
    QueueView queue = byPath.get(name);
    if (queue == null) {
      queue = byPath.get(ROOT + "." + name);
    }
    return queue != null ? queue : byLastPart(name);
  }

  /** Returns the queue with this path or unique last part; or null. */
  QueueView named(String name) {
    QueueView queue = byPath.get(name);
    return queue != null ? queue : byLastPart(name);
  }

  private QueueView byLastPart(String name) {
    Set<String> named = byName.getOrDefault(name, Collections.<String>emptySet());
    return named.size() == 1 ? byPath.get(named.iterator().next()) : null;
  }

  /**
   * Returns the full path that a name means. For a queue that does not exist, this is the path of
   * its existing ancestor with the rest of the name.
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
