package io.heddle.yarn;

import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.PendingAsk;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Asks the engine for grants at the moment when an AM asks, not only when a node reports. The
 * engine chooses the nodes and decides as on their reports. The AM waits for the scheduler's lock
 * only as long as an event takes. If a thread keeps the lock for longer, or many AMs ask, a node's
 * report serves the ask.
 */
final class Offers {
  static final String PROPERTY = "heddle.immediate-grants.enable";

  /** Hadoop 3.3 has no constants for these: the interval may depend on a node's load. */
  private static final String SCALED_PROPERTY =
      "yarn.resourcemanager.nodemanagers.heartbeat-interval-scaling-enable";
  private static final String LONGEST_PROPERTY =
      "yarn.resourcemanager.nodemanagers.heartbeat-interval-max-ms";

  /** For this long a node on which launches fail is offered nothing: its reports serve asks. */
  static final int FAILING_MS = 30_000;
  /** Of more such nodes at once, the cause is not theirs. */
  private static final int FAILING_MAX = 256;

  /** The longest wait of an AM's thread, which is its own and may wait for an event to end. */
  private static final int LOCK_WAIT_MS = 50;
  /**
   * The longest wait of the ResourceManager's dispatcher, which asks for ApplicationMasters; all of
   * its events wait meanwhile. Such an ask often comes while the event that began the attempt ends.
   */
  private static final int MASTER_LOCK_WAIT_MS = 5;
  /** Largest number of AMs that wait for the lock: reports wait behind them. */
  private static final int WAITING_MAX = 8;
  /**
   * Admits one ask in this time, and after a pause {@link #BURST} at once: on a busy cluster
   * reports do less work for each container.
   */
  private static final int ASK_MS = 10;
  static final int BURST = 10;
  /** Largest number of frames of grants for one ask. */
  private static final int ROUNDS_MAX = 8;
  /** Largest number of nodes whose room is told with one ask. */
  private static final int ROOMS_MAX = 256;

  private final boolean on;
  private final Lock writeLock;
  private final Engine engine;
  private final DirtyAttempts dirty;
  private final ResourceCodec resources;
  private final EngineBooks books;
  private final ContainerCommit commit;
  private final RMContext rmContext;
  private final HeddleScheduler scheduler;
  private final AtomicInteger waiting = new AtomicInteger();
  // The time until which tried asks are paid for, each with ASK_MS; written with the lock held.
  private volatile long paidMs = Long.MIN_VALUE / 2;
  // Nodes that reported other room than the engine knows while no job waited; guarded by the
  // scheduler's write lock.
  private final Set<HeddleNode> untold = new LinkedHashSet<>();
  private final ReportClock reports;
  // Nodes that are offered nothing until these times, because launches failed there; guarded by the
  // scheduler's write lock.
  private final Map<HeddleNode, Long> failing = new LinkedHashMap<>();

  Offers(Configuration configuration, Lock writeLock, Engine engine, EngineBooks books,
      DirtyAttempts dirty, ResourceCodec resources, ContainerCommit commit, RMContext rmContext,
      HeddleScheduler scheduler) {
    this.on = configuration.getBoolean(PROPERTY, true);
    this.writeLock = writeLock;
    this.engine = engine;
    this.dirty = dirty;
    this.resources = resources;
    this.books = books;
    this.commit = commit;
    this.rmContext = rmContext;
    this.scheduler = scheduler;
    this.reports = new ReportClock(longestInterval(configuration));
  }

  /** Returns the longest interval between reports that the ResourceManager tells a new node. */
  private static long longestInterval(Configuration conf) {
    long intervalMs = conf.getLong(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS,
        YarnConfiguration.DEFAULT_RM_NM_HEARTBEAT_INTERVAL_MS);
    return conf.getBoolean(SCALED_PROPERTY, false)
        ? Math.max(intervalMs, conf.getLong(LONGEST_PROPERTY, intervalMs)) : intervalMs;
  }

