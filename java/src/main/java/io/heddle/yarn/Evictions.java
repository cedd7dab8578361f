package io.heddle.yarn;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Containers that the engine takes back: the AM is warned at once and may give them up by itself;
 * those that are still there when the grace is over are killed. Chooses nothing.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class Evictions {
  private static final Logger LOG = LoggerFactory.getLogger(Evictions.class);

  /** Ends a container when its grace is over. */
  interface Killer {
    void kill(ContainerId id);
  }

  private static final class Due {
    final HeddleAppAttempt attempt;
    final ContainerId id;
    final long atMs;

    Due(HeddleAppAttempt attempt, ContainerId id, long atMs) {
      this.attempt = attempt;
      this.id = id;
      this.atMs = atMs;
    }
  }

  private final Killer killer;
  private final List<Due> warned = new ArrayList<>();

  Evictions(Killer killer) {
    this.killer = killer;
  }

  /** Warns of a container and notes when to kill it. */
  void add(HeddleAppAttempt attempt, ContainerId id, long nowMs, int graceMs) {
    for (Due due : warned) {
      if (due.id.equals(id)) {
        return;
      }
    }
    attempt.markForPreemption(id);
    warned.add(new Due(attempt, id, nowMs + graceMs));
  }

  /** Takes all warnings back: the engine that decided on them is lost, and the next one decides. */
  void clear() {
    for (Due due : warned) {
      due.attempt.unmarkForPreemption(due.id);
    }
    warned.clear();
  }

  /**
   * Of these containers those that were handed to their AM. MapReduce's looks a container that it
   * is warned of up in its own books, where one that it never got is missing.
   */
  static Set<ContainerId> knownToMaster(
      Set<ContainerId> marked, Map<ContainerId, RMContainer> live) {
    Set<ContainerId> known = new HashSet<>();
    for (ContainerId id : marked) {
      RMContainer container = live.get(id);
      if (container != null && container.getState() != RMContainerState.ALLOCATED) {
        known.add(id);
      }
    }
    return known;
  }

  /** Kills what was warned of long enough ago. */
  void killDue(long nowMs) {
    if (warned.isEmpty()) {
      return;
    }
    List<ContainerId> due = new ArrayList<>();
    for (Iterator<Due> i = warned.iterator(); i.hasNext();) {
      Due next = i.next();
      if (nowMs >= next.atMs) {
        due.add(next.id);
        i.remove();
      }
    }
    for (ContainerId id : due) {
      try {
        killer.kill(id);
      } catch (RuntimeException e) {
        // The engine counts on the others too.
        LOG.error("Cannot take back {}", id, e);
      }
    }
  }
}
