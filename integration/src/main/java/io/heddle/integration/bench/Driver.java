/*
 * Plays the rest of the cluster for one scheduler: NodeManagers, AMs and the ResourceManager's own
 * part, all on one thread. The seed determines the order, and no scheduler can change it.
 *
 * A round is one heartbeat of every node, in a new random order each round, with one heartbeat of
 * every AM spread evenly between them. This matches YARN's defaults, one a second for both. An AM
 * pulls first and asks right after, so no ask is stale and no scheduler places too much.
 *
 * The schedulers' update threads are off; the driver calls update() twice a round instead.
 *
 * Timed: handle(event) and allocate(...), and separately update(). Token creation is inside
 * allocate().
 */
package io.heddle.integration.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.event.RMAppAttemptContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;

/** Drives one scheduler through one workload. */
final class Driver implements AutoCloseable {
  private static final long CLUSTER_TIMESTAMP = 1_700_000_000_000L;

  final Shape shape;
  final long seed;
  final List<BenchNode> nodes = new ArrayList<>();
  final Map<String, List<BenchNode>> nodesByRack = new LinkedHashMap<>();
  /** Applications that have not ended, in the order of submission. */
  final List<ApplicationMaster> masters = new ArrayList<>();
  private final SchedulerKind kind;
  private final RmHarness harness;
  private final AbstractYarnScheduler<?, ?> scheduler;
  private final Map<NodeId, BenchNode> nodeById = new HashMap<>();
  private final Map<ApplicationAttemptId, ApplicationMaster> masterById = new HashMap<>();
  private final Stopwatch stopwatch;
  private int submitted;
  private int rounds;
  /** Containers that the scheduler started since the beginning. */
  private long started;
  private boolean releasing;
  private Runnable whenMeasuring = () -> {};
  private Runnable whenMeasured = () -> {};
  /** The registrations of the nodes. */
  final Measurement joining;

  Driver(SchedulerKind kind, RmHarness harness, Shape shape, long seed, boolean cpuClock)
      throws IOException {
    this.kind = kind;
    this.harness = harness;
    this.scheduler = harness.scheduler;
    this.shape = shape;
    this.seed = seed;
    this.stopwatch = new Stopwatch(kind, cpuClock);
    stopwatch.start(started);
    addNodes();
    joining = stopwatch.stop(started);
  }

  private void addNodes() throws IOException {
    Map<NodeId, Set<String>> labels = new HashMap<>();
    for (int n = 0; n < shape.nodes; n++) {
      String host = address(n);
      String rack = "/rack-" + n % shape.racks;
      // A core per GB, so that memory runs out first under every scheduler.
      BenchNode node = new BenchNode(harness.context, host, rack,
          Resource.newInstance(shape.nodeMemoryMb, shape.nodeMemoryMb / 1024));
      nodes.add(node);
      nodesByRack.computeIfAbsent(rack, k -> new ArrayList<>()).add(node);
      nodeById.put(node.id, node);
      harness.context.getRMNodes().put(node.id, node.rmNode);
      node.label = shape.label(n);
      if (node.label != null) {
        labels.put(node.id, Collections.singleton(node.label));
      }
    }
    if (shape.isLabelled()) {
      harness.label(labels);
    }
    for (BenchNode node : nodes) {
      node.register();
      drain();
    }
  }

  /** Returns an address, not a name: tokens hold the node's address, and so no DNS is needed. */
  static String address(int node) {
    return "10." + (node >> 16) + "." + (node >> 8 & 0xFF) + "." + (node & 0xFF);
  }

  /** Sets work that begins and ends with the measured part. */
  void besides(Runnable begin, Runnable end) {
    whenMeasuring = begin;
    whenMeasured = end;
  }

  /** Begins the measured part. */
  void startMeasuring() {
    whenMeasuring.run();
    stopwatch.start(started);
  }

  /** Measures real time from now on, with waits for locks. */
  void useWallClock() {
    stopwatch.useWallClock();
  }

