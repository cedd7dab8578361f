package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.engine.SetupJson;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.InvalidAllocationTagsQueryException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.PlacementConstraintsUtil;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts the container of a scheduling request on the node that YARN's processor of placement
 * constraints chose. The engine says whether limits and room allow it. YARN's books of asks have
 * no part in it: the processor keeps its requests itself, and tries a refused one again.
 *
 * <p>Called with the scheduler's write lock; takes the attempt's.
 */
final class PlacedCommit {
  private static final Logger LOG = LoggerFactory.getLogger(PlacedCommit.class);

  private final RMContext rmContext;
  private final EngineBooks books;
  private final Engine engine;
  private final DirtyAttempts dirty;
  private final ResourceCodec resources;
  private final ContainerCommit commit;

  PlacedCommit(RMContext rmContext, EngineBooks books, Engine engine, DirtyAttempts dirty,
      ResourceCodec resources, ContainerCommit commit) {
    this.rmContext = rmContext;
    this.books = books;
    this.engine = engine;
    this.dirty = dirty;
    this.resources = resources;
    this.commit = commit;
  }

  /** Starts one container, or returns false. */
  boolean attempt(HeddleAppAttempt attempt, SchedulingRequest request, HeddleNode node) {
    if (request.getResourceSizing() == null || !isCurrent(attempt) || !isKnown(node)) {
      return false;
    }
    // Blacklists may have changed. Grants of this frame take the locks of other attempts.
    dirty.writeTo(engine.out());
    engine.flush();
    attempt.getWriteLock().lock();
    try {
      String why = attempt.isStopped() ? "the attempt has ended" : whyNot(attempt, request, node);
      if (why == null) {
        why = start(attempt, request, node);
      }
      if (why != null) {
        LOG.info("No container of {} on {} for {}: {}", attempt.getApplicationAttemptId(),
            node.getNodeID(), request.getAllocationTags(), why);
      }
      return why == null;
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private boolean isCurrent(HeddleAppAttempt attempt) {
    HeddleJob job = books.job(attempt.getApplicationId());
    return job != null && job.attempt() == attempt && job.faults().aside() == null;
  }

  private boolean isKnown(HeddleNode node) {
    return books.node(node.getNodeID()) == node && node.faults().aside() == null;
  }

  /** Returns why Java's books refuse the request on this node, or null. */
  private String whyNot(HeddleAppAttempt attempt, SchedulingRequest request, HeddleNode node) {
    if (!resources.fits(request.getResourceSizing().getResources(),
        node.getUnallocatedResource())) {
      return "the node's free room";
    }
    Set<String> labels = attempt.getQueue().getAccessibleNodeLabels();
    String partition = node.getPartition();
    if (!partition.equals(CommonNodeLabelsManager.NO_LABEL) && labels != null
        && !labels.contains(RMNodeLabelsManager.ANY) && !labels.contains(partition)) {
      return "its queue may not use nodes with label " + partition;
    }
    try {
      // The placement is a plan; other containers may have come since.
      boolean satisfied = PlacementConstraintsUtil.canSatisfyConstraints(
          attempt.getApplicationId(), request, node, rmContext.getPlacementConstraintManager(),
          rmContext.getAllocationTagsManager());
      return satisfied ? null : "its placement constraint";
    } catch (InvalidAllocationTagsQueryException e) {
      return e.getMessage();
    }
  }

  /** Asks the engine, then enters the container into all books. Returns null, or why it failed. */
  private String start(HeddleAppAttempt attempt, SchedulingRequest request, HeddleNode node) {
    RMContainerImpl container = container(attempt, request, node);
    ContainerId id = container.getContainerId();
    String reply = engine.request(SetupJson.request("take", "job", attempt.job().id(),
        "node", node.id(), "key", ContainerKeys.of(id),
        "priority", request.getPriority().getPriority(),
        "resource", resources.values(container.getContainer().getResource())));
    if (reply == null) {
      return "the engine is being rebuilt";
    }
    JsonNode answer = SetupJson.read(reply);
    if (!answer.path("taken").asBoolean()) {
      return answer.path("why").asText();
    }
    try {
      commit.enter(attempt, node, container, () -> count(attempt, node, container));
      return null;
    } catch (RuntimeException | LinkageError e) {
      LOG.error("Cannot start {} on {}; it is taken back", id, node.getNodeID(), e);
      commit.undo(attempt, node, container);
      engine.out().containerCompleted(
          attempt.job().id(), ContainerKeys.of(id), ContainerExitStatus.ABORTED);
      return e.toString();
    }
  }

  private RMContainerImpl container(
      HeddleAppAttempt attempt, SchedulingRequest request, HeddleNode node) {
    ContainerId id = BuilderUtils.newContainerId(
        attempt.getApplicationAttemptId(), attempt.getNewContainerId());
    Container container = BuilderUtils.newContainer(id, node.getNodeID(), node.getHttpAddress(),
        request.getResourceSizing().getResources(), request.getPriority(), null,
        request.getAllocationRequestId());
    Set<String> tags = new HashSet<>(request.getAllocationTags());
    // YARN forgets the tags of a container that ends unfetched, unless the record has them too.
    container.setAllocationTags(tags);
    RMContainerImpl rmContainer = new RMContainerImpl(container,
        SchedulerRequestKey.extractFrom(container), attempt.getApplicationAttemptId(),
        node.getNodeID(), attempt.getUser(), rmContext, node.getPartition());
    rmContainer.setAllocationTags(tags);
    rmContainer.setQueueName(attempt.getQueue().getQueueName());
    return rmContainer;
  }

  /** Counts a container in the metrics. YARN's call subtracts a pending ask, so adds one first. */
  private static void count(
      HeddleAppAttempt attempt, HeddleNode node, RMContainerImpl container) {
    attempt.getQueue().getMetrics().incrPendingResources(node.getPartition(), attempt.getUser(), 1,
        container.getContainer().getResource());
    AppSchedulingInfo.updateMetrics(attempt.getApplicationId(), NodeType.NODE_LOCAL, node,
        container, attempt.getUser(), attempt.getQueue());
    attempt.countLocality(NodeType.NODE_LOCAL, NodeType.NODE_LOCAL);
  }
}
