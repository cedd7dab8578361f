package io.heddle.yarn;

import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Keeps the engine's blacklist of one job equal to the one in force in YARN. YARN has two: the
 * ResourceManager's own while the attempt waits for its AM container, and the AM's afterwards. The
 * engine has one, so the difference is sent when YARN switches. Otherwise a change costs time for
 * the names that it has, however long the list is.
 *
 * <p>Guarded by the attempt's write lock. Sets keep the order of events: the same events make the
 * same frames.
 */
final class BlacklistSync {
  private final HeddleAppAttempt attempt;
  // The names on the list as it was sent, held back or not.
  private final Set<String> sent = new LinkedHashSet<>(0);
  // Names to be compared with the list in force.
  private Set<String> changed = new LinkedHashSet<>(0);
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
    boolean any = note(additions) | note(removals);
    everUsed |= any;
    return any;
  }

  private boolean note(List<String> names) {
    if (names == null || names.isEmpty()) {
      return false;
    }
    changed.addAll(names);
    return true;
  }

  /** Returns whether YARN has just switched to the AM's list, if any list was ever used. */
  boolean amStateChanged() {
    if (!waitedForAm || attempt.isWaitingForAMContainer()) {
      return false;
    }
    waitedForAm = false;
    if (everUsed) {
      changed.addAll(sent);
      changed.addAll(listOfAm());
    }
    return everUsed;
  }

  /** Marks the AM's whole list, which an earlier attempt may have made. */
  void markAll() {
    List<String> names = listOfAm();
    everUsed |= !names.isEmpty();
    changed.addAll(names);
  }

  private List<String> listOfAm() {
    List<String> names = new ArrayList<>(attempt.getBlacklistedNodes());
    Collections.sort(names);
    return names;
  }

  /** Marks a place that got its first node; returns whether the list names it. */
  boolean placeAppeared(String name) {
    if (!unknownPlaces.remove(name)) {
      return false;
    }
    sent.remove(name);
    changed.add(name);
    return true;
  }

  /** Returns the places that are held back. */
  Collection<String> unknownPlaces() {
    return unknownPlaces;
  }

  /** Forgets what was sent: a new engine has no blacklist. */
  void forgetSent() {
    changed.addAll(sent);
    sent.clear();
  }

  /** Writes the difference between the list in force and the list sent before. */
  void write(FrameWriter out, int job, Interner places) {
    if (changed.isEmpty()) {
      return;
    }
    for (String name : changed) {
      boolean added = attempt.isPlaceBlacklisted(name);
      if (added ? sent.add(Objects.requireNonNull(name)) : sent.remove(name)) {
        write(out, job, places, name, added);
      }
    }
    // A set that was large stays large.
    changed = new LinkedHashSet<>(0);
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
      attempt.forgetsMissing(name);
    }
  }
}
