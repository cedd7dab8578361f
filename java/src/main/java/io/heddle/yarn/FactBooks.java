package io.heddle.yarn;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.facts.Fact;
import io.heddle.yarn.facts.JobCounters;
import io.heddle.yarn.facts.WatchedJob;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/** Writes facts about jobs and nodes into the next frame, under the scheduler's write lock. */
final class FactBooks implements Fact.Listener {
  private final EngineBooks books;
  private final Engine engine;

  FactBooks(EngineBooks books, Engine engine) {
    this.books = books;
    this.engine = engine;
  }

  /** Returns the job, or null if it ended. Its number may be another job's by now. */
  private HeddleJob current(WatchedJob watched) {
    ApplicationId id = watched.applicationId();
    HeddleJob job = books.job(id);
    return job == watched ? job : null;
  }

  @Override
  public void totals(WatchedJob watched, long maps, long reduces) {
    HeddleJob job = current(watched);
    if (job != null && job.learnTotals(maps, reduces)) {
      job.writeHints(engine.out());
    }
  }

  @Override
  public void counters(WatchedJob watched, JobCounters counters) {
    HeddleJob job = current(watched);
    if (job != null) {
      job.setCounters(counters);
      engine.out().jobCounters(job.id(), counters);
    }
  }

  @Override
  public void task(WatchedJob watched, ContainerId id, int perMille, long sinceMs,
      boolean commits) {
    HeddleJob job = current(watched);
    HeddleAppAttempt attempt = job == null ? null : job.attempt();
    RMContainer container = attempt == null ? null : attempt.getLiveContainersMap().get(id);
    if (container != null && books.concernsEngine(attempt, id, container)) {
      engine.out().task(job.id(), ContainerKeys.of(id), perMille, sinceMs, commits);
    }
  }

  @Override
  public void output(WatchedJob watched, ContainerId id, long readBytes, long writtenBytes) {
    HeddleJob job = current(watched);
    // The container has ended, so Java's books lack it. The engine ignores bytes it does not await.
    if (job != null && id.getApplicationAttemptId().getApplicationId().equals(
        watched.applicationId())) {
      engine.out().taskOutput(job.id(), ContainerKeys.of(id), readBytes, writtenBytes);
    }
  }

  @Override
  public void shuffled(NodeId id, long bytes) {
    HeddleNode node = books.node(id);
    if (node != null) {
      engine.out().nodeShuffle(node.id(), bytes);
    }
  }
}
