/*
 * An application attempt of the stub: turns asks into containers in key order, and keeps their
 * books step by step as SchedulerApplicationAttempt requires. Decides nothing else.
 */
package io.heddle.integration.bench;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.apache.hadoop.yarn.util.resource.Resources;

/** The stub's attempt. */
final class BookkeepingAttempt extends SchedulerApplicationAttempt {
  /** The result of offering a node. */
  enum Outcome { PLACED, NO_ROOM, NO_ASK }

  private static final String NO_LABEL = RMNodeLabelsManager.NO_LABEL;

  private final BookkeepingQueue queueOfOurs;
  /** Whether the scheduler's ready list holds this attempt. */
  boolean listed;

  BookkeepingAttempt(ApplicationAttemptId id, String user, BookkeepingQueue queue,
      RMContext context) {
    super(id, user, queue, queue.getAbstractUsersManager(), context);
    this.queueOfOurs = queue;
  }

  BookkeepingQueue queue() {
    return queueOfOurs;
  }

  /** Places one container on the node, for the first key that asks for one. */
  Outcome serve(FiCaSchedulerNode node) {
    writeLock.lock();
    try {
      for (SchedulerRequestKey key : getSchedulerKeys()) {
        if (getOutstandingAsksCount(key) <= 0) {
          continue;
        }
        Resource size = getPendingAsk(key, ResourceRequest.ANY).getPerAllocationResource();
        if (!Resources.fitsIn(size, node.getUnallocatedResource())) {
          return Outcome.NO_ROOM;
        }
        place(node, key, size);
        return Outcome.PLACED;
      }
      return Outcome.NO_ASK;
    } finally {
      writeLock.unlock();
    }
  }

  private NodeType locality(FiCaSchedulerNode node, SchedulerRequestKey key) {
    // A host's row may outlive its rack's until the AM corrects it; the books need both.
    if (getOutstandingAsksCount(key, node.getRackName()) <= 0) {
      return NodeType.OFF_SWITCH;
    }
    return getOutstandingAsksCount(key, node.getNodeName()) > 0
        ? NodeType.NODE_LOCAL : NodeType.RACK_LOCAL;
  }

  private void place(FiCaSchedulerNode node, SchedulerRequestKey key, Resource size) {
    NodeType type = locality(node, key);
    ContainerId id = BuilderUtils.newContainerId(getApplicationAttemptId(), getNewContainerId());
    Container container = BuilderUtils.newContainer(id, node.getNodeID(), node.getHttpAddress(),
        size, key.getPriority(), null, key.getAllocationRequestId());
    RMContainerImpl rmContainer = new RMContainerImpl(container, key, getApplicationAttemptId(),
        node.getNodeID(), getUser(), rmContext, NO_LABEL);
    rmContainer.setQueueName(queueOfOurs.getQueueName());
    addToNewlyAllocatedContainers(node, rmContainer);
    liveContainers.put(id, rmContainer);
    rmContainer.setContainerRequest(appSchedulingInfo.allocate(type, node, key, rmContainer));
    attemptResourceUsage.incUsed(NO_LABEL, size);
    rmContainer.handle(new RMContainerEvent(id, RMContainerEventType.START));
    node.allocateContainer(rmContainer);
    incNumAllocatedContainers(type, type);
    RMAuditLogger.logSuccess(getUser(), AuditConstants.ALLOC_CONTAINER, "SchedulerApp",
        getApplicationId(), id, size, queueOfOurs.getQueueName(), NO_LABEL);
  }

  /** Removes a container from the books; returns false if it is not in them. */
  boolean completed(RMContainer rmContainer, ContainerStatus status, RMContainerEventType event) {
    writeLock.lock();
    try {
      ContainerId id = rmContainer.getContainerId();
      if (liveContainers.remove(id) == null) {
        return false;
      }
      if (rmContainer.getState() == RMContainerState.ALLOCATED) {
        // Only then the AM has not pulled it; other states save the search of the list.
        newlyAllocatedContainers.remove(rmContainer);
      }
      rmContainer.handle(new RMContainerFinishedEvent(id, status, event));
      Resource size = rmContainer.getContainer().getResource();
      RMAuditLogger.logSuccess(getUser(), AuditConstants.RELEASE_CONTAINER, "SchedulerApp",
          getApplicationId(), id, size, queueOfOurs.getQueueName(), NO_LABEL);
      queueOfOurs.getMetrics().releaseResources(NO_LABEL, getUser(), 1, size);
      attemptResourceUsage.decUsed(NO_LABEL, size);
      lastMemoryAggregateAllocationUpdateTime = -1;
      return true;
    } finally {
      writeLock.unlock();
    }
  }
}
