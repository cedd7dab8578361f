package io.heddle.yarn;

import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.DenseTable;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * Java's view of the cluster in the engine's terms: the numbers of nodes and jobs, and the
 * events that keep the engine's books equal to Java's. Java is the authority: when an engine is
 * lost, its successor is filled from here.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class EngineBooks {
  private final Engine engine;
  private final Names names;
  private final ResourceCodec resources;
  private final PendingSizes pendingSizes;
  private final JobNames jobNames;
  private final ContainerMetrics containerMetrics = new ContainerMetrics();
  private final ContainerTokens tokens;
  private final DenseTable<HeddleNode> nodes = new DenseTable<>();
  private final DenseTable<HeddleJob> jobs = new DenseTable<>();
  private final Map<ApplicationId, HeddleJob> jobsByApplication = new HashMap<>();
  private final Map<NodeId, HeddleNode> nodesByName = new HashMap<>();
  private final MissingPlaces missingPlaces = new MissingPlaces();
  // Not told yet: applications that a restart found waiting for their first ApplicationMaster.
  private final List<HeddleJob> heldBack = new ArrayList<>();

  EngineBooks(Engine engine, Names names, ResourceCodec resources, JobNames jobNames,
      ContainerTokens tokens) {
    this.engine = engine;
    this.names = names;
    this.resources = resources;
    this.pendingSizes = new PendingSizes(resources);
    this.jobNames = jobNames;
    this.tokens = tokens;
  }

  /** Returns the container sizes that pending asks have. */
  PendingSizes pendingSizes() {
    return pendingSizes;
  }

  ContainerTokens tokens() {
    return tokens;
  }

  /** Returns the counts of containers that are not yet in the queues' metrics. */
  ContainerMetrics containerMetrics() {
    return containerMetrics;
  }

  /** Returns the places without a node that attempts name. */
  MissingPlaces missingPlaces() {
    return missingPlaces;
  }

  // ---- Nodes.

  /** Returns the node with the engine's number, or null. */
  HeddleNode node(int id) {
    return nodes.get(id);
  }

  /** Returns the node that the engine knows by YARN's id, or null. */
  HeddleNode node(NodeId id) {
    return nodesByName.get(id);
  }

  /** Returns one more than the greatest number of a node. */
  int nodesEnd() {
    return nodes.end();
  }

  /** Gives a new node its number and tells the engine of it. */
  void nodeAdded(HeddleNode node, boolean schedulable) {
    boolean newHost = names.places.find(node.getNodeName()) == Interner.UNKNOWN;
    boolean newRack = names.places.find(node.getRackName()) == Interner.UNKNOWN;
    node.intern(names.places, names.partitions);
    node.setId(nodes.add(node));
    nodesByName.put(node.getNodeID(), node);
    jobNames.added(node);
    node.setSentSchedulable(schedulable);
    node.write(engine.out(), FrameLayout.NODE_ADDED);
    if (newHost) {
      placeAppeared(node.getNodeName());
    }
    if (newRack) {
      placeAppeared(node.getRackName());
    }
  }

  /** Tells the engine that something other than a node's free room changed. */
  void nodeChanged(HeddleNode node, boolean schedulable) {
    node.intern(names.places, names.partitions);
    node.setSentSchedulable(schedulable);
    node.write(engine.out(), FrameLayout.NODE_CHANGED);
  }

  /** Tells the engine a node's free room, without its report. */
  void tellRoom(HeddleNode node) {
    Resource free = node.getUnallocatedResource();
    engine.out().nodeRoom(node.id(), free);
    node.tellOf(free, resources);
  }

  /** Tells the engine that the last report of a node is late. */
  void nodeSilent(HeddleNode node) {
    node.setSilent(true);
    engine.out().nodeSilent(node.id());
  }

  /** Tells the engine how much of a node processes outside YARN use. */
  void nodeLoad(HeddleNode node, int perMille) {
    node.setToldLoad(perMille);
    engine.out().nodeLoad(node.id(), perMille);
  }

  /** Removes a node that left. Its containers must be completed already. */
  void nodeRemoved(HeddleNode node) {
    engine.out().nodeRemoved(node.id());
    engine.out().muteNode(node.id(), false);
    nodes.remove(node.id());
    nodesByName.remove(node.getNodeID());
    jobNames.removed(node);
  }

  // ---- Jobs.

  /** Returns the job with the engine's number, or null. */
  HeddleJob job(int id) {
    return jobs.get(id);
  }

  /** Returns the job of an application, or null. */
  HeddleJob job(ApplicationId id) {
    return jobsByApplication.get(id);
  }

  /** Returns one more than the greatest number of a job. */
  int jobsEnd() {
    return jobs.end();
  }

  /**
   * Gives an accepted application its number and tells the engine of it.
   *
   * @param waited whether a restart found it without an attempt. The engine lets jobs run in the
   *     order in which it learns of them, so jobs that already ran come first.
   */
  void jobAdded(HeddleJob job, boolean waited) {
    job.setId(jobs.add(job));
    jobsByApplication.put(job.applicationId(), job);
    jobNames.added(job);
    engine.nameInShadow(job.id(), job.applicationId().toString());
    if (waited) {
      heldBack.add(job);
    } else {
      job.write(engine.out());
      authorize(job);
    }
  }

  /** Tells the engine of the jobs held back, now that it knows all jobs that ran. */
  void tellHeldBack() {
    if (!heldBack.isEmpty()) {
      List<HeddleJob> jobsToTell = new ArrayList<>(heldBack);
      heldBack.clear();
      for (HeddleJob job : jobsToTell) {
        tell(engine.out(), job);
        authorize(job);
      }
    }
  }

  /** Tells the engine what a job may spend. Does nothing without an engine: replay repeats it. */
  void authorize(HeddleJob job) {
    if (job.bounds() != null && job.faults().aside() == null) {
      engine.request(job.authorization());
    }
  }

  /** Removes the job of an application that ended. */
  void jobRemoved(HeddleJob job) {
    if (!heldBack.remove(job)) {
      engine.out().jobRemoved(job.id());
      engine.out().muteJob(job.id(), false);
    }
    jobs.remove(job.id());
    jobsByApplication.remove(job.applicationId());
    jobNames.removed(job);
  }

  private void placeAppeared(String name) {
    for (HeddleAppAttempt attempt : missingPlaces.appeared(name)) {
      attempt.placeAppeared(name);
    }
  }

  // ---- Containers.

  /** Tells the engine of a container in Java's books that it did not grant. */
  void containerRecovered(HeddleAppAttempt attempt, RMContainer container, boolean master) {
    containerAdded(engine.out(), attempt, container, master);
  }

  /** Writes the record of a live container. */
  void containerAdded(FrameWriter out, HeddleAppAttempt attempt, RMContainer container) {
    containerAdded(out, attempt, container, container.isAMContainer());
  }

  private void containerAdded(
      FrameWriter out, HeddleAppAttempt attempt, RMContainer container, boolean master) {
    HeddleNode node = nodesByName.get(container.getContainer().getNodeId());
    if (node == null || node.faults().aside() != null) {
      // Its node is gone, so it is about to be completed as lost; or its node is put aside.
      return;
    }
    out.containerAdded(attempt.job().id(), node.id(),
        container.getContainer().getPriority().getPriority(), master,
        ContainerKeys.of(container.getContainerId()),
        EngineClock.toMonotonic(container.getCreationTime()),
        container.getContainer().getResource());
  }

  /** Tells the engine that a live container of an attempt runs. */
  void containerLaunched(HeddleAppAttempt attempt, ContainerId id, RMContainer container) {
    if (concernsEngine(attempt, id, container)) {
      engine.out().containerLaunched(
          attempt.job().id(), ContainerKeys.of(id), EngineClock.nowMs());
    }
  }

  /** Tells the engine that a container left Java's books. */
  void containerCompleted(HeddleAppAttempt attempt, ContainerId id, int exitStatus) {
    engine.out().containerCompleted(attempt.job().id(), ContainerKeys.of(id), exitStatus);
    // An engine with nothing to grant may have held tasks back until this one ended.
    engine.wake();
  }

  /** Returns whether a live container belongs in the engine's books. */
  boolean concernsEngine(HeddleAppAttempt attempt, ContainerId id, RMContainer container) {
    // A decrease lists the container a second time, under the id of its temporary container.
    return container.getExecutionType() == ExecutionType.GUARANTEED
        && id.equals(container.getContainerId()) && !attempt.isOutsideEngine(id)
        && attempt.job().faults().aside() == null && isOnKnownNode(container);
  }

  /**
   * Returns the containers on a node that belong in the engine's books. The node's own list also
   * has ended containers whose end it has not reported yet.
   */
  List<RMContainer> known(HeddleNode node) {
    List<RMContainer> known = new ArrayList<>();
    for (RMContainer container : node.getCopiedListOfRunningContainers()) {
      ContainerId id = container.getContainerId();
      HeddleJob job = job(container.getApplicationAttemptId().getApplicationId());
      HeddleAppAttempt attempt = job == null ? null : job.attempt();
      if (attempt != null && attempt.getLiveContainersMap().containsKey(id)
          && concernsEngine(attempt, id, container)) {
        known.add(container);
      }
    }
    return known;
  }

  /** Returns whether the engine knows the node where a container runs. */
  boolean isOnKnownNode(RMContainer container) {
    HeddleNode node = nodeOf(container);
    return node != null && node.faults().aside() == null;
  }

  /** Returns the node where a container runs, or null if it left. */
  HeddleNode nodeOf(RMContainer container) {
    if (container instanceof HeddleContainer) {
      HeddleNode node = ((HeddleContainer) container).node();
      if (nodes.get(node.id()) == node) {
        return node;
      }
    }
    return nodesByName.get(container.getContainer().getNodeId());
  }

  // ---- Quarantine.

  /** Removes a job from the engine and mutes its later events. */
  void withdraw(HeddleJob job) {
    engine.out().jobRemoved(job.id());
    engine.out().muteJob(job.id(), true);
    if (job.attempt() != null) {
      job.attempt().forgetSent();
    }
  }

  /** Removes a node and its containers from the engine and mutes its later events. */
  void withdraw(HeddleNode node) {
    for (RMContainer container : known(node)) {
      HeddleJob job = job(container.getApplicationAttemptId().getApplicationId());
      engine.out().containerCompleted(job.id(), ContainerKeys.of(container.getContainerId()),
          ContainerExitStatus.ABORTED);
    }
    engine.out().nodeRemoved(node.id());
    engine.out().muteNode(node.id(), true);
  }

  /** Unmutes a withdrawn job and adds it to the engine again. */
  void readmit(HeddleJob job) {
    engine.out().muteJob(job.id(), false);
    engine.nameInShadow(job.id(), job.applicationId().toString());
    tell(engine.out(), job);
    authorize(job);
  }

  /** Unmutes a withdrawn node and adds it and its containers to the engine again. */
  void readmit(HeddleNode node) {
    engine.out().muteNode(node.id(), false);
    tell(engine.out(), node);
    for (RMContainer container : known(node)) {
      HeddleJob job = job(container.getApplicationAttemptId().getApplicationId());
      containerAdded(engine.out(), job.attempt(), container);
    }
  }

  // ---- Replay.

  /**
   * Tells a new engine of all nodes, jobs and live containers. Asks and blacklists follow as
   * changes of every attempt. A job or node that cannot be written is put aside.
   */
  void replay(Quarantine quarantine) {
    heldBack.clear();
    FrameWriter out = engine.out();
    for (int id = 0; id < nodes.end(); id++) {
      HeddleNode node = nodes.get(id);
      if (node != null) {
        replay(out, () -> tell(out, node), cause -> quarantine.putAside(node, cause));
      }
    }
    List<HeddleJob> order = inOrderOfReplay();
    quarantine.beginReplay(order.size());
    for (HeddleJob job : order) {
      if (replay(out, () -> tell(out, job), cause -> quarantine.putAside(job, cause))) {
        quarantine.told(job);
      }
      engine.flushIfLong();
    }
    quarantine.endReplay();
    for (HeddleJob job : order) {
      try {
        authorize(job);
      } catch (RuntimeException e) {
        // Without its bounds it could overspend.
        quarantine.putAside(job, e.toString());
      }
    }
  }

  /** Writes one job or node; on failure cuts off what was written. Returns whether it worked. */
  private static boolean replay(FrameWriter out, Runnable tell, Consumer<String> putAside) {
    int length = out.length();
    int records = out.records();
    try {
      tell.run();
      return true;
    } catch (RuntimeException e) {
      out.cutTo(length, records);
      putAside.accept(e.toString());
      return false;
    }
  }

  private void tell(FrameWriter out, HeddleNode node) {
    node.write(out, FrameLayout.NODE_ADDED);
    if (node.toldLoad() >= 0) {
      out.nodeLoad(node.id(), node.toldLoad());
    }
  }

  private void tell(FrameWriter out, HeddleJob job) {
    job.write(out);
    HeddleAppAttempt attempt = job.attempt();
    if (attempt != null) {
      replayContainers(out, attempt);
      attempt.forgetSent();
    }
  }

  /**
   * Returns the jobs that hold containers, then the others, each part in order of submission. The
   * engine lets jobs run in the order in which it learns of them, so a job that waited must not
   * come before one that runs. Numbers are reused, so they give no order.
   */
  private List<HeddleJob> inOrderOfReplay() {
    List<HeddleJob> running = new ArrayList<>();
    List<HeddleJob> waiting = new ArrayList<>();
    for (int id = 0; id < jobs.end(); id++) {
      HeddleJob job = jobs.get(id);
      if (job != null) {
        (job.holdsContainers() ? running : waiting).add(job);
      }
    }
    Comparator<HeddleJob> bySubmission = Comparator.comparingLong(HeddleJob::submittedMs);
    running.sort(bySubmission);
    waiting.sort(bySubmission);
    running.addAll(waiting);
    return running;
  }

  private void replayContainers(FrameWriter out, HeddleAppAttempt attempt) {
    attempt.getWriteLock().lock();
    try {
      for (Map.Entry<ContainerId, RMContainer> live
          : attempt.getLiveContainersMap().entrySet()) {
        if (concernsEngine(attempt, live.getKey(), live.getValue())) {
          containerAdded(out, attempt, live.getValue());
        }
      }
    } finally {
      attempt.getWriteLock().unlock();
    }
  }
}