  /**
   * Returns whether rows ask for more than before. AMs repeat what they still want, and lower it
   * with every container: reports find the room for that.
   */
  boolean concern(HeddleAppAttempt attempt, List<ResourceRequest> rows) {
    for (int i = 0; on && i < rows.size(); i++) {
      ResourceRequest row = rows.get(i);
      if (row.getNumContainers() > 0 && ResourceRequest.isAnyLocation(row.getResourceName())) {
        PendingAsk before =
            attempt.getPendingAsk(SchedulerRequestKey.create(row), row.getResourceName());
        if (row.getNumContainers() > before.getCount()
            || !row.getCapability().equals(before.getPerAllocationResource())) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns whether nodes may still bring back containers that ran before a restart. */
  boolean waitsForNodes() {
    return rmContext.isWorkPreservingRecoveryEnabled()
        && !rmContext.isSchedulerReadyForAllocatingContainers();
  }

  /** Notes that a node reports. */
  void reported(HeddleNode node, long nowMs) {
    if (!on) {
      return;
    }
    reports.reported(node, nowMs);
    if (node.isSilent()) {
      node.setSilent(false);
      // The engine may not be told of this report.
      untold.add(node);
    }
  }

  /** Notes a report that the engine was not told, because no job waited. */
  void skipped(HeddleNode node) {
    if (on && !node.wasToldOf(node.getUnallocatedResource(), resources)) {
      untold.add(node);
    }
  }

  /** Forgets a node that reports to the engine now. */
  void forget(HeddleNode node) {
    if (!untold.isEmpty()) {
      untold.remove(node);
    }
  }

  /**
   * Notes that a container could not start on a node. Its disks are bad at once; anything else may
   * be the application's fault, until a second application has it there, too.
   */
  void launchFailed(HeddleNode node, int exitStatus, int job, long nowMs) {
    if (on && (exitStatus == ContainerExitStatus.DISKS_FAILED
        || exitStatus == ContainerExitStatus.INVALID
            && node.failedOthers(job, nowMs, FAILING_MS))
        && failing.size() < FAILING_MAX) {
      failing.put(node, nowMs + FAILING_MS);
    }
  }

  /**
   * Offers an attempt what it has just asked for, and returns what it was granted so far; nothing
   * if it is stopped.
   *
   * @param taken the answer if it is taken already, else null
   */
  Allocation answer(HeddleAppAttempt attempt, Allocation taken, Allocation nothing, long nowMs) {
    offer(attempt);
    if (taken != null) {
      return taken;
    }
    attempt.getWriteLock().lock();
    try {
      return attempt.isStopped() ? nothing : attempt.takeAllocation(nowMs);
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private void offer(HeddleAppAttempt attempt) {
    long nowMs = EngineClock.nowMs();
    if (!admits(nowMs)
        || !tryLock(attempt.isWaitingForAMContainer() ? MASTER_LOCK_WAIT_MS : LOCK_WAIT_MS)) {
      return;
    }
    try {
      // Others may have been tried while it waited. Only reports and ticks replace a lost engine,
      // because that replays all books.
      if (!admits(nowMs) || attempt.isStopped() || attempt.job().faults().aside() != null
          || waitsForNodes() || !engine.up()) {
        return;
      }
      tried(nowMs);
      scheduler.availableStale = true;
      tellSilent(nowMs);
      for (int round = 0; round < ROUNDS_MAX; round++) {
        long refused = commit.refusedNodes();
        dirty.writeTo(engine.out());
        tellRooms();
        tellFailing(nowMs);
        engine.out().offer(attempt.job().id());
        // Retries on other nodes after a refused one.
        if (!engine.step() || !engine.more() && commit.refusedNodes() == refused) {
          break;
        }
      }
      // On an idle cluster no event follows that would do it.
      scheduler.updateAvailable();
    } catch (Throwable e) {
      // The asks are in the books: a report serves them.
      scheduler.caught("an offer to " + attempt.getApplicationAttemptId(), e);
    } finally {
      writeLock.unlock();
    }
  }

  /** Returns whether one more ask may be tried. */
  boolean admits(long nowMs) {
    return paidMs - nowMs < BURST * ASK_MS;
  }

  /** Counts an ask that is tried. */
  void tried(long nowMs) {
    paidMs = Math.max(paidMs, nowMs) + ASK_MS;
  }

  private boolean tryLock(int waitMs) {
    if (writeLock.tryLock()) {
      return true;
    }
    try {
      return waiting.incrementAndGet() <= WAITING_MAX
          && writeLock.tryLock(waitMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      waiting.decrementAndGet();
    }
  }

  /** Tells the engine where nothing may be offered, and takes back what waits there. */
  void tellSilent(long nowMs) {
    for (HeddleNode node : reports.late(nowMs)) {
      if (isKnown(node)) {
        books.nodeSilent(node);
        scheduler.containerEvents.withdraw(node);
      }
    }
  }

  /** After the rooms: what the engine hears of a node's room lifts its silence. */
  private void tellFailing(long nowMs) {
    for (Iterator<Map.Entry<HeddleNode, Long>> nodes = failing.entrySet().iterator();
        nodes.hasNext(); ) {
      Map.Entry<HeddleNode, Long> entry = nodes.next();
      HeddleNode node = entry.getKey();
      if (nowMs >= entry.getValue() || !isKnown(node)) {
        nodes.remove();
      } else if (!node.isSilent()) {
        books.nodeSilent(node);
      }
    }
  }

  /** Returns whether a node is still there: it may have left, and its number be another's. */
  private boolean isKnown(HeddleNode node) {
    return books.node(node.getNodeID()) == node;
  }

  private void tellRooms() {
    Iterator<HeddleNode> nodes = untold.iterator();
    for (int told = 0; told < ROOMS_MAX && nodes.hasNext(); told++) {
      HeddleNode node = nodes.next();
      nodes.remove();
      if (isKnown(node)) {
        books.tellRoom(node);
      }
    }
  }
}
