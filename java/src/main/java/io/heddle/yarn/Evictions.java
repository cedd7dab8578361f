package io.heddle.yarn;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the engine's preemptions. The AM is warned at once and may give the container up
 * itself; when the grace period ends, the container is killed. The engine chooses the containers.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class Evictions {
  private static final Logger LOG = LoggerFactory.getLogger(Evictions.class);

  private static final class Due {
    final HeddleAppAttempt attempt;
    final long atMs;

    Due(HeddleAppAttempt attempt, long atMs) {
      this.attempt = attempt;
      this.atMs = atMs;
    }
  }

  private final Consumer<ContainerId> killer;
  private final Map<ContainerId, Due> warned = new LinkedHashMap<>();

  /** Takes the function that kills a container at the end of its grace period. */
  Evictions(Consumer<ContainerId> killer) {
    this.killer = killer;
  }

  /** Warns a container's AM and notes when to kill the container. */
  void add(HeddleAppAttempt attempt, ContainerId id, long nowMs, int graceMs) {
    if (warned.putIfAbsent(id, new Due(attempt, nowMs + graceMs)) == null) {
      attempt.markForPreemption(id);
    }
  }

  /** Withdraws all warnings: the engine that gave them is lost, and the next one decides itself. */
  void clear() {
    warned.forEach((id, due) -> due.attempt.unmarkForPreemption(id));
    warned.clear();
  }

  /**
   * Returns the marked containers that the AM has fetched. MapReduce's AM looks up a warned
   * container in its own books, which lack its own container and those that it never fetched.
   */
  static Set<ContainerId> knownToMaster(
      Set<ContainerId> marked, Map<ContainerId, RMContainer> live) {
    Set<ContainerId> known = new HashSet<>();
    for (ContainerId id : marked) {
      RMContainer container = live.get(id);
      if (container != null && container.getState() != RMContainerState.ALLOCATED
          && !container.isAMContainer()) {
        known.add(id);
      }
    }
    return known;
  }

  /** Kills the containers whose grace period is over. */
  void killDue(long nowMs) {
    if (warned.isEmpty()) {
      return;
    }
    List<ContainerId> due = new ArrayList<>();
    warned.forEach((id, next) -> {
      if (nowMs >= next.atMs) {
        due.add(id);
      }
    });
    due.forEach(warned::remove);
    for (ContainerId id : due) {
      try {
        killer.accept(id);
      } catch (RuntimeException e) {
        // The engine expects the others to be killed too.
        LOG.error("Cannot kill {} at the end of its grace period", id, e);
      }
    }
  }
}
