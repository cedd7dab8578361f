package io.heddle.yarn;

import io.heddle.yarn.config.CapacitySource;
import io.heddle.yarn.config.ConfigControl;
import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.config.MonitorConf;
import io.heddle.yarn.config.StockSource;
import io.heddle.yarn.economy.ConfigReload;
import io.heddle.yarn.economy.Economy;
import io.heddle.yarn.economy.Submissions;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.Journal;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.NativeLibrary;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.facts.FactFeed;
import io.heddle.yarn.queues.QueueControl;
import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.web.ApiHandler;
import io.heddle.yarn.web.FilterSetup;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceOption;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.placement.PlacementRule;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAttributesUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeLabelsUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeResourceUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The scheduler that an operator names in {@code yarn.resourcemanager.scheduler.class}. Implements
 * YARN's interface, keeps YARN's books, and leaves every decision to the engine behind
 * {@link Engine}.
 *
 * <p>Methods that the dispatcher calls let no exception out: the ResourceManager would exit.
 *
 * <p>Locks, in the order in which they may be taken:
 *
 * <table>
 * <caption>Lock order</caption>
 * <tr><th>Lock</th><th>Guards</th><th>Taken by</th></tr>
 * <tr><td>the scheduler's write lock</td><td>the engine's frames and tables, nodes and jobs; native
 *   calls that send frames</td><td>events, completions, tick, submissions, moves, reload</td></tr>
 * <tr><td>an attempt's write lock</td><td>its asks, its containers, and their changes that the
 *   engine has not been told yet</td><td>AM heartbeats, commits</td></tr>
 * <tr><td>AppSchedulingInfo's, the placement allocator's</td><td>YARN's books of asks</td>
 *   <td>code under the attempt's lock</td></tr>
 * <tr><td>monitors of SchedulerNode, RMContainerImpl, metrics, {@link DirtyAttempts}</td>
 *   <td>themselves</td><td>any thread, for a few instructions</td></tr>
 * </table>
 *
 * <p>AM heartbeats take only an attempt's lock, unless they release containers; {@link Offers} try
 * the scheduler's for a short time. YARN's reads for RPC and web take none.
 */
public class HeddleScheduler extends ClientOperations implements Configurable {
  /** The interval of the tick, in ms. */
  public static final String TICK_PROPERTY = "heddle.tick-ms";
  /** The interval of the audit, in ms; 0 runs it only after a failure. */
  public static final String AUDIT_PROPERTY = "heddle.audit.interval-ms";

  private static final long TICK_MS = 500;
  private static final long AUDIT_MS = 10_000;
  /** Largest number of frames of grants in one heartbeat of a node. */
  private static final int ROUNDS_MAX = 8;

  private static final Logger LOG = LoggerFactory.getLogger(HeddleScheduler.class);

  private final Names names = new Names();
  private final DirtyAttempts dirty = new DirtyAttempts();
  private NodeEvents nodeEvents;
  private ApplicationEvents applicationEvents;
  ContainerEvents containerEvents;
  private ContainerCommit commit;
  private PlacedCommit placed;
  DecisionApplier applier;
  private Evictions evictions;
  Offers offers;
  private EngineAudit audit;
  private Economy economy;
  private Performance performance;
  private Inspection inspection;
  private FactFeed facts;
  private FactBooks factBooks;
  private final Failures failures = new Failures();
  private volatile boolean started;
  // Whether the root's available resources are out of date; guarded by the write lock.
  boolean availableStale;
  // Whether any AM ever requested a change of a container, which is rare.
  private volatile boolean updatesSeen;

  /** Makes an uninitialized scheduler; the ResourceManager calls it by reflection. */
  public HeddleScheduler() {
    super(HeddleScheduler.class.getName());
  }

