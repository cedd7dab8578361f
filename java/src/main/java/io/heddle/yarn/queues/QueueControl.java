package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Allocations;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * The engine's control plane as far as queues go: what queues there are, which one a submission
 * gets, another configuration. Keeps {@link QueueTable} up to date.
 *
 * <p>Guarded by the scheduler's write lock, except {@link #foresee} and {@link #refreshIfDue}.
 */
public final class QueueControl {
  /** Describing the queues may take this part of the time at the most. */
  private static final int REFRESH_SHARE = 20;
  /** The lock is held for no more queues than these at once. */
  private static final int PAGE = 256;
  /** Queues that a message names. */
  private static final int EXAMPLES = 10;

  private static final long EXPIRY_MS = 1_000;
  private static final String QUEUES = SetupJson.request("queues");
  private static final String POLICIES = SetupJson.request("policies");
  private static final String EXPIRE = SetupJson.request("expireQueues");

  private final Engine engine;
  private final QueueTable table;
  // Held while pages are collected; taken before the scheduler's lock.
  private final Object paging = new Object();
  private long nextRefreshMs = Long.MIN_VALUE;
  // How often all queues were published; pages that were collected before are void then.
  private long published;
  // Made and removed while pages are collected, which may not know.
  private final Map<String, QueueView> made = new LinkedHashMap<>();
  private final Set<String> removed = new HashSet<>();
  private long nextExpiryMs = Long.MIN_VALUE;
  private volatile Placement placement;
  // The queues of a new engine before its jobs are told; null before the first.
  private QueueSnapshot fresh;

  public QueueControl(Engine engine, QueueTable table) {
    this.engine = engine;
    this.table = table;
  }

  /**
   * Publishes a new description of all queues, unless that was done too recently for what it
   * costs. To be called without the scheduler's lock, which is taken page by page.
   */
  public void refreshIfDue(Lock lock) {
    synchronized (paging) {
      long start = Time.monotonicNow();
      if (start < nextRefreshMs) {
        return;
      }
      collect(lock);
      long end = Time.monotonicNow();
      nextRefreshMs = end + REFRESH_SHARE * (end - start);
    }
  }

