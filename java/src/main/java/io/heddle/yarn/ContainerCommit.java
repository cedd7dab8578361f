package io.heddle.yarn;

import io.heddle.yarn.compat.LinkCheck;
import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt.AMState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Turns a grant into a container, or refuses it. The AM may have changed its asks since the engine
 * was told of them. So a grant is checked against YARN's books before anything is changed. Each
 * grant gets exactly one ACK or NACK.
 *
 * <p>Called with the scheduler's write lock; takes the attempt's.
 */
final class ContainerCommit {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerCommit.class);
  /** Result of {@link #check} for a valid grant. */
  private static final int STANDS = 0;

  private final RMContext context;
  private final EngineBooks books;
  private final Engine engine;
  private final ResourceCodec resources;
  private long committed;
  private long refused;
  private long refusedNodes;

  ContainerCommit(RMContext rmContext, EngineBooks books, Engine engine, ResourceCodec resources) {
    this.context = LinkCheck.onTestedHadoop() ? new ContainerContext(rmContext) : rmContext;
    this.books = books;
    this.engine = engine;
    this.resources = resources;
  }

  /** Returns how many grants became containers. */
  long committed() {
    return committed;
  }

  /** Returns how often a node was found that the engine did not know to be taken out. */
  long refusedNodes() {
    return refusedNodes;
  }

  /** Returns how many grants were refused. */
  long refused() {
    return refused;
  }

  /** Commits or refuses one grant and writes the answer. Never throws. */
  void grant(int jobId, int askId, int nodeId, int locality, long seq) {
    HeddleJob job = books.job(jobId);
    HeddleAppAttempt attempt = job == null ? null : job.attempt();
    if (attempt == null) {
      refuse(jobId, seq, FrameLayout.REASON_STALE_JOB);
      return;
    }
    HeddleNode node = books.node(nodeId);
    if (node == null) {
      refuse(jobId, seq, FrameLayout.REASON_STALE_NODE);
      return;
    }
    attempt.getWriteLock().lock();
    try {
      grantLocked(attempt, node, jobId, askId, locality, seq);
    } catch (RuntimeException | LinkageError e) {
      // Nothing was entered yet: commit() catches its own. The rest of the frame must be read.
      LOG.error("Cannot check grant {} of job {}", seq, jobId, e);
      refuse(jobId, seq, FrameLayout.REASON_OTHER);
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private void grantLocked(HeddleAppAttempt attempt, HeddleNode node, int jobId, int askId,
      int locality, long seq) {
    AskTable.Entry ask = attempt.asks().get(askId);
    AppPlacementAllocator<?> allocator = ask == null ? null : attempt.allocator(ask.key);
    Map<String, ResourceRequest> rows = allocator == null ? null : allocator.getResourceRequests();
    ResourceRequest any = rows == null ? null : rows.get(ResourceRequest.ANY);
    int reason = check(attempt, node, ask, allocator, any);
    if (reason != STANDS) {
      if (ask != null && reason == FrameLayout.REASON_ASK_GONE) {
        attempt.asks().markDrifted(ask);
        attempt.touch();
      }
      refuse(jobId, seq, reason);
      return;
    }
    NodeType type = type(node, rows, any, locality, ask.updatesContainer());
    if (type == null) {
      attempt.asks().markDrifted(ask);
      attempt.touch();
      refuse(jobId, seq, FrameLayout.REASON_ASK_GONE);
      return;
    }
    if (type.getIndex() != locality) {
      // The engine's rows differ from YARN's; they are sent again.
      attempt.asks().markDrifted(ask);
      attempt.touch();
    }
    commit(attempt, node, ask, allocator, any, type, rows.size(), jobId, seq);
  }

  /** Marks what the engine must be told of the row after a grant. */
  private static void markRow(HeddleAppAttempt attempt, AskTable.Entry ask, ResourceRequest any) {
    if (any.getNumContainers() <= 0) {
      attempt.asks().markServed(ask);
      attempt.touch();
    } else if (any.getNumContainers() >= FrameLayout.COUNT_MAX) {
      // The engine counts down from COUNT_MAX; the real count is sent again.
      attempt.asks().markRow(any);
      attempt.touch();
    }
  }

  /** Returns {@link #STANDS} or the reason for a refusal; changes nothing. */
  private int check(HeddleAppAttempt attempt, HeddleNode node, AskTable.Entry ask,
      AppPlacementAllocator<?> allocator, ResourceRequest any) {
    if (attempt.isStopped()) {
      return FrameLayout.REASON_STALE_JOB;
    }
    if (ask == null || any == null || any.getNumContainers() <= 0) {
      return FrameLayout.REASON_ASK_GONE;
    }
    if (!ask.isOfSentSize(any.getCapability())) {
      // The AM changed it after the frame was written; the engine charged the old size.
      return FrameLayout.REASON_ASK_GONE;
    }
    if (!node.sentSchedulable() || drains(node)
        || !node.serves(allocator.getPrimaryRequestedNodePartition())) {
      return FrameLayout.REASON_STALE_NODE;
    }
    if (!resources.fits(any.getCapability(), node.getUnallocatedResource())) {
      return FrameLayout.REASON_NO_FIT;
    }
    if (attempt.blacklist().inUse() && (attempt.isPlaceBlacklisted(node.getNodeName())
        || attempt.isPlaceBlacklisted(node.getRackName()))) {
      return FrameLayout.REASON_BLACKLISTED;
    }
    if (ask.updatesContainer()) {
      RMContainer toUpdate = attempt.getRMContainer(ask.key.getContainerToUpdate());
      if (toUpdate == null) {
        // The container ended; YARN does not withdraw its ask.
        return FrameLayout.REASON_ASK_GONE;
      }
      // Several nodes may share a host; only the container's own node can grow it.
      if (!node.getNodeID().equals(toUpdate.getContainer().getNodeId())) {
        return FrameLayout.REASON_STALE_NODE;
      }
    }
    return STANDS;
  }

  /**
   * Returns whether YARN has taken a node out since its last report, and tells the engine: a node
   * that is decommissioned stops what is granted to it.
   */
  private boolean drains(HeddleNode node) {
    if (NodeEvents.schedulable(node.getRMNode())) {
      return false;
    }
    refusedNodes++;
    books.nodeChanged(node, false);
    return true;
  }

  /**
   * Returns the locality under which YARN's books accept the grant: they decrement the rows of that
   * level, which must exist. An ask with a host row but no rack row, which AMs should not make, is
   * decremented in its ANY row only.
   *
   * @return null if the rows no longer allow this node
   */
  private static NodeType type(HeddleNode node, Map<String, ResourceRequest> rows,
      ResourceRequest any, int locality, boolean update) {
    boolean host = pending(rows.get(node.getNodeName()));
    ResourceRequest rackRow = rows.get(node.getRackName());
    boolean rack = pending(rackRow);
    if (locality == FrameLayout.LOCALITY_NODE && host && rack) {
      return NodeType.NODE_LOCAL;
    }
    if (locality == FrameLayout.LOCALITY_RACK && rack && rackRow.getRelaxLocality()) {
      return NodeType.RACK_LOCAL;
    }
    boolean anywhere = any.getRelaxLocality();
    boolean named = host || rack && rackRow.getRelaxLocality();
    return anywhere || named || update ? NodeType.OFF_SWITCH : null;
  }

  private static boolean pending(ResourceRequest row) {
    return row != null && row.getNumContainers() > 0;
  }

  private void commit(HeddleAppAttempt attempt, HeddleNode node, AskTable.Entry ask,
      AppPlacementAllocator<?> allocator, ResourceRequest any, NodeType type, int rowCount,
      int jobId, long seq) {
    Resource size = any.getCapability();
    long number = attempt.getNewContainerId();
    ContainerId id =
        BuilderUtils.newContainerId(attempt.getApplicationAttemptId(), number);
    Container container = BuilderUtils.newContainer(id, node.getNodeID(), node.getHttpAddress(),
        size, ask.key.getPriority(), null, ask.key.getAllocationRequestId());
    HeddleContainer rmContainer = new HeddleContainer(container, ask.key, attempt.getUser(), node,
        context, allocator.getPrimaryRequestedNodePartition());
    rmContainer.setQueueName(attempt.getQueue().getQueueName());
    try {
      enter(attempt, node, rmContainer,
          () -> lower(attempt, node, ask, allocator, rmContainer, type));
      attempt.countLocality(type, requested(type, rowCount));
      if (!attempt.isAmRunning() && attempt.isWaitingForAMContainer()) {
        masterStarts(attempt, node, size);
      }
      // Before the ACK: what fails after it would be refused, too.
      markRow(attempt, ask, any);
    } catch (RuntimeException | LinkageError e) {
      LOG.error("Cannot commit {} on {}; the grant is taken back", id, node.getNodeID(), e);
      undo(attempt, node, rmContainer);
      refuse(jobId, seq, FrameLayout.REASON_OTHER);
      return;
    }
    engine.out().ack(jobId, seq,
        ContainerKeys.of(number, attempt.getApplicationAttemptId().getAttemptId()));
  }

  private static void masterStarts(HeddleAppAttempt attempt, HeddleNode node, Resource size) {
    attempt.setAMResource(node.getPartition(), size);
    attempt.setAppAMNodePartitionName(node.getPartition());
    attempt.setAmRunning(true);
    attempt.updateAMContainerDiagnostics(AMState.ASSIGNED, null);
  }

  /**
   * Enters a container into all of YARN's books, in the order of their dependencies.
   *
   * @param count lowers the books of asks, if any, and counts in the metrics
   */
  void enter(HeddleAppAttempt attempt, HeddleNode node, RMContainerImpl container,
      Runnable count) {
    ContainerId id = container.getContainerId();
    attempt.containerAllocated(node, container);
    count.run();
    container.handle(new RMContainerEvent(id, RMContainerEventType.START));
    node.allocateContainer(container);
    String partition = node.getPartition();
    RMAuditLogger.logSuccess(attempt.getUser(), AuditConstants.ALLOC_CONTAINER, "SchedulerApp",
        attempt.getApplicationId(), id, container.getContainer().getResource(),
        attempt.getQueue().getQueueName(), partition.isEmpty() ? null : partition);
    committed++;
  }

  /** Lowers the counts of an ask for its container, and counts it in the metrics. */
  private void lower(HeddleAppAttempt attempt, HeddleNode node, AskTable.Entry ask,
      AppPlacementAllocator<?> allocator, HeddleContainer container, NodeType type) {
    boolean update = ask.updatesContainer();
    if (attempt.info().isPending() || update || !AskRows.isCommon(allocator)) {
      // The first container also begins the attempt in the metrics.
      ContainerRequest request = attempt.info().allocate(type, node, ask.key, container);
      // An ask to grow a container ends with that container.
      container.setContainerRequest(update ? null : request);
      return;
    }
    Map<String, ResourceRequest> rows = allocator.getResourceRequests();
    ResourceRequest[] lowered = AskRows.of(rows, type, node);
    // Counts before the rows change, as YARN does: undo() counts a later failure as an end.
    books.containerMetrics().begun(attempt.getQueue().getMetrics(), attempt.getUser(),
        node.getPartition(), container.getNodeLabelExpression(),
        container.getContainer().getResource(), type);
    AskRows.lower(attempt.info(), ask.key, rows, lowered);
    container.setLowered(lowered);
  }

  /** Guesses the locality asked for, for statistics: ANY and one more row is a rack, two a host. */
  private static NodeType requested(NodeType granted, int rowCount) {
    if (granted == NodeType.NODE_LOCAL || rowCount > 2) {
      return NodeType.NODE_LOCAL;
    }
    return rowCount == 2 ? NodeType.RACK_LOCAL : NodeType.OFF_SWITCH;
  }

  /** Removes a container that could not be entered into all of YARN's books. */
  void undo(HeddleAppAttempt attempt, HeddleNode node, RMContainer container) {
    try {
      ContainerId id = container.getContainerId();
      if (container.getContainerRequest() != null) {
        // YARN lowered its counts before it failed.
        attempt.recoverResourceRequestsForContainer(container.getContainerRequest());
      }
      attempt.neverInEngine(id);
      // Released, so that its end counts as no failure: no AM was told of it.
      attempt.containerCompleted(container,
          SchedulerUtils.createAbnormalContainerStatus(id, "Could not be allocated"),
          RMContainerEventType.RELEASED, node.getPartition());
      node.releaseContainer(id, true);
    } catch (RuntimeException e) {
      LOG.error("Cannot undo the commit of {}", container.getContainerId(), e);
    }
  }

  private void refuse(int jobId, long seq, int reason) {
    engine.out().nack(jobId, seq, reason);
    engine.wake();
    refused++;
    LOG.debug("Refused grant {} of job {}: reason {}", seq, jobId, reason);
  }
}
