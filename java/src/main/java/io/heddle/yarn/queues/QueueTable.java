package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The queue objects by path and the last snapshot of the engine's descriptions. Reads take no
 * lock; changes are guarded by the scheduler's write lock.
 */
public final class QueueTable {
  private final Map<String, HeddleQueue> queues = new ConcurrentHashMap<>();
  final QueueReports reports;
  private final QueueGauges gauges;
  private volatile QueueSnapshot snapshot = QueueSnapshot.EMPTY;
  private volatile Set<String> wants = Collections.emptySet();
  private volatile boolean byWeight;

  QueueTable(QueueReports reports, QueueGauges gauges) {
    this.reports = reports;
    this.gauges = gauges;
  }

  /** Returns the last snapshot. */
  public QueueSnapshot snapshot() {
    return snapshot;
  }

  /** Takes over the numbers of queues in a new engine; the published snapshot stays. */
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

  /** Sets the metrics of queues to the last snapshot. Needs no lock. */
  public void showMetrics() {
    gauges.show(this);
  }

  /** Takes over the engine's description of the policies in force. */
  void inForce(JsonNode policies) {
    Set<String> facts = new HashSet<>();
    policies.path("wants").forEach(fact -> facts.add(fact.asText()));
    wants = facts;
    byWeight = policies.path("by_weight").asBoolean();
  }

  /** Returns the facts of jobs that the policies in force want from ApplicationMasters. */
  public Set<String> wants() {
    return wants;
  }

  /** Returns whether queues share their parent's resources by weight. */
  public boolean sharesByWeight() {
    return byWeight;
  }

  /** Adds a queue to the snapshot, which must have its ancestors. */
  void add(QueueView view) {
    ensure(view.path).setId(view.id);
    snapshot.put(view);
    reports.made(view);
  }

  /** Removes a queue without applications. */
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

  /** Returns the root queue. */
  public HeddleQueue root() {
    return ensure(QueueSnapshot.ROOT);
  }

  /** Returns the queue object of a path; makes it and its ancestors if needed. */
  HeddleQueue ensure(String path) {
    HeddleQueue queue = queues.get(path);
    if (queue == null) {
      int dot = path.lastIndexOf('.');
      HeddleQueue parent = dot < 0 ? null : ensure(path.substring(0, dot));
      queue = new HeddleQueue(path, parent, reports, gauges);
      HeddleQueue other = queues.putIfAbsent(path, queue);
      queue = other != null ? other : queue;
    }
    return queue;
  }
}
