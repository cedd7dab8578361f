package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineConfig;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * The engine's control plane for queues: lists them, places submissions, reloads the configuration.
 * Keeps {@link QueueTable} up to date.
 *
 * <p>Guarded by the scheduler's write lock, except {@link #foresee} and {@link #refreshIfDue}.
 */
public final class QueueControl {
  /** After a refresh, waits this many times as long as the refresh took. */
  private static final int REFRESH_SHARE = 20;
  /** Largest number of queues that a message names. */
  private static final int EXAMPLES = 10;

  private static final long EXPIRY_MS = 1_000;
  private static final String QUEUES = SetupJson.request("queues");
  private static final String POLICIES = SetupJson.request("policies");
  private static final String EXPIRE = SetupJson.request("expireQueues");

  private final Engine engine;
  private final QueueTable table;
  private final Interner users;
  // Held while pages are collected; taken before the scheduler's lock.
  private final Object paging = new Object();
  private volatile long nextRefreshMs = Long.MIN_VALUE;
  // How often all queues were published; a publication voids pages collected before it.
  private long published;
  // Queues made and removed while pages are collected: earlier pages lack the change.
  private final Map<String, QueueView> made = new LinkedHashMap<>();
  private final Set<String> removed = new HashSet<>();
  private long nextExpiryMs = Long.MIN_VALUE;
  // Hears the node labels that each queue may use.
  private Consumer<Map<String, Set<String>>> labelled = labels -> { };
  // The queues of a new engine before its jobs are told; null before the first.
  private QueueSnapshot fresh;

  /**
   * Knows no queue before {@link #open}.
   *
   * @param users the numbers by which the engine knows users
   */
  public QueueControl(Engine engine, QueueTable table, Interner users) {
    this.engine = engine;
    this.table = table;
    this.users = users;
  }

  /** Sets who hears the node labels that each queue may use, with each configuration. */
  public void setLabelled(Consumer<Map<String, Set<String>>> listener) {
    labelled = listener;
  }

  /** Shows the cluster as it is now, and has the next tick describe all queues again. */
  public void clusterChanged(Resource capacity, Resource largestContainer) {
    table.reports.setCluster(capacity, largestContainer);
    nextRefreshMs = Long.MIN_VALUE;
  }

  /** Sets what a stock scheduler's file says of the queues, for pages and clients. */
  public void setStock(JsonNode shown) {
    table.reports.setStock(shown);
  }

