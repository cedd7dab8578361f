package io.heddle.yarn;

import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Keeps the engine's blacklist of one job equal to the one in force in YARN. YARN has two: the
 * ResourceManager's own while the attempt waits for its AM container, and the AM's afterwards. The
 * engine has one, so the difference is sent when YARN switches.
 *
 * <p>Guarded by the attempt's write lock.
 */
final class BlacklistSync {
  private final HeddleAppAttempt attempt;
  // A copy of the ResourceManager's list, which YARN offers no way to read.
  private final Set<String> bySystem = new HashSet<>(0);
  private Set<String> sent = Collections.emptySet();
  private boolean changed;
  private boolean resend;
  private boolean waitedForAm = true;
  // Saves the checks of nearly every job, because few ever use a blacklist.
  private boolean everUsed;
  // Places held back until a node of their name joins.
  private final Set<String> unknownPlaces = new HashSet<>(0);

  BlacklistSync(HeddleAppAttempt attempt) {
    this.attempt = attempt;
  }

  /** Returns whether any place may be on a list, so that grants must be checked. */
  boolean inUse() {
    return everUsed;
  }

  /** Notes additions and removals of the AM, or of the ResourceManager while it waits for one. */
  boolean changed(List<String> additions, List<String> removals) {
    boolean any = additions != null && !additions.isEmpty()
        || removals != null && !removals.isEmpty();
    if (!any) {
      return false;
    }
    if (attempt.isWaitingForAMContainer()) {
      if (additions != null) {
        bySystem.addAll(additions);
      }
      if (removals != null) {
        bySystem.removeAll(removals);
      }
    }
    everUsed = true;
    changed = true;
    return true;
  }

  /** Returns whether YARN has just switched to the AM's list, if any list was ever used. */
  boolean amStateChanged() {
    if (!waitedForAm || attempt.isWaitingForAMContainer()) {
      return false;
    }
    waitedForAm = false;
    changed |= everUsed;
    return everUsed;
  }

  /** Marks the whole list to be sent again. */
  void markAll() {
    everUsed |= !attempt.getBlacklistedNodes().isEmpty();
    changed |= everUsed;
    resend |= everUsed;
  }

  /** Marks a place that got its first node; returns whether the list names it. */
  boolean placeAppeared(String name) {
    if (!unknownPlaces.remove(name)) {
      return false;
    }
    changed = true;
    resend = true;
    return true;
  }

  /** Forgets what was sent: a new engine has no blacklist. */
  void forgetSent() {
    sent = Collections.emptySet();
  }

  /** Writes the difference between the list in force and the list sent before. */
  void write(FrameWriter out, int job, Interner places) {
    if (!changed) {
      return;
    }
    Set<String> inForce = attempt.isWaitingForAMContainer()
        ? new HashSet<>(bySystem) : attempt.getBlacklistedNodes();
    for (String name : sorted(sent)) {
      if (!inForce.contains(name)) {
        write(out, job, places, name, false);
      }
    }
    for (String name : sorted(inForce)) {
      if (resend || !sent.contains(name)) {
        write(out, job, places, name, true);
      }
    }
    sent = inForce;
    changed = false;
    resend = false;
  }

  /** Sorts names, so that the same events always make the same frames. */
  private static List<String> sorted(Set<String> names) {
    List<String> list = new ArrayList<>(names);
    Collections.sort(list);
    return list;
  }

  private void write(FrameWriter out, int job, Interner places, String name, boolean added) {
    int place = places.find(name);
    if (place != Interner.UNKNOWN) {
      out.blacklist(job, place, added);
    } else if (added) {
      unknownPlaces.add(name);
      attempt.namesMissing(name);
    } else {
      unknownPlaces.remove(name);
    }
  }
}
