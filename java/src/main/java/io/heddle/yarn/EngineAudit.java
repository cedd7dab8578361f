package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Map;
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
 * containers and resources of every node. When they differ twice in a row, the engine is
 * declared lost.
 *
 * <p>Called with the scheduler's write lock held.
 */
final class EngineAudit {
  /** As many differences as a log line bears. */
  private static final int DIFFERENCES_MAX = 10;

  private static final Logger LOG = LoggerFactory.getLogger(EngineAudit.class);
  private static final String AUDIT = SetupJson.request("audit");
  private static final long AT_ONCE = Long.MIN_VALUE;

  private final Engine engine;
  private final DirtyAttempts dirty;
  private final long intervalMs;
  // Set from any thread that saw something go wrong.
  private volatile long nextMs;
  private int mismatches;
  private final EngineBooks books;
  private final ResourceCodec resources;
  private StringBuilder differences;
  private int count;
  private int[] nodeContainers;
  private long[][] nodeUsed;

  /**
   * Makes an auditor.
   *
   * @param intervalMs how often the books are compared; 0 for only after something went wrong
   */
  EngineAudit(Engine engine, EngineBooks books, DirtyAttempts dirty, ResourceCodec resources,
      long intervalMs) {
    this.engine = engine;
    this.books = books;
    this.dirty = dirty;
    this.resources = resources;
    this.intervalMs = intervalMs;
    this.nextMs = Time.monotonicNow() + intervalMs;
  }

  /** Lets the next tick compare. */
  void soon() {
    nextMs = AT_ONCE;
  }

  /** Compares if it is time to; two differences in a row make a new engine. */
  void runIfDue(long nowMs) {
    if (nowMs < nextMs || intervalMs <= 0 && nextMs != AT_ONCE) {
      return;
    }
    nextMs = nowMs + intervalMs;
    String found = differences();
    mismatches = found == null ? 0 : mismatches + 1;
    if (mismatches == 1) {
      // A container may be between two books; the next tick tells.
      if (LOG.isDebugEnabled()) {
        LOG.debug("The engine's books differ: {}", found);
      }
      soon();
    } else if (mismatches > 1) {
      mismatches = 0;
      engine.lost("its books differ from the ResourceManager's twice in a row: " + found);
    }
  }

  /** Returns the first differences, or null if all is equal or there is no engine. */
  String differences() {
    dirty.writeTo(engine.out());
    String reply = engine.request(AUDIT);
    return reply == null ? null : differences(SetupJson.read(reply));
  }

  private String differences(JsonNode reply) {
    differences = new StringBuilder();
    count = 0;
    nodeContainers = new int[books.nodesEnd()];
    nodeUsed = new long[books.nodesEnd()][FrameLayout.RESOURCE_TYPES];
    boolean[] seen = new boolean[books.jobsEnd()];
    for (JsonNode row : reply.path("jobs")) {
      int id = row.path(0).asInt();
      HeddleJob job = books.job(id);
      if (job == null) {
        differ("job", id, "exists", "unknown");
      } else {
        seen[id] = true;
        compareJob(job, row);
      }
    }
    for (int id = 0; id < seen.length; id++) {
      if (!seen[id] && books.job(id) != null) {
        differ("job", id, "unknown", "exists");
      }
    }
    compareNodes(reply.path("nodes"));
    return count == 0 ? null : differences
        + (count > DIFFERENCES_MAX ? " and " + (count - DIFFERENCES_MAX) + " more" : "");
  }

  private void compareJob(HeddleJob job, JsonNode row) {
    long[] used = new long[FrameLayout.RESOURCE_TYPES];
    int containers = 0;
    HeddleAppAttempt attempt = job.attempt();
    if (attempt != null) {
      attempt.getWriteLock().lock();
      try {
        containers = addContainers(attempt, used);
        compareAsks(job, attempt, row.path(3));
      } finally {
        attempt.getWriteLock().unlock();
      }
    }
    if (containers != row.path(1).asInt()) {
      differ("containers of job", job.id(), row.path(1), containers);
    }
    compareUsed("resources of job", job.id(), used, row.path(2));
  }

  private int addContainers(HeddleAppAttempt attempt, long[] used) {
    int containers = 0;
    for (Map.Entry<ContainerId, RMContainer> live : attempt.getLiveContainersMap().entrySet()) {
      RMContainer container = live.getValue();
      HeddleNode node = books.node(container.getContainer().getNodeId());
      if (node == null || !EngineBooks.concernsEngine(attempt, live.getKey(), container)) {
        continue;
      }
      containers++;
      nodeContainers[node.id()]++;
      Resource amount = container.getContainer().getResource();
      for (int type = 0; type < resources.types(); type++) {
        used[type] += ResourceCodec.value(amount, type);
        nodeUsed[node.id()][type] += ResourceCodec.value(amount, type);
      }
    }
    return containers;
  }

  private void compareUsed(String what, int id, long[] used, JsonNode engineUsed) {
    long[] other = new long[FrameLayout.RESOURCE_TYPES];
    for (int type = 0; type < other.length; type++) {
      other[type] = engineUsed.path(type).asLong();
    }
    if (!Arrays.equals(used, other)) {
      differ(what, id, Arrays.toString(other), Arrays.toString(used));
    }
  }

  private void compareAsks(HeddleJob job, HeddleAppAttempt attempt, JsonNode engineAsks) {
    if (!attempt.asks().clean()) {
      // An AM spoke after the frame was written; its changes come with the next one.
      return;
    }
    int[] counts = new int[attempt.asks().end()];
    for (JsonNode pair : engineAsks) {
      int ask = pair.path(0).asInt();
      if (ask < counts.length) {
        counts[ask] = pair.path(1).asInt();
      } else {
        differ("ask " + ask + " of job", job.id(), pair.path(1), "unknown");
      }
    }
    for (int id = 0; id < counts.length; id++) {
      AskTable.Entry ask = attempt.asks().get(id);
      int pending = ask == null ? 0 : pending(attempt, ask);
      if (pending != counts[id]) {
        differ("ask " + id + " of job", job.id(), counts[id], pending);
      } else if (pending > 0 && !ask.isCountedAsPending()) {
        // Nodes with room for it might be left alone.
        differ("size of ask " + id + " of job", job.id(), "pending", "not counted");
      }
    }
  }

  private static int pending(HeddleAppAttempt attempt, AskTable.Entry ask) {
    AppPlacementAllocator<?> allocator = attempt.allocator(ask.key);
    ResourceRequest any = allocator == null
        ? null : allocator.getResourceRequests().get(ResourceRequest.ANY);
    return any == null ? 0 : Math.max(0, any.getNumContainers());
  }

  private void compareNodes(JsonNode rows) {
    boolean[] seen = new boolean[nodeContainers.length];
    for (JsonNode row : rows) {
      int id = row.path(0).asInt();
      if (books.node(id) == null) {
        differ("node", id, "exists", "unknown");
        continue;
      }
      seen[id] = true;
      if (row.path(1).asInt() != nodeContainers[id]) {
        differ("containers of node", id, row.path(1), nodeContainers[id]);
      }
      compareUsed("resources of node", id, nodeUsed[id], row.path(2));
    }
    for (int id = 0; id < seen.length; id++) {
      if (!seen[id] && books.node(id) != null) {
        differ("node", id, "unknown", "exists");
      }
    }
  }

  private void differ(String what, int id, Object engine, Object java) {
    if (count++ < DIFFERENCES_MAX) {
      differences.append(differences.length() == 0 ? "" : "; ").append(what).append(' ').append(id)
          .append(": engine ").append(engine).append(", ResourceManager ").append(java);
    }
  }
}
