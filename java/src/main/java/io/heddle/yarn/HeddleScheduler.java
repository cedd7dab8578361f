package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerExpiredSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ContainerPreemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAttributesUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.ReleaseContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler that an operator names in {@code yarn.resourcemanager.scheduler.class}. Speaks
 * YARN's interface, keeps YARN's books, and leaves every decision to the engine behind
 * {@link Engine}.
 *
 * <p>Nothing that is thrown leaves {@link #handle}: the ResourceManager would exit.
 *
 * <p>Locks, in the order in which they may be taken:
 *
 * <table>
 * <caption>Lock order</caption>
 * <tr><th>Lock</th><th>Guards</th><th>Taken by</th></tr>
 * <tr><td>the scheduler's write lock</td><td>the engine, its frames and tables, nodes and jobs; all
 *   native calls</td><td>events, completions, tick, submissions, moves, reload</td></tr>
 * <tr><td>an attempt's write lock</td><td>its asks, containers and what the engine has not been
 *   told of them</td><td>AM heartbeats, commits</td></tr>
 * <tr><td>AppSchedulingInfo's, the placement allocator's</td><td>YARN's books of asks</td>
 *   <td>code under the attempt's lock</td></tr>
 * <tr><td>monitors of SchedulerNode, RMContainerImpl, metrics, {@link DirtyAttempts}</td>
 *   <td>themselves</td><td>anyone, for a few instructions</td></tr>
 * </table>
 *
 * <p>AM heartbeats take only an attempt's lock, unless they release containers; reads for RPC and
 * web take none.
 */
public class HeddleScheduler extends ClientOperations implements Configurable {
  /** How often the tick runs, in ms. */
  public static final String TICK_PROPERTY = "heddle.tick-ms";
  /** How often the engine's books are compared with Java's, in ms; 0 for never. */
  public static final String AUDIT_PROPERTY = "heddle.audit.interval-ms";
  /** File to record input frames in, for replay. */
  public static final String JOURNAL_PROPERTY = "heddle.journal.path";

  private static final long TICK_MS = 500;
  private static final long AUDIT_MS = 10_000;
  /** A node gets at most this many frames of grants in one heartbeat. */
  private static final int ROUNDS_MAX = 8;
  private static final String AUDIT = SetupJson.request("audit");

  private static final Logger LOG = LoggerFactory.getLogger(HeddleScheduler.class);

  private final Names names = new Names();
  private final DirtyAttempts dirty = new DirtyAttempts();
  private Configuration conf;
  private NodeEvents nodeEvents;
  private ApplicationEvents applicationEvents;
  private ContainerCommit commit;
  private DecisionApplier applier;
  private Evictions evictions;
  private EngineAudit audit;
  private ResourceCodec resources;
  private long auditIntervalMs;
  private long nextAuditMs;
  private int mismatches;
  private volatile long failures;
  private volatile boolean started;

  /** Made by the ResourceManager, by name. */
  public HeddleScheduler() {
    super(HeddleScheduler.class.getName());
  }

  // ---- Life.

  @Override
  public void setConf(Configuration configuration) {
    conf = configuration;
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
  }

  @Override
  public void serviceInit(Configuration configuration) throws Exception {
    Compat.check();
    NativeLibrary.load(configuration.get(
        NativeLibrary.PATH_PROPERTY, System.getProperty(NativeLibrary.PATH_PROPERTY)));
    updateInterval = configuration.getLong(TICK_PROPERTY, TICK_MS);
    if (updateInterval <= 0) {
      throw new YarnRuntimeException(TICK_PROPERTY + " in yarn-site.xml is " + updateInterval
          + "; expected a number of milliseconds above 0");
    }
    auditIntervalMs = configuration.getLong(AUDIT_PROPERTY, AUDIT_MS);
    minimumAllocation = super.getMinimumAllocation();
    initMaximumResourceCapability(super.getMaximumAllocation());
    applications = new ConcurrentHashMap<>();
    resources = new ResourceCodec();
    writeLock.lock();
    try {
      makeEngine(configuration);
    } finally {
      writeLock.unlock();
    }
    PlacementRule rule = new HeddlePlacementRule();
    rule.initialize(this);
    rmContext.getQueuePlacementManager().updateRules(Collections.singletonList(rule));
    schedulingMonitorManager.initialize(rmContext, MonitorConf.without(configuration));
    super.serviceInit(configuration);
  }

  private void makeEngine(Configuration configuration) throws IOException {
    ConfigFile file = ConfigFile.read(configuration);
    engine = new Engine(resources, minimumAllocation, configuration.get(JOURNAL_PROPERTY));
    reports = new QueueReports(configuration);
    queues = new QueueControl(engine, reports.table(), configuration);
    books = new EngineBooks(engine, names);
    commit = new ContainerCommit(rmContext, books, engine, resources);
    evictions = new Evictions(this::preempt);
    applier = new DecisionApplier(books, commit, evictions, queues);
    audit = new EngineAudit(books, resources);
    engine.setDecisions(applier);
    try {
      engine.open(file.content());
    } catch (HeddleException e) {
      throw new IOException(file.source() + ": " + e.getMessage(), e);
    }
    queues.configured(file.content());
    queues.refresh();
    boolean usePort = configuration.getBoolean(
        YarnConfiguration.RM_SCHEDULER_INCLUDE_PORT_IN_NODE_NAME,
        YarnConfiguration.DEFAULT_RM_SCHEDULER_USE_PORT_FOR_NODE_NAME);
    nodeEvents = new NodeEvents(this, rmContext, nodeTracker, books, usePort);
    applicationEvents = new ApplicationEvents(
        this, rmContext, applications, books, engine, names, dirty);
    LOG.info("Heddle {} with {}", FrameLayout.BUILD_VERSION, file.source());
  }

  @Override
  protected void serviceStart() throws Exception {
    started = true;
    super.serviceStart();
  }

  @Override
  protected void serviceStop() throws Exception {
    // The tick ends first; whoever comes later finds the engine closed and the last snapshot.
    super.serviceStop();
    writeLock.lock();
    try {
      if (engine != null) {
        engine.close();
      }
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public void recover(RMState state) {
    // Everything comes back as events: applications from the store, containers from the nodes.
  }

  /**
   * Reads the configuration again; on any error the old one stays. Also called when a standby
   * becomes active, where an error in the file must not keep the cluster without a
   * ResourceManager.
   */
  @Override
  public void reinitialize(Configuration configuration, RMContext context) throws IOException {
    String error = null;
    try {
      ConfigFile file = ConfigFile.read(configuration);
      writeLock.lock();
      try {
        queues.reload(file.content());
        LOG.info("Reloaded {}", file.source());
      } catch (HeddleException e) {
        error = file.source() + ": " + e.getMessage();
      } finally {
        writeLock.unlock();
      }
    } catch (IOException e) {
      error = e.getMessage();
    }
    if (error != null) {
      LOG.error("{}. The configuration in force stays", error);
      if (started) {
        throw new IOException(error);
      }
    }
    super.reinitialize(MonitorConf.without(configuration), context);
  }

  // ---- Events.

  @Override
  public void handle(SchedulerEvent event) {
    try {
      writeLock.lock();
      try {
        dispatch(event);
        engine.flushIfLong();
      } finally {
        writeLock.unlock();
      }
    } catch (Throwable e) {
      failures++;
      LOG.error("Error in event {}; the engine's books are compared at the next tick",
          event.getType(), e);
      auditSoon();
    }
  }

  /** Lets the next tick compare the books. */
  void auditSoon() {
    nextAuditMs = 0;
  }

  // By name: the enum of 3.3.6, which this is compiled against, lacks some of the later ones.
  private void dispatch(SchedulerEvent event) {
    switch (event.getType().name()) {
      case "NODE_UPDATE":
        nodeUpdate(((NodeUpdateSchedulerEvent) event).getRMNode());
        break;
      case "NODE_ADDED":
        NodeAddedSchedulerEvent joined = (NodeAddedSchedulerEvent) event;
        nodeEvents.added(joined.getAddedRMNode(), joined.getContainerReports());
        clusterChanged();
        break;
      case "NODE_REMOVED":
        nodeEvents.removed(((NodeRemovedSchedulerEvent) event).getRemovedRMNode());
        clusterChanged();
        break;
      case "NODE_RESOURCE_UPDATE":
        NodeResourceUpdateSchedulerEvent resized = (NodeResourceUpdateSchedulerEvent) event;
        updateNodeResource(resized.getRMNode(), resized.getResourceOption());
        break;
      case "NODE_LABELS_UPDATE":
        nodeEvents.labelsChanged(
            ((NodeLabelsUpdateSchedulerEvent) event).getUpdatedNodeToLabels());
        break;
      case "NODE_ATTRIBUTES_UPDATE":
        nodeEvents.attributesChanged(
            ((NodeAttributesUpdateSchedulerEvent) event).getUpdatedNodeToAttributes());
        break;
      case "APP_ADDED":
        applicationEvents.added((AppAddedSchedulerEvent) event);
        break;
      case "APP_REMOVED":
        applicationEvents.removed((AppRemovedSchedulerEvent) event);
        break;
      case "APP_ATTEMPT_ADDED":
        applicationEvents.attemptAdded((AppAttemptAddedSchedulerEvent) event);
        break;
      case "APP_ATTEMPT_REMOVED":
        applicationEvents.attemptRemoved((AppAttemptRemovedSchedulerEvent) event);
        break;
      default:
        dispatchContainer(event);
        break;
    }
  }

  private void dispatchContainer(SchedulerEvent event) {
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
        mark(((ContainerPreemptEvent) event).getContainer());
        break;
      case "MARK_CONTAINER_FOR_KILLABLE":
        preempt(((ContainerPreemptEvent) event).getContainer().getContainerId());
        break;
      case "MARK_CONTAINER_FOR_NONKILLABLE":
        unmark(((ContainerPreemptEvent) event).getContainer());
        break;
      default:
        // MANAGE_QUEUE and AUTO_QUEUE_DELETION are between the Capacity Scheduler and itself.
        if (LOG.isDebugEnabled()) {
          LOG.debug("Event {} is not for this scheduler", event.getType());
        }
        break;
    }
  }

  private void expired(ContainerExpiredSchedulerEvent event) {
    ContainerId id = event.getContainerId();
    if (event.isIncrease()) {
      rollbackContainerUpdate(id);
      return;
    }
    completedContainer(getRMContainer(id), SchedulerUtils.createAbnormalContainerStatus(
        id, SchedulerUtils.EXPIRED_CONTAINER), RMContainerEventType.EXPIRE);
  }

  /** The temporary container of an update has done its duty. */
  private void released(RMContainer container) {
    // What it was swapped for must reach the engine before it goes.
    dirty.writeTo(engine.out());
    completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(
        container.getContainerId(), SchedulerUtils.RELEASED_CONTAINER),
        RMContainerEventType.RELEASED);
  }

  private void mark(RMContainer container) {
    HeddleAppAttempt attempt = getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.markForPreemption(container.getContainerId());
    }
  }

  private void unmark(RMContainer container) {
    HeddleAppAttempt attempt = getCurrentAttemptForContainer(container.getContainerId());
    if (attempt != null) {
      attempt.unmarkForPreemption(container.getContainerId());
    }
  }

  /** Kills a container so that neither its application nor its AM is blamed. */
  private void preempt(ContainerId id) {
    RMContainer container = getRMContainer(id);
    HeddleAppAttempt attempt = getCurrentAttemptForContainer(id);
    if (container == null || attempt == null) {
      return;
    }
    completedContainer(container, SchedulerUtils.createPreemptedContainerStatus(
        id, SchedulerUtils.PREEMPTED_CONTAINER), RMContainerEventType.KILL);
    countPreempted(attempt.getQueue().getMetrics(), container);
  }

  private static void countPreempted(QueueMetrics metrics, RMContainer container) {
    long usedMs = Math.max(0, container.getFinishTime() - container.getCreationTime());
    org.apache.hadoop.yarn.api.records.Resource amount = container.getAllocatedResource();
    metrics.preemptContainer();
    metrics.updatePreemptedMemoryMBSeconds(amount.getMemorySize() * usedMs / 1000);
    metrics.updatePreemptedVcoreSeconds(amount.getVirtualCores() * usedMs / 1000);
    metrics.updatePreemptedResources(amount);
    metrics.updatePreemptedSecondsForCustomResources(amount, usedMs / 1000);
    metrics.updatePreemptedForCustomResources(amount);
  }

  @Override
  public void killContainer(RMContainer container) {
    completedContainer(container, SchedulerUtils.createPreemptedContainerStatus(
        container.getContainerId(), "Killed by RM to simulate an AM container failure"),
        RMContainerEventType.KILL);
  }

  /** The capacity changed; what is a fraction of it must follow. */
  private void clusterChanged() {
    reports.setCluster(getClusterResource());
    updateAvailable();
  }

  private void updateAvailable() {
    QueueMetrics root = getRootQueueMetrics();
    root.setAvailableResourcesToQueue(
        Resources.subtract(getClusterResource(), root.getAllocatedResources()));
  }

  @Override
  public void updateNodeResource(RMNode node, ResourceOption option) {
    writeLock.lock();
    try {
      super.updateNodeResource(node, option);
      nodeEvents.resourceChanged(node);
      clusterChanged();
    } finally {
      writeLock.unlock();
    }
  }

  // ---- Containers.

  @Override
  protected void completedContainerInternal(
      RMContainer container, ContainerStatus status, RMContainerEventType event) {
    writeLock.lock();
    try {
      ContainerId id = container.getContainerId();
      HeddleAppAttempt attempt = getCurrentAttemptForContainer(id);
      if (attempt == null) {
        if (LOG.isInfoEnabled()) {
          LOG.info("{} of an ended application completed with {}", id, event);
        }
        return;
      }
      HeddleNode node = books.node(container.getContainer().getNodeId());
      String partition = node != null ? node.getPartition() : container.getNodeLabelExpression();
      attempt.containerCompleted(container, status, event, partition == null ? "" : partition);
      if (node != null) {
        node.releaseContainer(id, false);
      }
      updateAvailable();
    } finally {
      writeLock.unlock();
    }
  }

  // ---- A node's heartbeat.

  @Override
  protected void nodeUpdate(RMNode rmNode) {
    super.nodeUpdate(rmNode);
    setLastNodeUpdateTime(Time.now());
    HeddleNode node = books.node(rmNode.getNodeID());
    if (node == null) {
      return;
    }
    boolean schedulable = NodeEvents.schedulable(rmNode);
    if (schedulable != node.sentSchedulable()) {
      books.nodeChanged(node, schedulable);
    }
    if (schedulable) {
      schedule(node);
    }
  }

  private void schedule(HeddleNode node) {
    if (engine.idle() && dirty.isEmpty()) {
      // Nobody waits for anything: what happened is told with the next frame.
      return;
    }
    if (!rmContext.isSchedulerReadyForAllocatingContainers()
        || resources.anyNegative(node.getUnallocatedResource()) || !engine.ready()) {
      return;
    }
    long before = commit.committed();
    for (int round = 0; round < ROUNDS_MAX; round++) {
      dirty.writeTo(engine.out());
      engine.out().heartbeat(node.id(), node.getUnallocatedResource());
      if (!engine.step() || !engine.more()) {
        break;
      }
    }
    if (commit.committed() != before) {
      updateAvailable();
    }
  }

  /** The tick: shares, headrooms and evictions, the snapshot for readers, now and then the audit. */
  @Override
  public void update() {
    try {
      writeLock.lock();
      try {
        evictions.killDue(Time.monotonicNow());
        engine.ready();
        dirty.writeTo(engine.out());
        engine.out().tick();
        engine.step();
        queues.refreshIfDue();
        reports.setCluster(getClusterResource());
        updateAvailable();
        auditIfDue();
      } finally {
        writeLock.unlock();
      }
    } catch (Throwable e) {
      failures++;
      LOG.error("Error in the tick", e);
    }
  }

  private void auditIfDue() {
    long now = Time.monotonicNow();
    if (auditIntervalMs <= 0 && nextAuditMs != 0 || now < nextAuditMs) {
      return;
    }
    nextAuditMs = now + Math.max(auditIntervalMs, 1);
    String differences = auditNow();
    mismatches = differences == null ? 0 : mismatches + 1;
    if (mismatches == 1) {
      // A container may be between two books; the next tick tells.
      LOG.debug("The engine's books differ: {}", differences);
      auditSoon();
    } else if (mismatches > 1) {
      mismatches = 0;
      engine.lost("its books differ from the ResourceManager's twice in a row: " + differences);
    }
  }

  /** Compares the engine's books with Java's; null if they are equal or there is no engine. */
  private String auditNow() {
    dirty.writeTo(engine.out());
    String reply = engine.request(AUDIT);
    if (reply == null) {
      return null;
    }
    JsonNode answer = SetupJson.read(reply);
    return audit.differences(answer);
  }

  // ---- An AM's heartbeat.

  @Override
  public Allocation allocate(ApplicationAttemptId attemptId, List<ResourceRequest> ask,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    HeddleAppAttempt attempt = getApplicationAttempt(attemptId);
    if (attempt == null || !attempt.getApplicationAttemptId().equals(attemptId)) {
      LOG.error("Heartbeat of {}, which is not a current attempt", attemptId);
      return EMPTY_ALLOCATION;
    }
    if (updates != null && hasAny(updates)) {
      handleContainerUpdates(attempt, updates);
      attempt.noticeUpdateAsks();
    }
    List<ResourceRequest> rows = ask != null ? ask : Collections.<ResourceRequest>emptyList();
    if (!rows.isEmpty()) {
      normalizeResourceRequests(rows, attempt.getQueueName());
      attempt.recordContainerRequestTime(getClock().getTime());
    }
    if (release != null && !release.isEmpty()) {
      // Before the attempt's lock: completions take the scheduler's.
      releaseContainers(release, attempt);
    }
    attempt.getWriteLock().lock();
    try {
      if (attempt.isStopped()) {
        return EMPTY_ALLOCATION;
      }
      if (!rows.isEmpty()) {
        attempt.correctStaleAsks(rows);
        attempt.updateResourceRequests(rows);
      }
      attempt.updateBlacklist(blacklistAdditions, blacklistRemovals);
      return attempt.takeAllocation(getClock().getTime());
    } finally {
      attempt.getWriteLock().unlock();
    }
  }

  private static boolean hasAny(ContainerUpdates updates) {
    return !updates.getIncreaseRequests().isEmpty() || !updates.getDecreaseRequests().isEmpty()
        || !updates.getPromotionRequests().isEmpty() || !updates.getDemotionRequests().isEmpty();
  }

  // ---- Placement.

  /** Finds the queue of a submission; called by its thread. */
  String place(String user, String queue, boolean recovering) throws YarnException {
    List<String> groups = queues.groupsOf(user);
    writeLock.lock();
    try {
      return queues.place(user, groups, queue, recovering).getQueueName();
    } finally {
      writeLock.unlock();
    }
  }

  /** As above for an application that was placed before; with the write lock held. */
  HeddleQueue placeLocked(String user, String queue, boolean recovering) throws YarnException {
    HeddleQueue known = queues.leaf(queue);
    return known != null
        ? known : queues.place(user, new ArrayList<String>(), queue, recovering);
  }

  // ---- For tests and operators.

  /** Returns how many events could not be handled because of an unexpected error. */
  public long getFailures() {
    return failures + (applier == null ? 0 : applier.failures());
  }

  /** Returns how often the engine was made anew. */
  public long getEngineRebuilds() {
    return engine.rebuilds();
  }

  /** Returns how many events the engine had no use for. */
  public long getIgnoredEvents() {
    return engine.ignored();
  }

  /** Returns how many grants became containers. */
  public long getCommittedGrants() {
    return commit.committed();
  }

  /** Returns how many grants of the engine were refused. */
  public long getRefusedGrants() {
    return commit.refused();
  }

  /**
   * Compares the engine's books with Java's.
   *
   * @return null if they are equal, else what differs
   */
  public String auditEngine() {
    writeLock.lock();
    try {
      return auditNow();
    } finally {
      writeLock.unlock();
    }
  }

  /** Makes the engine panic, if the configuration allows faults. */
  void injectFault(int code) {
    writeLock.lock();
    try {
      engine.out().fault(code);
      engine.step();
    } finally {
      writeLock.unlock();
    }
  }
}
