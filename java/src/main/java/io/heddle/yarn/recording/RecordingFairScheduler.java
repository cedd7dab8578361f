package io.heddle.yarn.recording;

import java.util.List;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/**
 * Hadoop's Fair Scheduler, which also records its work at {@code heddle.journal.path}.
 * Every method first runs the stock one; the recorder never throws and changes nothing.
 */
public class RecordingFairScheduler extends FairScheduler {
  private final Recorder recorder = new Recorder(
      this, "FairScheduler", Queue::getQueueName, () -> rmContext);

  @Override
  public void handle(SchedulerEvent event) {
    super.handle(event);
    recorder.handled(event);
  }

  @Override
  public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    Allocation allocation = super.allocate(attempt, asks, schedulingRequests, release,
        blacklistAdditions, blacklistRemovals, updates);
    recorder.allocated(attempt, allocation);
    return allocation;
  }

  @Override
  protected void completedContainerInternal(
      RMContainer container, ContainerStatus status, RMContainerEventType event) {
    RMContainerState before = container.getState();
    super.completedContainerInternal(container, status, event);
    recorder.completed(container, before, status);
  }
}
