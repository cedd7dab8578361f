package io.heddle.yarn;

import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;

/**
 * Asks the engine for grants at the moment when an AM asks, not only when a node reports. The
 * engine chooses the nodes and decides as on their reports. The AM waits for the scheduler's lock
 * only as long as an event takes: while a thread keeps it for longer, its ask is served at a report
 * as ever.
 */
final class Offers {
  static final String PROPERTY = "heddle.immediate-grants.enable";

  /**
   * An ask often comes while the event before it ends: the one that began the attempt has the lock
   * when the ResourceManager asks for its ApplicationMaster's container.
   */
  private static final int LOCK_WAIT_MS = 50;
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
  private final RMContext rmContext;
  private final HeddleScheduler scheduler;
  // Nodes that reported other room than the engine knows while no job waited; guarded by the
  // scheduler's write lock.
  private final Set<HeddleNode> untold = new LinkedHashSet<>();

  Offers(Configuration configuration, Lock writeLock, Engine engine, EngineBooks books,
      DirtyAttempts dirty, ResourceCodec resources, RMContext rmContext,
      HeddleScheduler scheduler) {
    this.on = configuration.getBoolean(PROPERTY, false);
    this.writeLock = writeLock;
    this.engine = engine;
    this.dirty = dirty;
    this.resources = resources;
    this.books = books;
    this.rmContext = rmContext;
    this.scheduler = scheduler;
  }

  boolean on() {
    return on;
  }

  /** Returns whether nodes may still bring back containers that ran before a restart. */
  boolean waitsForNodes() {
    return rmContext.isWorkPreservingRecoveryEnabled()
        && !rmContext.isSchedulerReadyForAllocatingContainers();
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
   * Offers an attempt what it has just asked for, and returns what it was granted so far; nothing
   * if it is stopped. The answer to the ask for an ApplicationMaster has no container in it:
   * RMAppAttemptImpl would lose it.
   */
  Allocation answer(HeddleAppAttempt attempt, Allocation nothing, long nowMs) {
    if (attempt.isWaitingForAMContainer()) {
      Allocation before = take(attempt, nothing, nowMs);
      offer(attempt);
      return before;
    }
    offer(attempt);
    return take(attempt, nothing, nowMs);
  }

  private static Allocation take(HeddleAppAttempt attempt, Allocation nothing, long nowMs) {
    attempt.getWriteLock().lock();
    try {
      return attempt.isStopped() ? nothing : attempt.takeAllocation(nowMs);
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private void offer(HeddleAppAttempt attempt) {
    if (!tryLock()) {
      return;
    }
    try {
      if (attempt.job().faults().aside() != null || waitsForNodes()
          || !engine.ready()) {
        return;
      }
      for (int round = 0; round < ROUNDS_MAX; round++) {
        dirty.writeTo(engine.out());
        tellRooms();
        engine.out().offer(attempt.job().id());
        if (!engine.step() || !engine.more()) {
          break;
        }
      }
      // No event follows that would: the cluster may be idle otherwise.
      scheduler.updateAvailable();
    } catch (Throwable e) {
      // The asks are in the books: a report serves them.
      scheduler.caught("an offer to " + attempt.getApplicationAttemptId(), e);
    } finally {
      writeLock.unlock();
    }
  }

  private boolean tryLock() {
    try {
      return writeLock.tryLock(LOCK_WAIT_MS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void tellRooms() {
    Iterator<HeddleNode> nodes = untold.iterator();
    for (int told = 0; told < ROOMS_MAX && nodes.hasNext(); told++) {
      HeddleNode node = nodes.next();
      nodes.remove();
      // It may have left, and another node may have its number.
      if (books.node(node.getNodeID()) == node) {
        Resource free = node.getUnallocatedResource();
        engine.out().nodeRoom(node.id(), free);
        node.tellOf(free, resources);
      }
    }
  }
}