  private void collect(Lock lock) {
    List<JsonNode> pages = new ArrayList<>();
    long begun = -1;
    int from = 0;
    do {
      String reply;
      lock.lock();
      try {
        if (pages.isEmpty()) {
          begun = published;
          forgetChanges();
        }
        reply = begun == published ? engine.request(
              SetupJson.request("queues", "from", from, "max", PAGE)) : null;
      } finally {
        lock.unlock();
      }
      if (reply == null) {
        // There is no engine, or all queues were published meanwhile.
        return;
      }
      JsonNode page = SetupJson.read(reply);
      pages.add(page);
      from = page.path("next").asInt();
    } while (from > 0);
    QueueSnapshot next = QueueSnapshot.read(pages);
    lock.lock();
    try {
      if (begun == published) {
        removed.forEach(next::remove);
        for (QueueView view : made.values()) {
          if (next.get(view.path) == null) {
            next.put(view);
          }
        }
        publish(next);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Publishes the queues of a configuration that came into force. */
  private void publishConfigured(String reply) {
    QueueSnapshot next = QueueSnapshot.read(SetupJson.read(reply));
    table.configured(next);
    String policies = engine.request(POLICIES);
    if (policies != null) {
      table.inForce(SetupJson.read(policies).path("in_force"));
    }
    publish(next);
  }

  private void publish(QueueSnapshot next) {
    published++;
    forgetChanges();
    table.publish(next);
  }

  private void forgetChanges() {
    made.clear();
    removed.clear();
  }

  /** Lets the engine remove queues that submissions made and that have been empty for long. */
  public void expireIfDue() {
    long now = Time.monotonicNow();
    if (now < nextExpiryMs) {
      return;
    }
    nextExpiryMs = now + EXPIRY_MS;
    String reply = engine.request(EXPIRE);
    if (reply == null) {
      return;
    }
    for (JsonNode path : SetupJson.read(reply).path("removed")) {
      table.remove(path.asText());
      made.remove(path.asText());
      removed.add(path.asText());
    }
  }

  /** Takes over the rules and queues of the first configuration. */
  public void open(JsonNode config) {
    configured(config);
    publishConfigured(engine.request(QUEUES));
  }

  private void configured(JsonNode config) {
    placement = new Placement(config);
  }

  /** Foresees the queue of a new submission. Takes no lock. */
  public Placement.Foreseen foresee(String user, String queue) {
    return placement.foresee(user, queue, table.snapshot());
  }

  /**
   * Finds the queue of a submission, and makes it if the rules say so.
   *
   * @param queue what the submission names, or null
   * @param recovering whether the application ran before, so that it must find a queue
   * @throws YarnException with a text for the user
   */
  public HeddleQueue place(String user, String queue, boolean recovering) throws YarnException {
    HeddleQueue known = recovering ? leaf(queue) : null;
    if (known != null) {
      // It ran there; whatever the rules say of new ones.
      return known;
    }
    String reply;
    try {
      reply = engine.request(SetupJson.request(
          "place", "user", user, "queue", queue, "recovering", recovering));
    } catch (HeddleException e) {
      throw new YarnException(e.getMessage());
    }
    if (reply == null) {
      return placeWithoutEngine(user, queue);
    }
    JsonNode answer = SetupJson.read(reply);
    HeddleQueue placed = placed(answer);
    for (JsonNode element : answer.path("branch")) {
      QueueView view = new QueueView(element);
      if (view.id == placed.id() || table.snapshot().get(view.path) == null) {
        table.add(view);
        made.put(view.path, view);
      }
    }
    return placed;
  }

  private HeddleQueue placed(JsonNode answer) {
    HeddleQueue placed = table.ensure(answer.path("path").asText());
    placed.setId(answer.path("queue").asInt());
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
  public HeddleQueue leaf(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null || !view.leaf ? null : table.get(view.path);
  }

  /** Returns some leaf queues that take applications, for messages. */
  public String examples() {
    StringBuilder names = new StringBuilder();
    int found = 0;
    for (QueueView view : table.snapshot().all()) {
      if (view.leaf && view.parent != null && !view.draining) {
        if (++found > EXAMPLES) {
          return names.append(" ...").toString();
        }
        names.append(found == 1 ? "" : ", ").append(view.path);
      }
    }
    return found == 0 ? "(there is none yet)" : names.toString();
  }

  /** Whether a queue takes no more jobs, as the configuration names it no more. */
  public boolean draining(HeddleQueue queue) {
    QueueView view = table.snapshot().get(queue.getQueueName());
    return view != null && view.draining;
  }

  /**
   * Changes the configuration.
   *
   * @param pools of the allocations file, or null
   * @throws HeddleException naming the key that is wrong; nothing has changed then
   */
  public void reload(JsonNode config, Allocations pools) {
    String reply = engine.reload(config, pools);
    configured(config);
    publishConfigured(reply);
  }

  /**
   * A new engine knows only the queues of the configuration: learn their numbers. Nothing is
   * published, or the queues made for users would be unknown to readers until the replay is done.
   */
  public void learnNumbers() {
    String reply = engine.requestNow(QUEUES);
    published++;
    if (reply != null) {
      fresh = QueueSnapshot.read(SetupJson.read(reply));
      table.renumber(fresh);
    }
  }

  /** All queues are known to the new engine again. */
  public void replay() {
    String reply = engine.requestNow(QUEUES);
    if (reply != null) {
      publish(QueueSnapshot.read(SetupJson.read(reply)));
    }
  }

  /** Returns the queue of a job that goes on, in a new engine; made if it is not configured. */
  public HeddleQueue replayQueue(HeddleQueue before, String user) {
    String path = before.getQueueName();
    QueueView known = fresh == null ? null : fresh.get(path);
    if (known != null && known.leaf) {
      return table.get(path);
    }
    String reply = engine.requestNow(SetupJson.request(
        "place", "user", user, "queue", path, "recovering", true));
    if (reply == null) {
      return before;
    }
    return placed(SetupJson.read(reply));
  }
}