  /** Returns the time of a call, in ns by the clock of the measurement. */
  long timed(Callable<?> call) throws Exception {
    long began = stopwatch.now();
    call.call();
    return stopwatch.since(began);
  }

  /** Ends the measured part and returns its figures. */
  Measurement stopMeasuring() {
    Measurement measurement = stopwatch.stop(started);
    whenMeasured.run();
    return measurement;
  }

  long containersSinceStart() {
    return stopwatch.containersSince(started);
  }

  long heartbeatsSinceStart() {
    return stopwatch.heartbeats();
  }

  long measuredNanos() {
    return stopwatch.callNanos();
  }

  /** Submits an application: sends APP_ADDED, the attempt and the AM's ask. */
  void submit(ApplicationMaster master) {
    ApplicationId id = ApplicationId.newInstance(CLUSTER_TIMESTAMP, ++submitted);
    int queueIndex = master.index % shape.queues;
    String user = Shape.user(queueIndex);
    String queue = shape.isUsersOwn(queueIndex) ? place(user) : shape.path(queueIndex);
    ResourceRequest amAsk = ApplicationMaster.row(ApplicationMaster.AM_PRIORITY,
        ResourceRequest.ANY, Resource.newInstance(ApplicationMaster.AM_SIZE), 1);
    master.app = new BenchApp(id, harness.context, harness.conf, user, queue, master.type(), amAsk);
    master.attempt = master.app.getCurrentAppAttempt().getAppAttemptId();
    harness.context.getRMApps().put(id, master.app);
    masters.add(master);
    masterById.put(master.attempt, master);
    // As the placement rules say; stock Fair refuses an application without a placement.
    handle(new AppAddedSchedulerEvent(id, queue, user, new ApplicationPlacementContext(queue)));
    drain();
    harness.nmTokens.registerApplicationAttempt(master.attempt);
    handle(new AppAttemptAddedSchedulerEvent(master.attempt, false));
    drain();
    allocate(master, Collections.singletonList(amAsk));
  }

  /** Has the placement rules find, or make, the queue of a user's own. */
  private String place(String user) {
    long began = stopwatch.now();
    try {
      return harness.place(user);
    } catch (YarnException e) {
      throw new Violation("a submission of " + user + " was refused", e);
    } finally {
      stopwatch.otherEvent(stopwatch.since(began));
    }
  }

  /**
   * Runs rounds until {@code done} holds; more than {@code most} are a violation. An asynchronous
   * scheduler places at its own pace and gets twenty times as many.
   */
  void roundsUntil(String goal, int most, BooleanSupplier done) {
    int bound = kind.asynchronous() ? 20 * most : most;
    for (int round = 0; round < bound; round++) {
      if (!round(done)) {
        return;
      }
    }
    throw new Violation("after " + bound + " rounds of " + shape.nodes + " node heartbeats not "
        + goal + ": " + state());
  }

  /** Sends one heartbeat of every node and AM. Stops and returns false once {@code done} holds. */
  private boolean round(BooleanSupplier done) {
    long began = System.nanoTime();
    List<BenchNode> order = new ArrayList<>(nodes);
    Collections.shuffle(order, new Random(seed + 1_000_003L * ++rounds));
    List<ApplicationMaster> beating = new ArrayList<>(masters);
    int beaten = 0;
    int half = (order.size() + 1) / 2;
    for (int n = 0; n < order.size(); n++) {
      if (done.getAsBoolean()) {
        return false;
      }
      if (n % half == 0) {
        update();
      }
      order.get(n).heartbeat();
      drain();
      checkBooks(order.get(n));
      int due = (int) ((long) beating.size() * (n + 1) / order.size());
      while (beaten < due) {
        beat(beating.get(beaten++));
      }
    }
    pace(began);
    return !done.getAsBoolean();
  }

  /** Sends one heartbeat of every AM and none of a node. */
  void beatMasters() {
    for (ApplicationMaster master : new ArrayList<>(masters)) {
      beat(master);
    }
  }

