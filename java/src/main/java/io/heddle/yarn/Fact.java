package io.heddle.yarn;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * Something that was found out off the scheduler's threads and waits for the next tick. Written
 * with the scheduler's write lock held; what it is about may be gone by then.
 */
interface Fact {
  void write(EngineBooks books, FrameWriter out);

  /** How many maps and reduces a job has in all; what its submission says goes before. */
  static Fact totals(HeddleJob job, long maps, long reduces) {
    return (books, out) -> {
      if (books.job(job.id()) == job && job.learnTotals(maps, reduces)) {
        job.writeHints(out);
      }
    };
  }

  /** What all tasks of a job have done so far. */
  static Fact counters(HeddleJob job, JobCounters counters) {
    return (books, out) -> {
      if (books.job(job.id()) == job) {
        job.setCounters(counters);
        out.jobCounters(job.id(), counters);
      }
    };
  }

  /** How far a reduce is that executes its function since {@code sinceMs}, monotonic. */
  static Fact reduce(HeddleJob job, ContainerId id, int perMille, long sinceMs) {
    return (books, out) -> {
      HeddleAppAttempt attempt = job.attempt();
      if (books.job(job.id()) != job || attempt == null) {
        return;
      }
      RMContainer container = attempt.getLiveContainersMap().get(id);
      if (container != null && books.concernsEngine(attempt, id, container)) {
        out.task(job.id(), ContainerKeys.of(id), perMille, sinceMs);
      }
    };
  }

  /** How much map output a node has sent. */
  static Fact shuffled(NodeId id, long bytes) {
    return (books, out) -> {
      HeddleNode node = books.node(id);
      if (node != null) {
        out.nodeShuffle(node.id(), bytes);
      }
    };
  }
}
