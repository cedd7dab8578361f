package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;

/**
 * A finding that was made off the scheduler's threads and waits for the next tick. Told with the
 * scheduler's write lock held; its subject may be gone by then.
 */
public interface Fact {
  void tell(Listener listener);

  /** Takes over facts, and drops those of jobs, containers and nodes that are gone. */
  interface Listener {
    /** How many maps and reduces a job has in all; its submission's numbers go before these. */
    void totals(WatchedJob job, long maps, long reduces);

    /** The work of all tasks of a job so far. */
    void counters(WatchedJob job, JobCounters counters);

    /** How far a reduce is that executes its function since {@code sinceMs}, monotonic. */
    void reduce(WatchedJob job, ContainerId id, int perMille, long sinceMs);

    /** How much map output a node has sent. */
    void shuffled(NodeId id, long bytes);
  }
}