  private void pace(long began) {
    // An asynchronous scheduler places at its own pace and would fall behind without a pause.
    int leastMs = kind.asynchronous() ? Math.max(shape.roundMs, 20) : shape.roundMs;
    long left = leastMs * 1_000_000L - (System.nanoTime() - began);
    if (left > 0) {
      try {
        Thread.sleep(left / 1_000_000L, (int) (left % 1_000_000L));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted between two rounds", e);
      }
    }
  }

  /** Sends a heartbeat of an AM, or plays the ResourceManager's part of starting it. */
  private void beat(ApplicationMaster master) {
    switch (master.stage) {
      case WAITING_FOR_AM:
        pullAm(master);
        break;
      case RUNNING:
        pullAndAsk(master);
        break;
      default:
        break;
    }
  }

  private void pullAm(ApplicationMaster master) {
    List<Container> pulled = allocate(master, Collections.emptyList());
    if (pulled.isEmpty()) {
      return;
    }
    if (pulled.size() > 1) {
      throw new Violation("application " + master.attempt + " got " + pulled.size()
          + " AM containers");
    }
    Container container = pulled.get(0);
    master.app.setMasterContainer(container);
    master.amContainer = container.getId();
    master.amNode = nodeOf(container);
    master.amNode.launch(container, BenchNode.FOREVER);
    master.stage = ApplicationMaster.Stage.RUNNING;
  }

  private void pullAndAsk(ApplicationMaster master) {
    settle(master, allocate(master, Collections.emptyList()));
    master.settleEnded();
    List<ResourceRequest> asks = master.asks();
    if (!asks.isEmpty() || !master.surplus.isEmpty()) {
      settle(master, allocate(master, asks));
    }
    if (master.finished()) {
      master.amNode.end(master.amContainer);
      master.stage = ApplicationMaster.Stage.ENDING;
    }
  }

  private void settle(ApplicationMaster master, List<Container> containers) {
    for (Container container : containers) {
      BenchNode node = nodeOf(container);
      int lifetime = master.receive(container, node);
      if (lifetime >= 0) {
        node.launch(container, lifetime);
      } else if (!kind.asynchronous()) {
        throw new Violation("container " + container.getId() + " serves no ask of "
            + master.attempt + " (priority " + container.getPriority() + " on " + node.host + ")");
      }
    }
  }

  private BenchNode nodeOf(Container container) {
    BenchNode node = nodeById.get(container.getNodeId());
    if (node == null) {
      throw new Violation("container " + container.getId() + " is on unknown node "
          + container.getNodeId());
    }
    if (container.getContainerToken() == null) {
      throw new Violation("container " + container.getId() + " has no token");
    }
    return node;
  }

  private List<Container> allocate(ApplicationMaster master, List<ResourceRequest> asks) {
    List<ContainerId> release = Collections.emptyList();
    if (!master.surplus.isEmpty()) {
      release = new ArrayList<>(master.surplus);
      master.surplus.clear();
    }
    long began = stopwatch.now();
    Allocation allocation = scheduler.allocate(master.attempt, asks, null, release,
        Collections.emptyList(), Collections.emptyList(), new ContainerUpdates());
    stopwatch.allocate(stopwatch.since(began));
    drain();
    return allocation.getContainers();
  }

  private void handle(SchedulerEvent event) {
    long began = stopwatch.now();
    scheduler.handle(event);
    long nanos = stopwatch.since(began);
    if (event.getType() == SchedulerEventType.NODE_UPDATE) {
      stopwatch.heartbeat(nanos);
    } else {
      stopwatch.otherEvent(nanos);
    }
  }

  /**
   * Does the work of a scheduler's update thread, which runs every 500 ms; stock Fair gives nothing
   * to an application before it. Called twice a round, because a round stands for a second.
   */
  void update() {
    long began = stopwatch.now();
    scheduler.update();
    stopwatch.update(stopwatch.since(began));
    drain();
  }

  /** Delivers posted events in order until none is left. */
  private void drain() {
    harness.dispatcher.drain(this::handle, nodeById, this::attemptEvent);
  }

