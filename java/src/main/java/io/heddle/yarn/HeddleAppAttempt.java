package io.heddle.yarn;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.queues.HeddleQueue;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger.AuditConstants;
import org.apache.hadoop.yarn.server.resourcemanager.RMAuditLogger;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * One attempt of an application: YARN's books of its containers and asks (the superclass), and the
 * changes that the engine has not been told yet. Decides nothing.
 *
 * <p>AM heartbeats change only this object, under its write lock, and put it on the
 * {@link DirtyAttempts} list; the scheduler thread writes the changes into the next frame.
 */
final class HeddleAppAttempt extends SchedulerApplicationAttempt
    implements HeddleQueue.Member {
  private final HeddleJob job;
  private final Names names;
  private final DirtyAttempts dirty;
  private final EngineBooks books;
  private final AskTable asks;
  private final BlacklistSync blacklist;
  // Whether it is on the dirty list; guarded by the write lock.
  private boolean queued;
  // Containers to tell the engine of again after an update; guarded by the write lock.
  private final List<ContainerId> updated = new ArrayList<>(0);
  // Temporary containers of decreases and demotions, and containers whose commit failed.
  private final Set<ContainerId> outsideEngine = Collections.synchronizedSet(new HashSet<>(0));
  private final Set<ContainerId> toPreempt = Collections.synchronizedSet(new HashSet<>(0));
  private Resource reportedHeadroom;
  // Looked up once: the superclass would walk three maps and take two locks for each container.
  private RMAppAttemptMetrics attemptMetrics;

  HeddleAppAttempt(ApplicationAttemptId attemptId, String user, HeddleJob job, HeddleQueue queue,
      RMContext rmContext, Names names, DirtyAttempts dirty, EngineBooks books) {
    super(attemptId, user, queue, queue.getAbstractUsersManager(), rmContext);
    this.job = job;
    this.names = names;
    this.dirty = dirty;
    this.books = books;
    this.asks = new AskTable(appSchedulingInfo, books.pendingSizes());
    this.blacklist = new BlacklistSync(this);
  }

  HeddleJob job() {
    return job;
  }

  /** Returns the asks by the engine's numbers; guarded by the write lock. */
  AskTable asks() {
    return asks;
  }

  BlacklistSync blacklist() {
    return blacklist;
  }

  // ---- Changes to tell the engine.

  /** Puts it on the dirty list; called with the write lock held. */
  void touch() {
    if (!queued && !isStopped) {
      queued = true;
      dirty.add(this);
    }
  }

  /** Notes a place without a node, which holds a row or a blacklist entry back. */
  void namesMissing(String place) {
    books.missingPlaces().add(place, this);
  }

  /** Forgets a place without a node if no row and no blacklist entry is held back for it. */
  void forgetsMissing(String place) {
    if (!asks.unknownPlaces().contains(place) && !blacklist.unknownPlaces().contains(place)) {
      books.missingPlaces().forget(place, this);
    }
  }

  /** Sends the rows and blacklist entries of a place that were held back until its first node. */
  void placeAppeared(String name) {
    writeLock.lock();
    try {
      if (asks.markPlace(name) | blacklist.placeAppeared(name)) {
        touch();
      }
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Forgets what was sent, and marks everything to be sent to a new engine: it has no blacklist yet
   * and knows the current containers.
   */
  void forgetSent() {
    writeLock.lock();
    try {
      // Makes touch() list it for sure, perhaps a second time.
      queued = false;
      blacklist.forgetSent();
      asks.forgetSent();
      updated.clear();
      asks.markAll();
      blacklist.markAll();
      touch();
    } finally {
      writeLock.unlock();
    }
  }

  /** Writes all changes; called with the scheduler's write lock held. */
  void writeChanges(FrameWriter out) {
    writeLock.lock();
    try {
      queued = false;
      if (isStopped || job.faults().aside() != null) {
        return;
      }
      blacklist.write(out, job.id(), names.places);
      if (!asks.clean()) {
        asks.write(out, this, names);
      }
      for (int i = 0; i < updated.size(); i++) {
        writeUpdated(out, updated.get(i));
      }
      updated.clear();
    } finally {
      writeLock.unlock();
    }
  }

  private void writeUpdated(FrameWriter out, ContainerId id) {
    RMContainer container = liveContainers.get(id);
    if (container == null || outsideEngine.contains(id) || !books.isOnKnownNode(container)) {
      return;
    }
    if (container.getExecutionType() == ExecutionType.GUARANTEED) {
      // A promoted container is new to the engine; for the others only the size changed.
      books.containerAdded(out, this, container);
      out.containerResized(
          job.id(), ContainerKeys.of(id), container.getContainer().getResource());
    } else {
      // Demoted, or the temporary container of a promotion: the engine has no part in it now.
      out.containerCompleted(job.id(), ContainerKeys.of(id), 0);
    }
  }

  /** Tells the engine of a container that began before the ResourceManager's restart. */
  @Override
  public void containerRecovered(RMContainer container) {
    books.containerRecovered(this, container, isMaster(container));
  }

  /**
   * Returns whether a container is the AM's. During recovery RMContainer.isAMContainer() is not set
   * yet: YARN sets it after it has told the queue.
   */
  private boolean isMaster(RMContainer container) {
    RMApp app = rmContext.getRMApps().get(getApplicationId());
    RMAppAttempt rmAttempt = app == null ? null : app.getCurrentAppAttempt();
    Container master = rmAttempt == null ? null : rmAttempt.getMasterContainer();
    return container.isAMContainer()
        || master != null && master.getId().equals(container.getContainerId());
  }

  /** Returns the place of a container that will grow, or {@link Interner#UNKNOWN}. */
  int placeToUpdate(ContainerId id) {
    RMContainer container = liveContainers.get(id);
    HeddleNode node = container == null ? null : books.node(container.getNodeId());
    return node == null ? Interner.UNKNOWN : node.hostPlace();
  }

  // ---- Asks.

  @Override
  public boolean updateResourceRequests(List<ResourceRequest> requests) {
    writeLock.lock();
    try {
      boolean changed = super.updateResourceRequests(requests);
      markRows(requests);
      return changed;
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void recoverResourceRequestsForContainer(ContainerRequest request) {
    writeLock.lock();
    try {
      List<ResourceRequest> rows = request.getResourceRequests();
      if (rows == null) {
        return;
      }
      // Copies: YARN keeps and changes the rows, and a container may end twice.
      List<ResourceRequest> copies = AskTable.copies(rows);
      super.recoverResourceRequestsForContainer(new ContainerRequest(copies));
      markRows(copies);
    } finally {
      writeLock.unlock();
    }
  }

  private void markRows(List<ResourceRequest> rows) {
    if (isStopped || rows.isEmpty()) {
      return;
    }
    for (int i = 0; i < rows.size(); i++) {
      asks.markRow(rows.get(i));
    }
    touch();
  }

  /** Corrects counts with {@link StaleAsks}; called with the write lock held. */
  void correctStaleAsks(List<ResourceRequest> requests) {
    if (!newlyAllocatedContainers.isEmpty()) {
      StaleAsks.correct(requests, newlyAllocatedContainers);
    }
  }

  @Override
  public void updateBlacklist(List<String> additions, List<String> removals) {
    writeLock.lock();
    try {
      super.updateBlacklist(additions, removals);
      if (!isStopped && blacklist.changed(additions, removals)) {
        touch();
      }
    } finally {
      writeLock.unlock();
    }
  }

  // ---- Containers.

  /** Returns YARN's rows of an ask. */
  AppPlacementAllocator<?> allocator(SchedulerRequestKey key) {
    return appSchedulingInfo.getAppPlacementAllocator(key);
  }

  /** Returns YARN's books of the asks. */
  AppSchedulingInfo info() {
    return appSchedulingInfo;
  }

  /** Enters a new container into the books; called with the write lock held. */
  void containerAllocated(HeddleNode node, RMContainer container) {
    // Before the maps change: it also matches containers that wait to grow.
    addToNewlyAllocatedContainers(node, container);
    liveContainers.put(container.getContainerId(), container);
    attemptResourceUsage.incUsed(
        node.getPartition(), container.getContainer().getResource());
  }

  /** Counts a container for the application's page. */
  void countLocality(NodeType granted, NodeType requested) {
    if (attemptMetrics == null) {
      // Takes no lock of RMAppImpl: its reports wait for this attempt's lock.
      RMApp app = rmContext.getRMApps().get(getApplicationId());
      RMAppAttempt rmAttempt = app == null ? null : app.getCurrentAppAttempt();
      if (rmAttempt == null || !attemptId.equals(rmAttempt.getAppAttemptId())) {
        return;
      }
      attemptMetrics = rmAttempt.getRMAppAttemptMetrics();
    }
    attemptMetrics.incNumAllocatedContainers(granted, requested);
  }

  /**
   * Removes a completed container from the books.
   *
   * @param partition its node's label, empty for none
   * @return whether it was in the books
   */
  boolean containerCompleted(RMContainer container, ContainerStatus status,
      RMContainerEventType event, String partition) {
    writeLock.lock();
    try {
      ContainerId id = container.getContainerId();
      RMContainer removed = liveContainers.remove(id);
      if (removed == null) {
        return false;
      }
      forgetIfNotFetched(removed);
      forgetUpdate(removed);
      if (!isTemporary(container, event)) {
        container.handle(new RMContainerFinishedEvent(id, status, event));
      }
      toPreempt.remove(id);
      Resource amount = container.getContainer().getResource();
      RMAuditLogger.logSuccess(getUser(), AuditConstants.RELEASE_CONTAINER, "SchedulerApp",
          getApplicationId(), id, amount, queue.getQueueName(),
          partition.isEmpty() ? null : partition);
      books.containerMetrics().ended(queue.getMetrics(), getUser(), partition, amount);
      attemptResourceUsage.decUsed(partition, amount);
      lastMemoryAggregateAllocationUpdateTime = -1;
      boolean outside = !outsideEngine.isEmpty() && outsideEngine.remove(id);
      if (!outside && books.isOnKnownNode(container)) {
        books.containerCompleted(this, id, status.getExitStatus());
      }
      return true;
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Removes a container from the list of those that the AM has not fetched. Most were fetched long
   * ago, which the state shows without a search. Searching for every container took a fifth of the
   * time for a container. The search begins at the end: a container that ends unfetched is young.
   */
  private void forgetIfNotFetched(RMContainer container) {
    RMContainerState state = container.getState();
    if (state != RMContainerState.ALLOCATED && state != RMContainerState.NEW) {
      return;
    }
    for (int i = newlyAllocatedContainers.size() - 1; i >= 0; i--) {
      if (newlyAllocatedContainers.get(i) == container) {
        newlyAllocatedContainers.remove(i);
        return;
      }
    }
  }

  /** Returns whether a container only carried an update, so that no AM and no node knows it. */
  private static boolean isTemporary(RMContainer container, RMContainerEventType event) {
    return event == RMContainerEventType.RELEASED
        && (container.getState() == RMContainerState.NEW
            || container.getState() == RMContainerState.ALLOCATED);
  }

  /** Moves a container in the books from its node's old label to the new one. */
  void partitionChanged(RMContainer container, String from, String to) {
    writeLock.lock();
    try {
      if (!liveContainers.containsKey(container.getContainerId())
          || container.getExecutionType() != ExecutionType.GUARANTEED) {
        return;
      }
      Resource amount = container.getContainer().getResource();
      attemptResourceUsage.decUsed(from, amount);
      attemptResourceUsage.incUsed(to, amount);
      queue.getMetrics().releaseResources(from, getUser(), 1, amount);
      queue.getMetrics().allocateResources(to, getUser(), 1, amount, false);
      if (container.isAMContainer()) {
        setAppAMNodePartitionName(to);
        attemptResourceUsage.decAMUsed(from, amount);
        attemptResourceUsage.incAMUsed(to, amount);
      }
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public synchronized void addToNewlyDemotedContainers(ContainerId id, RMContainer temporary) {
    outsideEngine.add(temporary.getContainerId());
    super.addToNewlyDemotedContainers(id, temporary);
  }

  @Override
  public synchronized void addToNewlyDecreasedContainers(ContainerId id, RMContainer temporary) {
    outsideEngine.add(temporary.getContainerId());
    // YARN enters the shrinking container a second time, so its end would count twice.
    liveContainers.put(temporary.getContainerId(), temporary);
    // Its end counts as the end of a container, but its beginning was not counted.
    HeddleNode node = books.node(temporary.getContainer().getNodeId());
    queue.getMetrics().allocateResources(node == null ? "" : node.getPartition(), getUser(), 1,
        Resources.none(), false);
    super.addToNewlyDecreasedContainers(id, temporary);
  }

  /** Enters updates of an AM, or rolls one back, by running {@code enter}. */
  void updateContainers(ContainerUpdates updates, Runnable enter) {
    writeLock.lock();
    try {
      if (!isStopped) {
        UpdateAsks.withdraw(appSchedulingInfo, liveContainers, updates);
        enter.run();
        asks.markUpdates();
        touch();
      }
    } finally {
      writeLock.unlock();
    }
  }

  /** Drops an update whose temporary container ended. */
  private synchronized void forgetUpdate(RMContainer temporary) {
    newlyIncreasedContainers.values().remove(temporary);
    newlyDecreasedContainers.values().remove(temporary);
    newlyPromotedContainers.values().remove(temporary);
    newlyDemotedContainers.values().remove(temporary);
  }

  /** Notes both containers of each swap that fetching these updates will make. */
  private synchronized void noteUpdates(Map<ContainerId, RMContainer> updates) {
    // Synchronized: the scheduler's thread adds to these maps under the monitor alone.
    for (Map.Entry<ContainerId, RMContainer> update : updates.entrySet()) {
      updated.add(update.getKey());
      updated.add(update.getValue().getContainerId());
    }
    if (!updates.isEmpty()) {
      touch();
    }
  }

  private List<Container> pulled(boolean swapped, Map<ContainerId, RMContainer> updates,
      Supplier<List<Container>> pull) {
    writeLock.lock();
    try {
      if (swapped) {
        noteUpdates(updates);
      }
      return pull.get();
    } finally {
      writeLock.unlock();
    }
  }

  /** Returns whether YARN swaps execution types now; AMs without opportunistic context wait. */
  private boolean swapsTypes() {
    return getOpportunisticContainerContext() != null;
  }

  @Override
  public List<Container> pullNewlyPromotedContainers() {
    return pulled(swapsTypes(), newlyPromotedContainers, super::pullNewlyPromotedContainers);
  }

  @Override
  public List<Container> pullNewlyDemotedContainers() {
    return pulled(swapsTypes(), newlyDemotedContainers, super::pullNewlyDemotedContainers);
  }

  @Override
  public List<Container> pullNewlyIncreasedContainers() {
    return pulled(true, newlyIncreasedContainers, super::pullNewlyIncreasedContainers);
  }

  @Override
  public List<Container> pullNewlyDecreasedContainers() {
    return pulled(true, newlyDecreasedContainers, super::pullNewlyDecreasedContainers);
  }

  @Override
  public List<Container> pullNewlyAllocatedContainers() {
    writeLock.lock();
    try {
      return books.tokens().serve(newlyAllocatedContainers)
          ? books.tokens().pull(newlyAllocatedContainers, this)
          : super.pullNewlyAllocatedContainers();
    } finally {
      writeLock.unlock();
    }
  }

  // ---- Preemption.

  /** Warns the AM with its next heartbeat that a container will be preempted. */
  void markForPreemption(ContainerId id) {
    if (liveContainers.containsKey(id)) {
      toPreempt.add(id);
    }
  }

  /** Withdraws the warning of a container. */
  void unmarkForPreemption(ContainerId id) {
    toPreempt.remove(id);
  }

  /** Returns the warned containers that the AM has fetched. */
  Set<ContainerId> preemptionMarks() {
    if (toPreempt.isEmpty()) {
      return Collections.emptySet();
    }
    synchronized (toPreempt) {
      return Evictions.knownToMaster(toPreempt, liveContainers);
    }
  }

  // ---- The answer to an AM heartbeat.

  /** Returns everything that waits for the AM; called with the write lock held. */
  Allocation takeAllocation(long now) {
    if (blacklist.amStateChanged()) {
      touch();
    }
    // Taken first: the AM reads warnings before it knows the containers handed over now.
    Set<ContainerId> marks = preemptionMarks();
    List<Container> previous = pullPreviousAttemptContainers();
    List<Container> allocated = newlyAllocatedContainers.isEmpty()
        ? new ArrayList<Container>(0) : pullNewlyAllocatedContainers();
    if (!allocated.isEmpty()) {
      recordContainerAllocationTime(now);
    }
    // The first update: handing over any other one makes YARN forget the smaller size.
    List<Container> decreased =
        newlyDecreasedContainers.isEmpty() ? none() : pullNewlyDecreasedContainers();
    List<Container> increased = newlyIncreasedContainers.isEmpty() && tempContainerToKill.isEmpty()
        ? none() : pullNewlyIncreasedContainers();
    List<Container> promoted =
        newlyPromotedContainers.isEmpty() ? none() : pullNewlyPromotedContainers();
    List<Container> demoted =
        newlyDemotedContainers.isEmpty() ? none() : pullNewlyDemotedContainers();
    // After the updates, which need tokens too.
    List<NMToken> tokens = updatedNMTokens.isEmpty()
        ? Collections.<NMToken>emptyList() : pullUpdatedNMTokens();
    Resource headroom = getHeadroom();
    if (headroom != reportedHeadroom) {
      setApplicationHeadroomForMetrics(headroom);
      reportedHeadroom = headroom;
    }
    return new Allocation(allocated, headroom, marks.isEmpty() ? null : marks, null, null, tokens,
        increased, decreased, promoted, demoted, previous, null);
  }

  private static List<Container> none() {
    return Collections.emptyList();
  }

  // ---- Life cycle.

  @Override
  public void transferStateFromPreviousAttempt(SchedulerApplicationAttempt previous) {
    writeLock.lock();
    try {
      super.transferStateFromPreviousAttempt(previous);
      // Temporary containers end with the attempt, so only the blacklist is passed on.
      blacklist.markAll();
      touch();
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void stop(RMAppAttemptState finalState) {
    writeLock.lock();
    try {
      super.stop(finalState);
      asks.unknownPlaces().forEach(place -> books.missingPlaces().forget(place, this));
      blacklist.unknownPlaces().forEach(place -> books.missingPlaces().forget(place, this));
      // Its user is active only while its asks wait, and the superclass drops these silently.
      queue.getAbstractUsersManager().deactivateApplication(getUser(), getApplicationId());
      asks.clear();
      updated.clear();
    } finally {
      writeLock.unlock();
    }
  }

  /** Keeps a container from the engine. */
  void neverInEngine(ContainerId id) {
    outsideEngine.add(id);
  }

  /** Returns whether the engine never knew a container. */
  boolean isOutsideEngine(ContainerId id) {
    return !outsideEngine.isEmpty() && outsideEngine.contains(id);
  }
}
