package io.heddle.yarn;

import io.heddle.yarn.compat.LinkCheck;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handles events of single containers besides their node's reports: expiry, release, preemption
 * and completion. Called with the scheduler's write lock held.
 */
final class ContainerEvents {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerEvents.class);

  private static final boolean TESTED = LinkCheck.onTestedHadoop();

  private final HeddleScheduler scheduler;
  private final EngineBooks books;
  private final Engine engine;
  private final DirtyAttempts dirty;

  ContainerEvents(
      HeddleScheduler scheduler, EngineBooks books, Engine engine, DirtyAttempts dirty) {
    this.scheduler = scheduler;
    this.books = books;
    this.engine = engine;
    this.dirty = dirty;
  }

  /**
   * Returns those containers that belong to an attempt's application. YARN checks this itself,
   * except for applications that keep containers across attempts.
   */
  static List<ContainerId> own(HeddleAppAttempt attempt, List<ContainerId> ids) {
    List<ContainerId> own = new ArrayList<>(ids.size());
    for (ContainerId id : ids) {
      if (id.getApplicationAttemptId().getApplicationId().equals(attempt.getApplicationId())) {
        own.add(id);
      } else {
        RMAuditLogger.logFailure(attempt.getUser(), AuditConstants.RELEASE_CONTAINER,
            "Unauthorized access or invalid container", "Scheduler",
            "Trying to release a container of another application", attempt.getApplicationId(), id,
            null);
      }
    }
    return own;
  }

  /** Handles an event of one container. */
  void dispatch(SchedulerEvent event) {
    switch (event.getType().name()) {
      case "CONTAINER_EXPIRED":
        expired((ContainerExpiredSchedulerEvent) event);
        break;
      case "RELEASE_CONTAINER":
        released(((ReleaseContainerEvent) event).getContainer());
        break;
      case "KILL_RESERVED_CONTAINER":
        // Java holds no reservations.
        break;
      case "MARK_CONTAINER_FOR_PREEMPTION":
        mark(((ContainerPreemptEvent) event).getContainer().getContainerId(), true);
        break;
      case "MARK_CONTAINER_FOR_KILLABLE":
        preempt(((ContainerPreemptEvent) event).getContainer().getContainerId());
        break;
      case "MARK_CONTAINER_FOR_NONKILLABLE":
        mark(((ContainerPreemptEvent) event).getContainer().getContainerId(), false);
        break;
      default:
        // MANAGE_QUEUE and AUTO_QUEUE_DELETION concern the Capacity Scheduler only.
        LOG.debug("Event {} is not for this scheduler", event.getType());
        break;
    }
  }

  /** Returns whether a container is Heddle's, and YARN asks for nothing again when it ends. */
  static boolean isSettled(RMContainer container) {
    return TESTED && container instanceof HeddleContainer && container.getContainerRequest() == null
        && container.getExecutionType() == ExecutionType.GUARANTEED;
  }

  /**
   * Notes that a container runs.
   *
   * @param yarn YARN's own handling, for containers that are not known here
   */
  void launched(ContainerId id, SchedulerNode node, Runnable yarn) {
    HeddleAppAttempt attempt = scheduler.getCurrentAttemptForContainer(id);
    RMContainer container = attempt == null ? null : attempt.getRMContainer(id);
    if (TESTED && node != null && container != null) {
      container.handle(new RMContainerEvent(id, RMContainerEventType.LAUNCHED));
      node.containerStarted(id);
    } else {
      yarn.run();
    }
    if (container != null) {
      books.containerLaunched(attempt, id, container);
    }
  }

  /** Removes an ended container from the books of its attempt and its node. */
  void completed(RMContainer container, ContainerStatus status, RMContainerEventType event) {
    ContainerId id = container.getContainerId();
    scheduler.explanations.containerEnded(container);
    HeddleAppAttempt attempt = scheduler.getCurrentAttemptForContainer(id);
    if (attempt == null) {
      LOG.info("{} of an ended application completed with {}", id, event);
      return;
    }
    HeddleNode node = books.nodeOf(container);
    if (node != null && event == RMContainerEventType.FINISHED) {
      scheduler.offers.launchFailed(
          node, status.getExitStatus(), attempt.job().id(), EngineClock.nowMs());
    }
    String partition = node != null ? node.getPartition() : container.getNodeLabelExpression();
    try {
      attempt.containerCompleted(container, status, event, partition == null ? "" : partition);
    } finally {
      // After a node's own report YARN releases it there.
      if (node != null && event != RMContainerEventType.FINISHED) {
        node.releaseContainer(id, false);
      }
    }
  }

  /**
   * Takes back what is granted on a node whose report is late, as far as no AM has fetched it. YARN
   * asks for it again. An AM's own container is on its way to the node already.
   */
  void withdraw(HeddleNode node) {
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      HeddleAppAttempt attempt =
          scheduler.getCurrentAttemptForContainer(container.getContainerId());
      if (container.getState() == RMContainerState.ALLOCATED && attempt != null
          && !attempt.isWaitingForAMContainer()
          && container.getExecutionType() == ExecutionType.GUARANTEED) {
        scheduler.completedContainer(container,
            SchedulerUtils.createAbnormalContainerStatus(
                container.getContainerId(), SchedulerUtils.LOST_CONTAINER),
            RMContainerEventType.KILL);
      }
    }
  }

  /** Ends a container not fetched or started in time, or rolls back growth not used in time. */
  private void expired(ContainerExpiredSchedulerEvent event) {
    ContainerId id = event.getContainerId();
    if (event.isIncrease()) {
      scheduler.rollBack(id);
      return;
    }
    scheduler.completedContainer(scheduler.getRMContainer(id),
        SchedulerUtils.createAbnormalContainerStatus(id, SchedulerUtils.EXPIRED_CONTAINER),
        RMContainerEventType.EXPIRE);
  }

  /** Ends the temporary container of an update that was made. */
  private void released(RMContainer container) {
    // The engine must know its replacement before it ends.
    dirty.writeTo(engine.out());
    scheduler.completedContainer(container,
        SchedulerUtils.createAbnormalContainerStatus(
            container.getContainerId(), SchedulerUtils.RELEASED_CONTAINER),
        RMContainerEventType.RELEASED);
  }

  /** Warns an AM that a container will be preempted, or withdraws the warning. */
  private void mark(ContainerId id, boolean marked) {
    HeddleAppAttempt attempt = scheduler.getCurrentAttemptForContainer(id);
    if (attempt != null && marked) {
      attempt.markForPreemption(id);
    } else if (attempt != null) {
      attempt.unmarkForPreemption(id);
    }
  }

  /** Kills a container as preempted, which counts as no failure of its application or AM. */
  void preempt(ContainerId id) {
    RMContainer container = scheduler.getRMContainer(id);
    HeddleAppAttempt attempt = scheduler.getCurrentAttemptForContainer(id);
    if (container == null || attempt == null) {
      return;
    }
    scheduler.completedContainer(container,
        SchedulerUtils.createPreemptedContainerStatus(id, SchedulerUtils.PREEMPTED_CONTAINER),
        RMContainerEventType.KILL);
    countPreempted(attempt.getQueue().getMetrics(), container);
  }

  private static void countPreempted(QueueMetrics metrics, RMContainer container) {
    long usedMs = Math.max(0, container.getFinishTime() - container.getCreationTime());
    Resource amount = container.getAllocatedResource();
    metrics.preemptContainer();
    metrics.updatePreemptedMemoryMBSeconds(amount.getMemorySize() * usedMs / 1000);
    metrics.updatePreemptedVcoreSeconds(amount.getVirtualCores() * usedMs / 1000);
    metrics.updatePreemptedResources(amount);
    metrics.updatePreemptedSecondsForCustomResources(amount, usedMs / 1000);
    metrics.updatePreemptedForCustomResources(amount);
  }
}