  private void attemptEvent(RMAppAttemptEvent event) {
    if (event.getType() == RMAppAttemptEventType.CONTAINER_ALLOCATED) {
      started++;
    } else if (event.getType() == RMAppAttemptEventType.CONTAINER_FINISHED) {
      ApplicationMaster master = masterById.get(event.getApplicationAttemptId());
      ContainerId container =
          ((RMAppAttemptContainerFinishedEvent) event).getContainerStatus().getContainerId();
      if (master == null) {
        throw new Violation("container " + container + " ended after its application");
      }
      if (container.equals(master.amContainer)) {
        if (!releasing) {
          remove(master);
        }
      } else {
        master.ended.add(container);
      }
    }
  }

  /** Closes the attempt and the application of an AM that ended, as the ResourceManager does. */
  private void remove(ApplicationMaster master) {
    if (master.stage != ApplicationMaster.Stage.ENDING) {
      throw new Violation("the AM container of " + master.attempt + " was killed");
    }
    master.stage = ApplicationMaster.Stage.GONE;
    masters.remove(master);
    handle(new AppAttemptRemovedSchedulerEvent(master.attempt, RMAppAttemptState.FINISHED, false));
    handle(new AppRemovedSchedulerEvent(master.attempt.getApplicationId(), RMAppState.FINISHED));
    masterById.remove(master.attempt);
    harness.nmTokens.unregisterApplicationAttempt(master.attempt);
    harness.context.getRMApps().remove(master.attempt.getApplicationId());
  }

  /** Checks in YARN's own books that a node is not over-committed. */
  private void checkBooks(BenchNode node) {
    SchedulerNode books = scheduler.getSchedulerNode(node.id);
    Resource free = books.getUnallocatedResource();
    if (free.getMemorySize() < 0 || free.getVirtualCores() < 0) {
      throw new Violation("node " + node.host + " is over-committed: " + free + " is free of "
          + node.capacity);
    }
  }

  int outstanding() {
    int sum = 0;
    for (ApplicationMaster master : masters) {
      sum += master.outstanding();
    }
    return sum;
  }

  /** Returns whether every application has its AM. */
  boolean allRunning() {
    for (int m = masters.size() - 1; m >= 0; m--) {
      if (masters.get(m).stage == ApplicationMaster.Stage.WAITING_FOR_AM) {
        return false;
      }
    }
    return true;
  }

  /** Returns how many containers of this size fit now, with a limit per node. */
  int roomFor(int sizeMb, int mostPerNode) {
    long sum = 0;
    for (BenchNode node : nodes) {
      long free = scheduler.getSchedulerNode(node.id).getUnallocatedResource().getMemorySize();
      sum += Math.min(mostPerNode, free / sizeMb);
    }
    return (int) sum;
  }

  /** Checks after the last application that every node is empty, in the books and in reality. */
  void checkEmpty() {
    for (BenchNode node : nodes) {
      Resource used = scheduler.getSchedulerNode(node.id).getAllocatedResource();
      if (node.runningContainers() != 0 || used.getMemorySize() != 0
          || used.getVirtualCores() != 0) {
        throw new Violation("all applications are gone but node " + node.host + " still has "
            + used + " allocated and " + node.runningContainers() + " containers running");
      }
    }
    long allocated = scheduler.getRootQueueMetrics().getAllocatedContainers();
    long pending = scheduler.getRootQueueMetrics().getPendingContainers();
    if (allocated != 0 || pending != 0) {
      throw new Violation("all applications are gone but the root queue's metrics show "
          + allocated + " allocated and " + pending + " pending containers");
    }
  }

  private String state() {
    int waiting = 0;
    for (ApplicationMaster master : masters) {
      waiting += master.stage == ApplicationMaster.Stage.WAITING_FOR_AM ? 1 : 0;
    }
    return masters.size() + " applications, " + waiting + " of them without AM, "
        + outstanding() + " containers outstanding, " + started + " started";
  }

  @Override
  public void close() {
    releasing = true;
    harness.close();
  }
}
