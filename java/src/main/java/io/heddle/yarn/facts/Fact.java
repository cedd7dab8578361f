package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;

/**
 * A fact found outside the scheduler's threads, which waits for the next tick. It is told with the
 * scheduler's write lock held; its subject may be gone by then.
 */
public interface Fact {
  void tell(Listener listener);

  /** Receives facts, and drops those about jobs, containers and nodes that are gone. */
  interface Listener {
    /** Receives a job's numbers of maps and reduces; those of its submission take precedence. */
    void totals(WatchedJob job, long maps, long reduces);

    /** Receives the work of all tasks of a job so far. */
    void counters(WatchedJob job, JobCounters counters);

    /**
     * Receives the progress of a task.
     *
     * @param sinceMs when its reduce function began, monotonic; 0 for a map or before
     */
    void task(WatchedJob job, ContainerId id, int perMille, long sinceMs, boolean commits);

    /** Receives the bytes that a map has read and written, which ran in this container. */
    void output(WatchedJob job, ContainerId id, long readBytes, long writtenBytes);

    /** Receives the bytes of map output that a node has sent. */
    void shuffled(NodeId id, long bytes);
  }
}
