package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the engine's books with Java's: containers, resources and pending counts of every job,
 * containers and resources of every node. Each tick compares for about {@link #SLICE_MS}, so the
 * lock is held briefly in clusters of any size.
 *
 * <p>The next tick compares differing jobs and nodes again. A difference that is still there
 * rebuilds the engine. One that comes back after a rebuild puts its job or node aside; without a
 * job or node it is logged once. {@link YarnAudit} compares Java's books with YARN's in the same
 * pass.
 *
 * <p>Called with the scheduler's write lock held.
 */
final class EngineAudit {
  /** Largest number of differences in a log line, and of those compared again. */
  private static final int DIFFERENCES_MAX = 10;
  /** Jobs or nodes in one audit request. */
  private static final int SLICE = 32;
  /** A tick begins no further request after this time. */
  private static final int SLICE_MS = 5;

  private static final Logger LOG = LoggerFactory.getLogger(EngineAudit.class);
  private static final long AT_ONCE = Long.MIN_VALUE;

  /** One disagreement of the two books. */
  private static final class Difference {
    final String what;
    final int id;
    final boolean ofNode;
    final String text;

    Difference(String what, boolean ofNode, int id, String text) {
      this.what = what;
      this.ofNode = ofNode;
      this.id = id;
      this.text = text;
    }
  }

  private final Engine engine;
  private final DirtyAttempts dirty;
  private final EngineBooks books;
  private final ResourceCodec resources;
  private final YarnAudit yarn;
  private final Quarantine quarantine;
  private final Failures failures;
  private final long intervalMs;
  // Any thread that sees a failure sets it to AT_ONCE.
  private volatile long nextMs;
  // Set by a refresh on any thread.
  private volatile boolean lettingBack;
  // Where the current pass continues, jobs first; nextJob is -1 between two passes.
  private int nextJob = -1;
  private int nextNode = -1;
  private final List<Difference> found = new ArrayList<>();
  // The differences at the last tick, to be compared again.
  private List<Difference> doubtful = new ArrayList<>();
  // Kinds of differences that came back after a rebuild; these cause no further rebuild.
  private final Set<String> incurable = new HashSet<>();
  // Differences about engine entries that are neither a job nor a node of Java's, by kind.
  private final Map<String, FaultRecord> unowned = new HashMap<>();

  /**
   * Makes an auditor.
   *
   * @param intervalMs how often a pass begins; 0 begins one only after a failure
   */
  EngineAudit(Engine engine, EngineBooks books, DirtyAttempts dirty, ResourceCodec resources,
      YarnAudit yarn, Quarantine quarantine, Failures failures, long intervalMs) {
    this.engine = engine;
    this.books = books;
    this.dirty = dirty;
    this.resources = resources;
    this.yarn = yarn;
    this.quarantine = quarantine;
    this.failures = failures;
    this.intervalMs = intervalMs;
    this.nextMs = Time.monotonicNow() + intervalMs;
  }

  /** Makes the next tick begin a pass. */
  void soon() {
    nextMs = AT_ONCE;
  }

  /** Makes the next tick readmit all jobs and nodes put aside, after a refresh of the queues. */
  void letBackSoon() {
    lettingBack = true;
  }

  private void letBack() {
    lettingBack = false;
    quarantine.lift();
    incurable.clear();
    unowned.clear();
  }

  /** Compares the next slices of a pass, if one is due, and repairs repeated differences. */
  void runIfDue(long nowMs) {
    if (lettingBack) {
      letBack();
    }
    if (!doubtful.isEmpty()) {
      compareAgain(nowMs);
      return;
    }
    if (nextJob < 0 && (nowMs >= nextMs && intervalMs > 0 || nextMs == AT_ONCE)) {
      nextMs = nowMs + intervalMs;
      nextJob = 0;
      nextNode = 0;
      yarn.begin();
    }
    found.clear();
    while (nextJob >= 0 && found.isEmpty() && Time.monotonicNow() - nowMs < SLICE_MS) {
      compareSlice();
    }
    if (!found.isEmpty()) {
      // A container may be between the two books; the next tick compares again.
      LOG.debug("The engine's books differ: {}", text(found));
      doubtful = new ArrayList<>(found.subList(0, Math.min(found.size(), DIFFERENCES_MAX)));
    }
  }

  private void compareSlice() {
    if (nextJob < books.jobsEnd()) {
      for (int id = nextJob; id < nextJob + SLICE; id++) {
        if (books.job(id) != null) {
          yarn.compare(books.job(id));
        }
      }
      compare(nextJob, nextJob + SLICE, 0, 0);
      nextJob += SLICE;
    } else if (nextNode < books.nodesEnd()) {
      for (int id = nextNode; id < nextNode + SLICE; id++) {
        if (books.node(id) != null) {
          yarn.compare(books.node(id));
        }
      }
      compare(0, 0, nextNode, nextNode + SLICE);
      nextNode += SLICE;
    } else {
      // Engine entries beyond Java's greatest numbers.
      compare(nextJob, Integer.MAX_VALUE, nextNode, Integer.MAX_VALUE);
      nextJob = -1;
    }
  }

  private void compareAgain(long nowMs) {
    found.clear();
    Set<Integer> jobs = new LinkedHashSet<>();
    Set<Integer> nodes = new LinkedHashSet<>();
    for (Difference difference : doubtful) {
      (difference.ofNode ? nodes : jobs).add(difference.id);
    }
    doubtful = new ArrayList<>();
    for (int job : jobs) {
      compare(job, job + 1, 0, 0);
    }
    for (int node : nodes) {
      compare(0, 0, node, node + 1);
    }
    found.removeIf(difference -> known(difference));
    if (!found.isEmpty()) {
      mend(new ArrayList<>(found), nowMs);
    }
  }

  /** Returns whether a difference without a job or node was logged before. */
  private boolean known(Difference difference) {
    FaultRecord record = unowned.get(difference.what);
    return record != null && record.aside() != null && faults(difference) == record;
  }

  private FaultRecord faults(Difference difference) {
    HeddleNode node = difference.ofNode ? books.node(difference.id) : null;
    HeddleJob job = difference.ofNode ? null : books.job(difference.id);
    if (node != null) {
      return node.faults();
    }
    return job != null ? job.faults()
        : unowned.computeIfAbsent(difference.what, what -> new FaultRecord());
  }

  /** Rebuilds the engine, or puts aside what an earlier rebuild did not repair, jobs first. */
  private void mend(List<Difference> differences, long nowMs) {
    String text = text(differences);
    for (int i = 0; i < differences.size(); i++) {
      failures.count(Failures.Kind.DIFFERENCE);
    }
    List<Difference> repeated = new ArrayList<>();
    for (Difference difference : differences) {
      if (faults(difference).suspected(nowMs) || incurable.contains(difference.what)) {
        repeated.add(difference);
      }
    }
    if (repeated.isEmpty()) {
      for (Difference difference : differences) {
        faults(difference).suspect(nowMs);
      }
      engine.lost("its books differ from the ResourceManager's twice in a row: " + text);
      soon();
      return;
    }
    boolean jobs = repeated.stream().anyMatch(difference -> !difference.ofNode);
    for (Difference difference : repeated) {
      incurable.add(difference.what);
      // A job's fault also shows in the books of its nodes.
      if (difference.ofNode != jobs) {
        putAside(difference);
      }
    }
    soon();
  }

  private void putAside(Difference difference) {
    String cause = "its books differ from the engine's, and a rebuild did not repair them: "
        + difference.text;
    HeddleNode node = difference.ofNode ? books.node(difference.id) : null;
    HeddleJob job = difference.ofNode ? null : books.job(difference.id);
    if (node != null) {
      quarantine.putAside(node, cause);
    } else if (job != null) {
      quarantine.putAside(job, cause);
    } else {
      faults(difference).putAside(cause);
      LOG.error("The books differ from the engine's, and a rebuild did not repair them: {}."
          + " Scheduling continues; differences of this kind are not logged again. Please report"
          + " this line; after `yarn rmadmin -refreshQueues` the next one causes a rebuild again",
          difference.text);
    }
  }

  /** Compares all books. Returns the first differences; null without any or without an engine. */
  String differences() {
    found.clear();
    compare(0, Integer.MAX_VALUE, 0, Integer.MAX_VALUE);
    return found.isEmpty() ? null : text(found);
  }

  private static String text(List<Difference> differences) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < differences.size() && i < DIFFERENCES_MAX; i++) {
      text.append(i == 0 ? "" : "; ").append(differences.get(i).text);
    }
    if (differences.size() > DIFFERENCES_MAX) {
      text.append(" and ").append(differences.size() - DIFFERENCES_MAX).append(" more");
    }
    return text.toString();
  }

  /** Compares the jobs and nodes in these ranges, ends excluded. */
  private void compare(int firstJob, int endJob, int firstNode, int endNode) {
    dirty.writeTo(engine.out());
    String reply = engine.request(SetupJson.request("audit",
        "jobs", new int[] {firstJob, endJob}, "nodes", new int[] {firstNode, endNode}));
    if (reply == null) {
      return;
    }
    JsonNode answer = SetupJson.read(reply);
    compareJobs(answer.path("jobs"), firstJob, Math.min(endJob, books.jobsEnd()));
    compareNodes(answer.path("nodes"), firstNode, Math.min(endNode, books.nodesEnd()));
  }

  private void compareJobs(JsonNode rows, int first, int end) {
    boolean[] seen = new boolean[Math.max(0, end - first)];
    for (JsonNode row : rows) {
      int id = row.path(0).asInt();
      HeddleJob job = books.job(id);
      if (job == null) {
        differ("job", false, id, "exists", "unknown");
      } else {
        seen[id - first] = true;
        compareJob(job, row);
      }
    }
    for (int id = first; id < end; id++) {
      HeddleJob job = seen[id - first] ? null : books.job(id);
      missing("job", false, id, job == null ? null : job.faults());
    }
  }

  private void compareJob(HeddleJob job, JsonNode row) {
    long[] used = new long[FrameLayout.RESOURCE_TYPES];
    int containers = 0;
    HeddleAppAttempt attempt = job.attempt();
    if (attempt != null) {
      attempt.getWriteLock().lock();
      try {
        for (Map.Entry<ContainerId, RMContainer> live
            : attempt.getLiveContainersMap().entrySet()) {
          if (books.concernsEngine(attempt, live.getKey(), live.getValue())) {
            containers++;
            add(used, live.getValue());
          }
        }
        compareAsks(job, attempt, row.path(3));
      } finally {
        attempt.getWriteLock().unlock();
      }
    }
    compareUsed("job", false, job.id(), containers, used, row);
  }

  private void add(long[] used, RMContainer container) {
    Resource amount = container.getContainer().getResource();
    for (int type = 0; type < resources.types(); type++) {
      used[type] += ResourceCodec.value(amount, type);
    }
  }

  private void compareUsed(
      String what, boolean ofNode, int id, int containers, long[] used, JsonNode row) {
    if (containers != row.path(1).asInt()) {
      differ("containers of " + what, ofNode, id, row.path(1), containers);
    }
    long[] other = new long[FrameLayout.RESOURCE_TYPES];
    Arrays.setAll(other, type -> row.path(2).path(type).asLong());
    if (!Arrays.equals(used, other)) {
      differ("resources of " + what, ofNode, id, Arrays.toString(other), Arrays.toString(used));
    }
  }

  private void compareAsks(HeddleJob job, HeddleAppAttempt attempt, JsonNode engineAsks) {
    if (!attempt.asks().clean()) {
      // The AM changed its asks after the frame was written; the next frame has the changes.
      return;
    }
    // The engine ignores numbers beyond ID_MAX.
    int[] counts = new int[Math.min(attempt.asks().end(), FrameLayout.ID_MAX)];
    for (JsonNode pair : engineAsks) {
      int ask = pair.path(0).asInt();
      if (ask < counts.length) {
        counts[ask] = pair.path(1).asInt();
      } else {
        differ("ask of job", false, job.id(), ask + ": " + pair.path(1), "unknown");
      }
    }
    for (int id = 0; id < counts.length; id++) {
      AskTable.Entry ask = attempt.asks().get(id);
      int pending = ask == null ? 0 : pending(attempt, ask);
      if (pending != counts[id]) {
        differ("ask of job", false, job.id(), id + ": " + counts[id], pending);
      } else if (pending > 0 && !ask.isCountedAsPending()) {
        // PendingSizes might skip heartbeats of nodes with room for it.
        differ("size of ask of job", false, job.id(), id + ": pending", "not counted");
      }
    }
  }

  /** Returns the count that the engine was told, which stops at {@code COUNT_MAX}. */
  private static int pending(HeddleAppAttempt attempt, AskTable.Entry ask) {
    AppPlacementAllocator<?> allocator = attempt.allocator(ask.key);
    ResourceRequest any = allocator == null
        ? null : allocator.getResourceRequests().get(ResourceRequest.ANY);
    return any == null
        ? 0 : Math.min(Math.max(0, any.getNumContainers()), FrameLayout.COUNT_MAX);
  }

  private void compareNodes(JsonNode rows, int first, int end) {
    boolean[] seen = new boolean[Math.max(0, end - first)];
    for (JsonNode row : rows) {
      int id = row.path(0).asInt();
      HeddleNode node = books.node(id);
      if (node == null) {
        differ("node", true, id, "exists", "unknown");
      } else {
        seen[id - first] = true;
        compareNode(node, row);
      }
    }
    for (int id = first; id < end; id++) {
      HeddleNode node = seen[id - first] ? null : books.node(id);
      missing("node", true, id, node == null ? null : node.faults());
    }
  }

  private void compareNode(HeddleNode node, JsonNode row) {
    long[] used = new long[FrameLayout.RESOURCE_TYPES];
    List<RMContainer> known = books.known(node);
    for (RMContainer container : known) {
      add(used, container);
    }
    compareUsed("node", true, node.id(), known.size(), used, row);
  }

  /** Reports a job or node missing in the engine, which ignores numbers beyond ID_MAX. */
  private void missing(String what, boolean ofNode, int id, FaultRecord faults) {
    if (faults != null && faults.aside() == null && id < FrameLayout.ID_MAX) {
      differ(what, ofNode, id, "unknown", "exists");
    }
  }

  private void differ(String what, boolean ofNode, int id, Object engineSays, Object java) {
    found.add(new Difference(what, ofNode, id, what + ' ' + id + ": engine " + engineSays
        + ", ResourceManager " + java));
  }
}
