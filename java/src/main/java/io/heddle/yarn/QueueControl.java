package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * The engine's control plane as far as queues go: what queues there are, which one a submission
 * gets, another configuration. Keeps {@link QueueTable} up to date.
 *
 * <p>Guarded by the scheduler's write lock, except {@link #foresee}.
 */
final class QueueControl {
  /** Describing the queues may take this part of the time at the most. */
  private static final int REFRESH_SHARE = 20;

  private static final String QUEUES = SetupJson.request("queues");

  private final Engine engine;
  private final QueueTable table;
  private long nextRefreshMs = Long.MIN_VALUE;
  private volatile Placement placement;
  // The queues of a new engine before its jobs are told; null before the first.
  private QueueSnapshot fresh;

  QueueControl(Engine engine, QueueTable table) {
    this.engine = engine;
    this.table = table;
  }

  /** Describes the queues anew, unless that was done too recently for what it costs. */
  void refreshIfDue() {
    if (Time.monotonicNow() >= nextRefreshMs) {
      refresh();
    }
  }

  /** Describes the queues anew. */
  void refresh() {
    long start = Time.monotonicNow();
    String reply = engine.request(QUEUES);
    if (reply != null) {
      table.publish(QueueSnapshot.read(SetupJson.read(reply)));
    }
    long end = Time.monotonicNow();
    nextRefreshMs = end + REFRESH_SHARE * (end - start);
  }

  /** Takes over the rules of a configuration that the engine has accepted. */
  void configured(JsonNode config) {
    placement = new Placement(config);
  }

  /** Foresees the queue of a new submission. Takes no lock. */
  Placement.Foreseen foresee(String user, String queue) {
    return placement.foresee(user, queue, table.snapshot());
  }

  /**
   * Finds the queue of a submission, and makes it if the rules say so.
   *
   * @param queue what the submission names, or null
   * @param recovering whether the application ran before, so that it must find a queue
   * @throws YarnException with a text for the user
   */
  HeddleQueue place(String user, String queue, boolean recovering) throws YarnException {
    HeddleQueue known = recovering ? leaf(queue) : null;
    if (known != null) {
      // It ran there; whatever the rules say of new ones.
      return known;
    }
    String reply;
    try {
      reply = engine.request(SetupJson.place(user, queue, recovering));
    } catch (HeddleException e) {
      throw new YarnException(e.getMessage());
    }
    if (reply == null) {
      return placeWithoutEngine(user, queue);
    }
    JsonNode answer = SetupJson.read(reply);
    HeddleQueue placed = table.ensure(answer.path("path").asText());
    placed.setId(answer.path("queue").asInt());
    if (answer.path("created").asBoolean()) {
      refresh();
    }
    return placed;
  }

  /** While there is no engine: only into queues that are known. */
  private HeddleQueue placeWithoutEngine(String user, String queue) throws YarnException {
    HeddleQueue known = leaf(queue);
    if (known == null) {
      known = leaf(QueueSnapshot.ROOT + "." + user);
    }
    if (known == null) {
      throw new YarnException("The scheduler's engine is being made anew and no queue of " + user
          + " is known yet. Submit again in a moment");
    }
    return known;
  }

  /** Returns the queue that a name means if jobs may run in it, else null. */
  HeddleQueue leaf(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null || !view.leaf ? null : table.get(view.path);
  }

  /**
   * Changes the configuration.
   *
   * @param pools of the allocations file, or null
   * @throws HeddleException naming the key that is wrong; nothing has changed then
   */
  void reload(JsonNode config, Allocations pools) {
    String reply = engine.reload(config, pools);
    configured(config);
    table.publish(QueueSnapshot.read(SetupJson.read(reply)));
  }

  /**
   * A new engine knows only the queues of the configuration: learn their numbers. Nothing is
   * published, or the queues made for users would be unknown to readers until the replay is done.
   */
  void learnNumbers() {
    String reply = engine.requestNow(QUEUES);
    if (reply != null) {
      fresh = QueueSnapshot.read(SetupJson.read(reply));
      table.renumber(fresh);
    }
  }

  /** All queues are known to the new engine again. */
  void replay() {
    String reply = engine.requestNow(QUEUES);
    if (reply != null) {
      table.publish(QueueSnapshot.read(SetupJson.read(reply)));
    }
  }

  /** Returns the queue of a job that goes on, in a new engine; made if it is not configured. */
  HeddleQueue replayQueue(HeddleJob job, String user) {
    String path = job.queue().getQueueName();
    QueueView known = fresh == null ? null : fresh.get(path);
    if (known != null && known.leaf) {
      return table.get(path);
    }
    String reply = engine.requestNow(SetupJson.place(user, path, true));
    if (reply == null) {
      return job.queue();
    }
    JsonNode answer = SetupJson.read(reply);
    HeddleQueue placed = table.ensure(answer.path("path").asText());
    placed.setId(answer.path("queue").asInt());
    return placed;
  }
}
