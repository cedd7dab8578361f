package io.heddle.yarn;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Finds nodes whose last report is late, by each node's own interval between reports. YARN counts a
 * node as lost after minutes; a container that is granted there meanwhile never starts.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class ReportClock {
  /** Number of its own intervals after which a node's report is late. */
  static final int INTERVALS = 3;
  /** Minimum delay of a late report: a garbage collection may delay one. */
  static final int LATE_MS = 5_000;
  /**
   * Age of a node's place in the list from which a report renews it: in a large cluster each report
   * counts.
   */
  private static final int LISTED_MS = 1_000;
  /** Largest number of nodes that are looked at at once. */
  private static final int LOOKED_AT_MAX = 256;

  // When the second report of a node is due after the first.
  private final long configuredMs;
  // Nodes that are not known to be silent, in order of their last report, give or take LISTED_MS.
  private final Set<HeddleNode> reporting = new LinkedHashSet<>();

  /**
   * Knows no node.
   *
   * @param configuredMs the interval that the ResourceManager tells nodes: one that reported once
   *     has none of its own yet
   */
  ReportClock(long configuredMs) {
    this.configuredMs = configuredMs;
  }

  /** Notes a report. */
  void reported(HeddleNode node, long nowMs) {
    node.noteReport(nowMs);
    if (Math.abs(nowMs - node.listedMs()) >= LISTED_MS) {
      reporting.remove(node);
      reporting.add(node);
      node.setListedMs(nowMs);
    }
  }

  /** Returns nodes whose last report is late, each once until it reports again. */
  List<HeddleNode> late(long nowMs) {
    List<HeddleNode> late = new ArrayList<>();
    Iterator<HeddleNode> nodes = reporting.iterator();
    for (int looks = 0; looks < LOOKED_AT_MAX && nodes.hasNext(); looks++) {
      HeddleNode node = nodes.next();
      if (nowMs - node.listedMs() < LATE_MS) {
        break;
      }
      long silentMs = nowMs - node.reportedMs();
      long ownMs = node.reportIntervalMs();
      if (silentMs >= Math.max(LATE_MS, INTERVALS * (ownMs == 0 ? configuredMs : ownMs))) {
        nodes.remove();
        node.setListedMs(HeddleNode.UNLISTED_MS);
        late.add(node);
      }
    }
    return late;
  }
}
