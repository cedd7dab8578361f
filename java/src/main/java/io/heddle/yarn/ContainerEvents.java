package io.heddle.yarn;

import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;

/**
 * What happens to single containers besides their node's reports: they expire, are released, are
 * taken back. Called with the scheduler's write lock held.
 */
final class ContainerEvents {
  private final HeddleScheduler scheduler;
  private final Engine engine;
  private final DirtyAttempts dirty;

  ContainerEvents(HeddleScheduler scheduler, Engine engine, DirtyAttempts dirty) {
    this.scheduler = scheduler;
    this.engine = engine;
    this.dirty = dirty;
  }

  /** Nobody fetched or started a container in time, or used what it had grown by. */
  void expired(ContainerExpiredSchedulerEvent event) {
    ContainerId id = event.getContainerId();
    if (event.isIncrease()) {
      scheduler.rollBack(id);
      return;
    }
    scheduler.completedContainer(scheduler.getRMContainer(id),
        SchedulerUtils.createAbnormalContainerStatus(id, SchedulerUtils.EXPIRED_CONTAINER),
        RMContainerEventType.EXPIRE);
  }

  /** The temporary container of an update has done its duty. */
  void released(RMContainer container) {
    // What it was swapped for must reach the engine before it goes.
    dirty.writeTo(engine.out());
    scheduler.completedContainer(container,
        SchedulerUtils.createAbnormalContainerStatus(
            container.getContainerId(), SchedulerUtils.RELEASED_CONTAINER),
        RMContainerEventType.RELEASED);
  }

  /** Warns an AM that a container will be taken back; its node may be overcommitted. */
  void mark(RMContainer container) {
    HeddleAppAttempt attempt =
        scheduler.getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.markForPreemption(container.getContainerId());
    }
  }

  /** Takes the warning back. */
  void unmark(RMContainer container) {
    HeddleAppAttempt attempt =
        scheduler.getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.unmarkForPreemption(container.getContainerId());
    }
  }

  /** Kills a container so that neither its application nor its AM is blamed. */
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
