package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has the library compare the engine's books with Java's: containers, resources and pending counts
 * of every job, containers and resources of every node. Each tick compares for about
 * {@link #SLICE_MS}, so the lock is held briefly in clusters of any size.
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
  /** Asks and containers after which a request takes no further job; and most asks of one job. */
  private static final int WORK_MAX = 1024;
  /** A tick begins no further request after this time. */
  private static final int SLICE_MS = 5;

  private static final Logger LOG = LoggerFactory.getLogger(EngineAudit.class);
  private static final long AT_ONCE = Long.MIN_VALUE;
  private static final int[] ALL = {0, Integer.MAX_VALUE};
  private static final int[] NONE = {0, 0};

  /** One difference between the two books. */
  private static final class Difference {
    final String what;
    final int id;
    final boolean ofNode;
    final String text;

    /** Reads a row of the library's answer. */
    Difference(JsonNode row) {
      what = row.path(0).asText();
      ofNode = row.path(1).asBoolean();
      id = row.path(2).asInt();
      text = row.path(3).asText();
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
  // The first ask of that job: one with many takes several requests.
  private int nextAsk;
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
    this.nextMs = EngineClock.nowMs() + intervalMs;
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
      nextAsk = 0;
      nextNode = 0;
      yarn.begin();
    }
    found.clear();
    while (nextJob >= 0 && found.isEmpty() && EngineClock.nowMs() - nowMs < SLICE_MS) {
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
      compareJobs();
    } else if (nextNode < books.nodesEnd()) {
      for (int id = nextNode; id < nextNode + SLICE; id++) {
        if (books.node(id) != null) {
          yarn.compare(books.node(id));
        }
      }
      compare(NONE, ALL, new int[] {nextNode, nextNode + SLICE});
      nextNode += SLICE;
    } else {
      // Engine entries beyond Java's greatest numbers.
      compare(new int[] {nextJob, ALL[1]}, ALL, new int[] {nextNode, ALL[1]});
      nextJob = -1;
    }
  }

  private void compareJobs() {
    int job = nextJob;
    if (nextAsk == 0 && asks(job) <= WORK_MAX) {
      int work = 0;
      do {
        HeddleJob one = books.job(nextJob);
        if (one != null) {
          yarn.compare(one);
          work += one.attempt() == null ? 0 : one.attempt().getLiveContainersMap().size();
        }
        nextJob++;
        work += asks(nextJob);
      } while (nextJob < job + SLICE && work <= WORK_MAX);
      compare(new int[] {job, nextJob}, ALL, NONE);
      return;
    }
    if (nextAsk == 0 && books.job(job) != null) {
      yarn.compare(books.job(job));
    }
    int begin = nextAsk;
    // The last part has the engine's asks beyond Java's greatest number too.
    nextAsk = begin + WORK_MAX < asks(job) ? begin + WORK_MAX : 0;
    compare(new int[] {job, job + 1}, new int[] {begin, nextAsk == 0 ? ALL[1] : nextAsk}, NONE);
    nextJob = nextAsk == 0 ? job + 1 : job;
  }

  /** Returns how many asks of a job have numbers. */
  private int asks(int id) {
    HeddleJob job = books.job(id);
    HeddleAppAttempt attempt = job == null ? null : job.attempt();
    if (attempt == null) {
      return 0;
    }
    attempt.getWriteLock().lock();
    try {
      return attempt.asks().end();
    } finally {
      attempt.getWriteLock().unlock();
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
      compare(new int[] {job, job + 1}, ALL, NONE);
    }
    for (int node : nodes) {
      compare(NONE, ALL, new int[] {node, node + 1});
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
    compare(ALL, ALL, ALL);
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

  /** Compares jobs, their asks, and nodes in these ranges: begin, and end excluded. */
  private void compare(int[] jobNumbers, int[] askNumbers, int[] nodeNumbers) {
    dirty.writeTo(engine.out());
    String reply = engine.request(SetupJson.request(
        "audit", "jobs", jobNumbers, "asks", askNumbers, "nodes", nodeNumbers));
    if (reply == null) {
      return;
    }
    ArrayNode jobs = SetupJson.array();
    for (int id = jobNumbers[0]; id < Math.min(jobNumbers[1], books.jobsEnd()); id++) {
      if (books.job(id) != null) {
        describe(books.job(id), askNumbers, jobs.addArray());
      }
    }
    ArrayNode nodes = SetupJson.array();
    for (int id = nodeNumbers[0]; id < Math.min(nodeNumbers[1], books.nodesEnd()); id++) {
      if (books.node(id) != null) {
        describe(id, books.known(books.node(id)), books.node(id).faults(), nodes.addArray());
      }
    }
    for (JsonNode row : SetupJson.ask(
        "compare", "engine", reply, "jobs", jobs, "nodes", nodes)) {
      found.add(new Difference(row));
    }
  }

  /** Adds what YARN's books say of a job and of its asks in a range. */
  private void describe(HeddleJob job, int[] askNumbers, ArrayNode to) {
    List<RMContainer> containers = new ArrayList<>();
    HeddleAppAttempt attempt = job.attempt();
    if (attempt == null) {
      describe(job.id(), containers, job.faults(), to.addArray());
      to.addNull();
      return;
    }
    attempt.getWriteLock().lock();
    try {
      for (Map.Entry<ContainerId, RMContainer> live
          : attempt.getLiveContainersMap().entrySet()) {
        if (books.concernsEngine(attempt, live.getKey(), live.getValue())) {
          containers.add(live.getValue());
        }
      }
      describe(job.id(), containers, job.faults(), to.addArray());
      if (attempt.asks().clean()) {
        describeAsks(attempt, askNumbers, to.addArray());
      } else {
        // The AM changed its asks after the frame was written; the next frame has the changes.
        to.addNull();
      }
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  /** Adds number, containers, their resources and whether the engine should know of it. */
  private void describe(int id, List<RMContainer> containers, FaultRecord faults, ArrayNode to) {
    long[] used = new long[FrameLayout.RESOURCE_TYPES];
    for (RMContainer container : containers) {
      Resource amount = container.getContainer().getResource();
      for (int type = 0; type < resources.types(); type++) {
        used[type] += ResourceCodec.value(amount, type);
      }
    }
    to.add(id).add(containers.size()).addPOJO(used)
        .add(faults.aside() == null && id < FrameLayout.ID_MAX);
  }

  private static void describeAsks(HeddleAppAttempt attempt, int[] askNumbers, ArrayNode to) {
    // The engine ignores numbers beyond ID_MAX.
    int end = Math.min(attempt.asks().end(), FrameLayout.ID_MAX);
    ArrayNode asks = to.add(end).addArray();
    for (int id = askNumbers[0]; id < Math.min(askNumbers[1], end); id++) {
      AskTable.Entry ask = attempt.asks().get(id);
      int pending = ask == null ? 0 : pending(attempt, ask);
      if (pending > 0) {
        asks.addArray().add(id).add(pending).add(ask.isCountedAsPending());
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
}
