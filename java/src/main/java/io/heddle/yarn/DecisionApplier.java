package io.heddle.yarn;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.queues.HeddleQueue;
import io.heddle.yarn.queues.QueueControl;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the engine's decisions: grants through {@link ContainerCommit}, evictions through
 * {@link Evictions}; headrooms wait for the next AM heartbeat. Also replays the books to a new
 * engine. No decision throws, because the rest of the frame must be read.
 */
final class DecisionApplier implements Engine.Decisions {
  private static final Logger LOG = LoggerFactory.getLogger(DecisionApplier.class);

  private final ClientOperations scheduler;
  private final EngineBooks books;
  private final ContainerCommit commit;
  private final Evictions evictions;
  private final QueueControl queues;
  private final Quarantine quarantine;
  private final Failures failures;

  DecisionApplier(ClientOperations scheduler, EngineBooks books, ContainerCommit commit,
      Evictions evictions, Quarantine quarantine, Failures failures) {
    this.scheduler = scheduler;
    this.books = books;
    this.commit = commit;
    this.evictions = evictions;
    this.queues = scheduler.queues;
    this.quarantine = quarantine;
    this.failures = failures;
  }

  @Override
  public void grant(int job, int ask, int node, int locality, long seq) {
    commit.grant(job, ask, node, locality, seq);
  }

  @Override
  public void headroom(int jobId, Resource amount) {
    HeddleJob job = books.job(jobId);
    if (job != null && job.attempt() != null) {
      job.attempt().setHeadroom(amount);
    }
  }

  @Override
  public void evict(int jobId, long key, int reason, int graceMs) {
    if (quarantine.probing()) {
      // The engine that decided does not know all jobs yet.
      return;
    }
    try {
      HeddleJob job = books.job(jobId);
      HeddleAppAttempt attempt = job == null ? null : job.attempt();
      ContainerId id = attempt == null ? null : find(attempt, key);
      if (id == null) {
        return;
      }
      LOG.info("Preempting {} in {} ms: {}", id, graceMs, why(reason));
      evictions.add(attempt, id, EngineClock.nowMs(), graceMs);
    } catch (RuntimeException e) {
      failures.count(Failures.Kind.EXCEPTION);
      LOG.error("Cannot preempt container {} of job {}", key, jobId, e);
    }
  }

  private static String why(int reason) {
    switch (reason) {
      case FrameLayout.EVICT_MIN_SHARE:
        return "a queue is below its minimum share";
      case FrameLayout.EVICT_FAIR_SHARE:
        return "a queue is far below its fair share";
      case FrameLayout.EVICT_UNPAID:
        return "its queue no longer pays for it";
      case FrameLayout.EVICT_INSIDE:
        return "another job or user of its queue goes first";
      default:
        return "the order of jobs gives its slot to others";
    }
  }

  private static ContainerId find(HeddleAppAttempt attempt, long key) {
    ContainerId likely = ContainerKeys.toId(attempt.getApplicationId(), key);
    if (attempt.getRMContainer(likely) != null) {
      return likely;
    }
    for (RMContainer container : attempt.getLiveContainers()) {
      if (ContainerKeys.of(container.getContainerId()) == key) {
        return container.getContainerId();
      }
    }
    return null;
  }

  @Override
  public void replay() {
    queues.learnNumbers();
    for (int id = 0; id < books.jobsEnd(); id++) {
      HeddleJob job = books.job(id);
      if (job != null) {
        try {
          replayQueue(job);
        } catch (RuntimeException e) {
          // One job without a queue must not keep the engine from all others.
          quarantine.putAside(job, e.toString());
        }
      }
    }
    // Repeated with the queues that have jobs but are not configured.
    queues.replay();
    books.replay(quarantine);
  }

  @Override
  public void lost(String cause) {
    evictions.clear();
    quarantine.engineLost(cause);
  }

  @Override
  public void rebuilt() {
    failures.count(Failures.Kind.REBUILD);
  }

  private void replayQueue(HeddleJob job) {
    HeddleQueue queue = queues.replayQueue(job.queue(), job.user());
    if (queue != job.queue()) {
      LOG.warn("{} continues in queue {}: its queue {} is no longer available",
          job.applicationId(), queue, job.queue());
      scheduler.enterQueue(job, queue);
      scheduler.tellRmApp(job);
    }
  }
}
