package io.heddle.yarn;

import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Keeps the engine's blacklist of one job equal to the one that YARN goes by. YARN has two: the
 * ResourceManager's own while the attempt waits for its AM container, the AM's afterwards; the
 * engine has one, so the difference is sent when the one in force changes.
 *
 * <p>Guarded by the attempt's write lock.
 */
final class BlacklistSync {
  private final HeddleAppAttempt attempt;
  // YARN does not give its own list out again, so it is kept here as well.
  private final Set<String> bySystem = new HashSet<>(0);
  private Set<String> sent = Collections.emptySet();
  private boolean changed;
  private boolean resend;
  private boolean waitedForAm = true;
  // Stays false for nearly every job, which then never pays for a look.
  private boolean everUsed;
  // Places that are held back: no node of their name was ever seen.
  private final Set<String> unknownPlaces = new HashSet<>(0);

  BlacklistSync(HeddleAppAttempt attempt) {
    this.attempt = attempt;
  }

  /** Whether any place may be on a list, so that a grant must be checked. */
  boolean inUse() {
    return everUsed;
  }

  /** Notes what an AM, or the ResourceManager for it, added and removed. */
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

  /** Whether the other of the two lists has come into force. */
  boolean amStateChanged() {
    if (!waitedForAm || attempt.isWaitingForAMContainer()) {
      return false;
    }
    waitedForAm = false;
    changed |= everUsed;
    return everUsed;
  }

  /** Places that had no number may have one now. */
  void markAll() {
    everUsed |= !attempt.getBlacklistedNodes().isEmpty();
    changed |= everUsed;
    resend |= everUsed;
  }

  /** A place got its first node; returns whether a list names it and was waiting for that. */
  boolean placeAppeared(String name) {
    if (!unknownPlaces.remove(name)) {
      return false;
    }
    changed = true;
    resend = true;
    return true;
  }

  /** The engine is new. */
  void forgetSent() {
    sent = Collections.emptySet();
  }

  /** Writes the difference between what is in force and what was sent. */
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

  /** The same events must make the same frames, whatever the order of a hash set. */
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
    } else {
      unknownPlaces.remove(name);
    }
  }
}
