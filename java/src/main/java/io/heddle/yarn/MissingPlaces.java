package io.heddle.yarn;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Hosts and racks without a node, and the attempts that name them in an ask or a blacklist. After a
 * failover thousands of nodes join while thousands of jobs wait: each node must find its own few.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class MissingPlaces {
  // Attempts in the order in which they named the place: the same events make the same frames.
  private final Map<String, Set<HeddleAppAttempt>> attempts = new HashMap<>();

  /** Notes that an attempt names a place. */
  void add(String name, HeddleAppAttempt attempt) {
    attempts.computeIfAbsent(name, place -> new LinkedHashSet<>()).add(attempt);
  }

  /** Forgets a place that has its first node; returns the attempts that name it. */
  Collection<HeddleAppAttempt> appeared(String name) {
    Set<HeddleAppAttempt> waiting = attempts.remove(name);
    return waiting == null ? Collections.<HeddleAppAttempt>emptySet() : waiting;
  }

  /** Forgets that an attempt names a place. */
  void forget(String name, HeddleAppAttempt attempt) {
    attempts.computeIfPresent(name, (place, waiting) -> {
      waiting.remove(attempt);
      return waiting.isEmpty() ? null : waiting;
    });
  }

  int size() {
    return attempts.size();
  }
}
