package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;

/**
 * The queue objects by path and the last snapshot of what the engine said of them. Reads take no
 * lock; changes are guarded by the scheduler's write lock.
 */
public final class QueueTable {
  private final Map<String, HeddleQueue> queues = new ConcurrentHashMap<>();
  private final QueueReports reports;
  private final Configuration conf;
  private volatile QueueSnapshot snapshot = QueueSnapshot.EMPTY;
  private volatile Set<String> wants = Collections.emptySet();
  private volatile boolean byWeight;

  QueueTable(QueueReports reports, Configuration conf) {
    this.reports = reports;
    this.conf = conf;
  }

  /** Returns the last snapshot. */
  public QueueSnapshot snapshot() {
    return snapshot;
  }

  /** Takes over the numbers of queues in a new engine; readers keep what was published. */
  void renumber(QueueSnapshot next) {
    for (QueueView view : next.all()) {
      ensure(view.path).setId(view.id);
    }
  }

  /** Publishes a snapshot and makes the queue objects that it names. */
  void publish(QueueSnapshot next) {
    renumber(next);
    snapshot = next;
  }

  /** The configuration is another one: rights follow it. */
  void configured(QueueSnapshot next) {
    reports.configured(next);
  }

  /** Takes over what the engine says of the policies in force. */
  void inForce(JsonNode policies) {
    Set<String> facts = new HashSet<>();
    policies.path("wants").forEach(fact -> facts.add(fact.asText()));
    wants = facts;
    byWeight = policies.path("by_weight").asBoolean();
  }

  /** Returns which facts of jobs the policies in force want to hear from ApplicationMasters. */
  public Set<String> wants() {
    return wants;
  }

  /** Whether queues have parts of what their parent has by weight. */
  public boolean sharesByWeight() {
    return byWeight;
  }

  /** Publishes one more queue; those above it are known. */
  void add(QueueView view) {
    ensure(view.path).setId(view.id);
    snapshot.put(view);
  }

  /** Forgets a queue in which no application is. */
  void remove(String path) {
    snapshot.remove(path);
    HeddleQueue queue = queues.remove(path);
    if (queue != null) {
      queue.unregister();
    }
  }

  /** Returns the queue object of a path, or null if there is none. */
  public HeddleQueue get(String path) {
    return queues.get(path);
  }

  /** Returns the queue above all others. */
  public HeddleQueue root() {
    return ensure(QueueSnapshot.ROOT);
  }

  /** Returns the queue object of a path; makes it and those above it if needed. */
  HeddleQueue ensure(String path) {
    HeddleQueue queue = queues.get(path);
    if (queue == null) {
      int dot = path.lastIndexOf('.');
      HeddleQueue parent = dot < 0 ? null : ensure(path.substring(0, dot));
      queue = new HeddleQueue(path, parent, reports, conf);
      HeddleQueue other = queues.putIfAbsent(path, queue);
      queue = other != null ? other : queue;
    }
    return queue;
  }
}