  // ---- Life cycle.

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
    FilterSetup.install(conf, context.getResourceManager());
  }

  @Override
  public void serviceInit(Configuration configuration) throws Exception {
    NativeLibrary.load(configuration.get(
        NativeLibrary.PATH_PROPERTY, System.getProperty(NativeLibrary.PATH_PROPERTY)));
    updateInterval = ConfigFile.positiveMilliseconds(configuration, TICK_PROPERTY, TICK_MS);
    minimumAllocation = super.getMinimumAllocation();
    initMaximumResourceCapability(super.getMaximumAllocation());
    increment = StockSource.increment(configuration, minimumAllocation);
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
    capacity = CapacitySource.open(configuration, rmContext);
    ConfigFile file = ConfigFile.read(configuration, capacity);
    engine = new Engine(resources, minimumAllocation, Journal.of(configuration));
    reports = new QueueReports(configuration, file.alwaysChecksSubmissions(),
        file.isStock(), names.users, file.gauges(configuration, names));
    queues = new QueueControl(engine, reports.table(), names.users);
    tellLabels();
    jobNames = new JobNames(rmContext);
    books = new EngineBooks(engine, names, resources, jobNames,
        new ContainerTokens(rmContext, configuration));
    Quarantine quarantine = new Quarantine(engine, books, failures);
    containerEvents = new ContainerEvents(this, books, engine, dirty);
    commit = new ContainerCommit(rmContext, books, engine, resources);
    placed = new PlacedCommit(rmContext, books, engine, dirty, resources, commit);
    evictions = new Evictions(containerEvents::preempt);
    offers = new Offers(configuration, writeLock, engine, books, dirty, resources, commit,
        rmContext, this);
    applier = new DecisionApplier(this, books, commit, evictions, quarantine, failures);
    explanations = new Explanations(engine, books, quarantine, rmContext, jobNames);
    activities = new Activities(rmContext, engine, jobNames);
    activitiesManager = activities;
    engine.setDecisions(applier);
    economy = Economy.of(engine, file, configuration);
    performance = new Performance(engine, commit, economy);
    config = new ConfigControl(engine, queues, names, writeLock);
    config.open(file, configuration);
    setWebHandler(new ApiHandler(economy, jobNames, new ConfigReload(config, rmContext)));
    nodeEvents = new NodeEvents(this, rmContext, nodeTracker, books, configuration);
    facts = new FactFeed(this::getApplicationAttempt, rmContext, reports.table(), configuration);
    factBooks = new FactBooks(books, engine);
    applicationEvents = new ApplicationEvents(this, rmContext, applications, books, engine, names,
        dirty, new Submissions(economy, configuration), facts);
    long auditMs = ConfigFile.milliseconds(configuration, AUDIT_PROPERTY, AUDIT_MS);
    audit = new EngineAudit(engine, books, dirty, resources, new YarnAudit(this, rmContext, books,
        nodeEvents, applicationEvents, failures, auditMs), quarantine, failures, auditMs);
    inspection = new Inspection(writeLock, engine, books, commit, audit, failures, facts, config);
    LOG.info("Heddle {} with {}", FrameLayout.BUILD_VERSION, file.source());
  }

  @Override
  protected void serviceStart() throws Exception {
    started = true;
    super.serviceStart();
    failures.register();
    performance.register();
    facts.start();
    config.start();
    economy.start();
  }

  @Override
  protected void serviceStop() throws Exception {
    failures.unregister();
    if (config != null) {
      config.stop();
    }
    if (facts != null) {
      facts.stop();
    }
    // Ends the tick first. Later calls find the engine closed and read the last snapshot.
    super.serviceStop();
    if (performance != null) {
      performance.unregister();
      economy.stop();
    }
    writeLock.lock();
    try {
      if (engine != null) {
        engine.close();
      }
    } finally {
      writeLock.unlock();
    }
    if (capacity != null) {
      capacity.close();
    }
  }

  @Override
  public void recover(RMState state) {
    // Recovery comes as events: applications from the store, containers from the nodes.
  }

  /**
   * Reloads the configuration; on any error the old one stays. YARN also calls it when a standby
   * becomes active, which an error in the file must not prevent: nothing is thrown then.
   */
  @Override
  public void reinitialize(Configuration configuration, RMContext context) throws IOException {
    // Reads yarn-site.xml again, which may have changed. Steps that may refuse it go first.
    Configuration site = new Configuration(configuration);
    site.reloadConfiguration();
    super.reinitialize(MonitorConf.without(configuration), context);
    Resource maximum = ResourceUtils.fetchMaximumAllocationFromConfig(site);
    try {
      ConfigFile file = config.reload(configuration, capacity);
      economy.warnOfChanges(file);
      audit.letBackSoon();
      refreshMaximumAllocation(maximum);
      LOG.info("Reloaded {}", file.source());
    } catch (IOException e) {
      LOG.error("{}. The configuration in force stays", e.getMessage());
      if (started) {
        throw e;
      }
    }
  }

  // ---- Events.

  @Override
  public void handle(SchedulerEvent event) {
    try {
      writeLock.lock();
      try {
        applicationEvents.beforeEvent();
        dispatch(event);
        engine.flushIfLong();
        if (availableStale) {
          updateAvailable();
        }
      } finally {
        writeLock.unlock();
      }
    } catch (Throwable e) {
      caught("event " + event.getType(), e);
    }
  }

  /** Counts and logs an unexpected error, and compares all books at the next tick. */
  void caught(String what, Throwable e) {
    failures.caught(what, e);
    audit.soon();
  }

  // By name: the enum of 3.3.6, the version to compile against, lacks some later constants.
  private void dispatch(SchedulerEvent event) {
    switch (event.getType().name()) {
      case "NODE_UPDATE":
        long begun = System.nanoTime();
        nodeUpdate(((NodeUpdateSchedulerEvent) event).getRMNode());
        performance.heartbeatEnded(begun);
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
        availableStale = true;
        break;
      case "NODE_ATTRIBUTES_UPDATE":
        nodeEvents.attributesChanged(
            ((NodeAttributesUpdateSchedulerEvent) event).getUpdatedNodeToAttributes());
        break;
      default:
        if (!applicationEvents.dispatch(event)) {
          containerEvents.dispatch(event);
        }
        break;
    }
  }

  /** Rolls back a container's growth that its AM did not use in time. */
  void rollBack(ContainerId id) {
    HeddleAppAttempt attempt = getCurrentAttemptForContainer(id);
    if (attempt != null) {
      attempt.updateContainers(UpdateAsks.of(id), () -> rollbackContainerUpdate(id));
    }
  }

  @Override
  public void killContainer(RMContainer container) {
    completedContainer(container, SchedulerUtils.createPreemptedContainerStatus(
        container.getContainerId(), "Killed by RM to simulate an AM container failure"),
        RMContainerEventType.KILL);
  }

  /** Tells the reports the cluster's new capacity, because they show fractions of it. */
  private void clusterChanged() {
    queues.clusterChanged(getClusterResource(), getMaximumResourceCapability());
    updateAvailable();
  }

  void updateAvailable() {
    availableStale = false;
    books.containerMetrics().count();
    nodeEvents.showAvailable(getRootQueueMetrics());
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

  /** Never throws: the other completions in a node's report must not be lost. */
  @Override
  public void completedContainer(
      RMContainer container, ContainerStatus status, RMContainerEventType event) {
    try {
      if (ContainerEvents.isSettled(container)) {
        // The superclass only adds work for reservations and for asking again.
        completedContainerInternal(container, status, event);
      } else {
        super.completedContainer(container, status, event);
      }
    } catch (RuntimeException e) {
      caught("the completion of " + status.getContainerId(), e);
    }
  }

  @Override
  protected void completedContainerInternal(
      RMContainer container, ContainerStatus status, RMContainerEventType event) {
    writeLock.lock();
    try {
      containerEvents.completed(container, status, event);
      availableStale = true;
      if (writeLock.getHoldCount() == 1) {
        updateAvailable(); // No event follows that would.
      }
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  protected void containerLaunchedOnNode(ContainerId id, SchedulerNode node) {
    try {
      containerEvents.launched(id, node, () -> super.containerLaunchedOnNode(id, node));
    } catch (RuntimeException e) {
      caught("the launch of " + id, e);
    }
  }

  // ---- A node's heartbeat.

  @Override
  protected void nodeUpdate(RMNode rmNode) {
    super.nodeUpdate(rmNode);
    setLastNodeUpdateTime(Time.now());
    HeddleNode node = books.node(rmNode.getNodeID());
    if (node == null || node.faults().aside() != null) {
      return;
    }
    offers.reported(node, EngineClock.nowMs());
    boolean schedulable = NodeEvents.schedulable(rmNode);
    if (schedulable != node.sentSchedulable()) {
      books.nodeChanged(node, schedulable);
    }
    nodeEvents.measured(node, rmNode);
    if (schedulable) {
      schedule(node);
    }
  }

  private void schedule(HeddleNode node) {
    if (engine.idle() && dirty.isEmpty()) {
      // No job waits; the next frame tells the engine the events.
      offers.skipped(node);
      return;
    }
    Resource free = node.getUnallocatedResource();
    if (full(free) || nothingToSay(node, free) || offers.waitsForNodes() || !engine.ready()) {
      return;
    }
    offers.forget(node);
    long before = commit.committed();
    for (int round = 0; round < ROUNDS_MAX; round++) {
      dirty.writeTo(engine.out());
      free = node.getUnallocatedResource();
      engine.out().heartbeat(node.id(), free);
      node.tellOf(free, resources);
      if (!engine.step() || !engine.more()) {
        break;
      }
    }
    availableStale |= commit.committed() != before;
  }

  /** Returns whether the engine knows a node's room and no pending size fits it. */
  private boolean nothingToSay(HeddleNode node, Resource free) {
    return engine.up() && dirty.isEmpty() && books.pendingSizes().leaveAlone(node, free);
  }

  /** Returns whether no container can fit on a node until another one leaves it. */
  private boolean full(Resource free) {
    boolean small = !resources.fits(minimumAllocation, free);
    // A growing container may need memory or vcores alone.
    return small && !updatesSeen || resources.anyNegative(free);
  }

  /**
   * Runs the tick: shares, headrooms, evictions; then the audit and the reasons for waiting, if
   * due, and the snapshot for readers. Heartbeats get the lock between these.
   */
  @Override
  public void update() {
    long begun = System.nanoTime();
    try {
      ShortHolds.run(writeLock, this::tick);
      ShortHolds.run(writeLock, () -> audit.runIfDue(EngineClock.nowMs()));
      ShortHolds.run(writeLock, explanations::askIfDue);
      queues.refreshIfDue(writeLock);
      explanations.show();
    } catch (Throwable e) {
      caught("the tick", e);
    }
    performance.tickEnded(begun);
  }

  private void tick() {
    evictions.killDue(EngineClock.nowMs());
    books.tellHeldBack();
    engine.readyToTick();
    dirty.writeTo(engine.out());
    facts.drainTo(factBooks);
    engine.out().tick();
    engine.step();
    // Before a queue goes, and its metrics with it.
    updateAvailable();
    queues.expireIfDue();
    reports.setCluster(getClusterResource(), getMaximumResourceCapability());
  }

  /** Called by YARN's processor of placement constraints, from threads of its own. */
  @Override
  public boolean attemptAllocationOnNode(SchedulerApplicationAttempt attempt,
      SchedulingRequest request, SchedulerNode node) {
    writeLock.lock();
    try {
      boolean started = engine.ready()
          && placed.attempt((HeddleAppAttempt) attempt, request, (HeddleNode) node);
      if (started) {
        updateAvailable();
      }
      return started;
    } catch (RuntimeException e) {
      caught("an allocation on " + node.getNodeID(), e);
      return false;
    } finally {
      writeLock.unlock();
    }
  }

  // ---- An AM's heartbeat.

  @Override
  public Allocation allocate(ApplicationAttemptId attemptId, List<ResourceRequest> ask,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    HeddleAppAttempt attempt = getApplicationAttempt(attemptId);
    if (attempt == null || !attempt.getApplicationAttemptId().equals(attemptId)) {
      LOG.info("Heartbeat of {}, which is not a current attempt", attemptId); // Not a fault.
      return EMPTY_ALLOCATION;
    }
    try {
      return allocate(attempt, ask, release, blacklistAdditions, blacklistRemovals, updates);
    } catch (RuntimeException e) {
      // The ResourceManager's dispatcher calls it too and would end the process.
      caught("a heartbeat of " + attemptId, e);
      if (ask != null && !ask.isEmpty() && attempt.isWaitingForAMContainer()) {
        applicationEvents.failAttempt(attemptId, e);
      }
      return EMPTY_ALLOCATION;
    }
  }

  private Allocation allocate(HeddleAppAttempt attempt, List<ResourceRequest> ask,
      List<ContainerId> release, List<String> blacklistAdditions,
      List<String> blacklistRemovals, ContainerUpdates updates) {
    if (updates != null && UpdateAsks.hasAny(updates)) {
      updatesSeen = true;
      if (attempt.getOpportunisticContainerContext() == null) {
        // The superclass takes ids of demoted containers from this context and fails without it.
        updates.getDemotionRequests().clear();
      }
      attempt.updateContainers(updates, () -> handleContainerUpdates(attempt, updates));
    }
    long nowMs = getClock().getTime();
    List<ResourceRequest> rows = ask != null ? ask : Collections.<ResourceRequest>emptyList();
    if (!rows.isEmpty()) {
      Resource most = getMaximumResourceCapability(attempt.getQueueName());
      // Bounded first: rounding up beyond 2^63 would overflow to a negative size.
      AskTable.normalize(rows,
          size -> getNormalizedResource(Resources.componentwiseMin(size, most), most));
      attempt.recordContainerRequestTime(nowMs);
    }
    if (release != null && !release.isEmpty()) {
      // Before the attempt's lock: completions take the scheduler's lock.
      releaseContainers(ContainerEvents.own(attempt, release), attempt);
    }
    Allocation taken = null;
    attempt.getWriteLock().lock();
    try {
      if (attempt.isStopped()) {
        return EMPTY_ALLOCATION;
      }
      attempt.correctStaleAsks(rows);
      boolean asksMore = offers.concern(attempt, rows);
      if (!rows.isEmpty()) {
        attempt.updateResourceRequests(rows);
      }
      attempt.updateBlacklist(blacklistAdditions, blacklistRemovals);
      if (!asksMore) {
        return attempt.takeAllocation(nowMs);
      }
      if (attempt.isWaitingForAMContainer()) {
        // RMAppAttemptImpl loses a container in this answer: none may be granted before.
        taken = attempt.takeAllocation(nowMs);
      }
    } finally {
      attempt.getWriteLock().unlock();
    }
    return offers.answer(attempt, taken, EMPTY_ALLOCATION, getClock().getTime());
  }

  // ---- For tests and measurements.

  /** Returns a view of the internals; null before the scheduler is initialized. */
  public Inspection inspection() {
    return inspection;
  }
}