  /**
   * Publishes a new description of all queues, if {@link #REFRESH_SHARE} allows it. Call it without
   * the scheduler's lock, which it takes page by page.
   */
  public void refreshIfDue(Lock lock) {
    synchronized (paging) {
      long start = Time.monotonicNow();
      if (start < nextRefreshMs) {
        return;
      }
      collect(lock);
      table.showMetrics();
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
              SetupJson.request("queues", "from", from, "max", FrameLayout.QUEUES_PAGE)) : null;
      } finally {
        lock.unlock();
      }
      if (reply == null) {
        // There is no engine, or all queues were published since.
        return;
      }
      JsonNode page = SetupJson.read(reply);
      pages.add(page);
      from = page.path("next").asInt();
    } while (from > 0);
    QueueSnapshot next = QueueSnapshot.read(pages);
    table.reports.complete(next);
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
    table.reports.configured(next);
    ArrayNode stopped = SetupJson.object().putArray("stopped");
    Map<String, Set<String>> labels = new LinkedHashMap<>();
    for (QueueView queue : next.all()) {
      labels.put(queue.path, queue.labels);
      if (queue.described.path("stays_stopped").asBoolean()) {
        stopped.add(queue.path);
      }
    }
    engine.keepStopped(stopped);
    labelled.accept(labels);
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

  /** Lets the engine remove dynamic queues that have been empty for long. */
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
    JsonNode changes = SetupJson.read(reply);
    for (JsonNode path : changes.path("removed")) {
      table.remove(path.asText());
      made.remove(path.asText());
      removed.add(path.asText());
    }
    if (changes.path("made").asBoolean()) {
      open();
    }
  }

  /** Takes over the queues of the first configuration, or those that came later. */
  public void open() {
    String reply = engine.request(QUEUES);
    if (reply != null) {
      publishConfigured(reply);
      table.reports.complete(table.snapshot());
    }
  }

  /**
   * Asks where a new submission would go, so that its thread need not wait for the scheduler, and
   * no queue is made for a user who may not submit to it. Takes none of the scheduler's locks.
   *
   * @return {@code leaf} or {@code made}, a path; neither if the answer is left to {@link #place}
   */
  public JsonNode foresee(Submission submission) {
    return engine.peek(submission.foresee());
  }

  /** Returns the queue that a user has of their own. */
  public static String queueOf(String user) {
    return QueueSnapshot.ROOT + "." + user.replace(".", "_dot_");
  }

  /**
   * Finds the queue of a submission, and makes it if the rules allow it.
   *
   * @param recovering whether the application ran before and must get a queue
   * @throws YarnException with a message for the user
   */
  public HeddleQueue place(Submission submission, boolean recovering) throws YarnException {
    HeddleQueue known = recovering ? leaf(submission.queue) : null;
    if (known != null) {
      // It ran there; the rules are for new applications.
      return known;
    }
    String reply;
    try {
      reply = engine.request(submission.place(users.intern(submission.user), recovering));
    } catch (HeddleException e) {
      throw new YarnException(e.getMessage());
    }
    if (reply == null) {
      return placeWithoutEngine(submission.user, submission.queue);
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

  /**
   * Names the user of a submission in the journal, if there is one: a dry run that found the queue
   * leaves nothing there. Changes nothing in the engine.
   */
  public void record(String user, HeddleQueue queue) {
    if (!engine.isRecorded()) {
      return;
    }
    try {
      engine.request(new Submission(user, queue.getQueueName()).place(users.intern(user), true));
    } catch (HeddleException e) {
      // The submission goes on without a name in the journal.
      return;
    }
  }

  private HeddleQueue placed(JsonNode answer) {
    HeddleQueue placed = table.ensure(answer.path("path").asText());
    placed.setId(answer.path("queue").asInt());
    return placed;
  }

  /** Finds the queue while there is no engine, which takes only known queues. */
  private HeddleQueue placeWithoutEngine(String user, String queue) throws YarnException {
    HeddleQueue known = leaf(queue);
    if (known == null) {
      known = leaf(queueOf(user));
    }
    if (known == null) {
      throw new YarnException("The scheduler's engine is being rebuilt and no queue of " + user
          + " is known yet. Submit again in a moment");
    }
    return known;
  }

  /**
   * Checks that an application may move to a queue.
   *
   * @param labels the node labels that it asks for
   * @throws YarnException naming the limit that keeps it out
   */
  public void checkMove(HeddleQueue from, HeddleQueue to, String user, Set<String> labels)
      throws YarnException {
    try {
      engine.request(SetupJson.request("enter", "queue", to.getQueueName(), "from",
          from.getQueueName(), "user", users.intern(user), "labels", new ArrayList<>(labels)));
    } catch (HeddleException e) {
      throw new YarnException(e.getMessage());
    }
  }

  /** Returns the leaf queue that a name means, or null if there is none. */
  public HeddleQueue leaf(String name) {
    QueueView view = table.snapshot().find(name);
    return view == null || !view.leaf ? null : table.get(view.path);
  }

  /** Returns names of leaf queues that take applications, for messages. */
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

  /** Returns whether a queue or one above it takes a limited number of applications. */
  public boolean limitsJobs(String path) {
    QueueView view = table.snapshot().get(path);
    while (view != null && !view.limitsJobs) {
      view = view.parent == null ? null : table.snapshot().get(view.parent);
    }
    return view != null;
  }

  /** Returns whether a queue takes no more jobs because it left the configuration. */
  public boolean draining(HeddleQueue queue) {
    QueueView view = table.snapshot().get(queue.getQueueName());
    return view != null && view.draining;
  }

  /**
   * Changes the configuration.
   *
   * @throws HeddleException naming the key that is wrong; nothing has changed then
   */
  public void reload(EngineConfig config) {
    String reply = engine.reload(config);
    publishConfigured(reply);
  }

  /**
   * Reads the numbers of the queues that a new engine knows from the configuration. Publishes
   * nothing: otherwise readers would miss the dynamic queues until the replay is done.
   */
  public void learnNumbers() {
    String reply = engine.requestNow(QUEUES);
    published++;
    if (reply != null) {
      fresh = QueueSnapshot.read(SetupJson.read(reply));
      table.renumber(fresh);
    }
  }

  /** Publishes all queues of a new engine, once it knows them. */
  public void replay() {
    String reply = engine.requestNow(QUEUES);
    if (reply != null) {
      QueueSnapshot next = QueueSnapshot.read(SetupJson.read(reply));
      table.reports.complete(next);
      publish(next);
    }
  }

  /** Returns a job's queue in a new engine; makes it if it is not configured. */
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
