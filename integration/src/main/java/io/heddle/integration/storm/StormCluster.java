/*
 * A ResourceManager reduced to the parts that a scheduler uses (RmHarness), with labels, a store
 * for priorities, nodes that come and go, and the dispatcher's thread. All operations of the storm
 * enter the scheduler through here.
 */
package io.heddle.integration.storm;

import com.sun.management.ThreadMXBean;
import io.heddle.integration.bench.RmHarness;
import io.heddle.yarn.HeddleScheduler;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.Uninterruptibles;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.NodesListManager;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.event.RMAppAttemptContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/** The cluster of one preset. */
final class StormCluster implements AutoCloseable {
  static final String LABEL = "gpu";
  static final int NODES = 24;
  private static final int RACKS = 4;
  private static final long CLUSTER_TIMESTAMP = 1_700_000_000_000L;

  final RmHarness harness;
  final HeddleScheduler scheduler;
  final RMNodeLabelsManager labels;
  final History history;
  final List<StormNode> nodes = new ArrayList<>();
  /** Applications that have not ended. */
  final Map<ApplicationId, StormApp> apps = new ConcurrentHashMap<>();
  private final Map<NodeId, StormNode> nodesById = new ConcurrentHashMap<>();
  // Locked for reading by operations, for writing while the books are compared.
  private final ReentrantReadWriteLock gate = new ReentrantReadWriteLock(true);
  private final ThreadMXBean clock = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final Thread dispatching = new Thread(this::dispatch, "events");
  private final NullRMStateStore store = new NullRMStateStore();
  private volatile HeartbeatTimes times;
  private volatile boolean closing;
  private int submitted;

  StormCluster(String heddleJson, Path folder, History history) throws Exception {
    this.history = history;
    harness = new RmHarness(HeddleScheduler.class.getName(), configuration(heddleJson, folder));
    scheduler = (HeddleScheduler) harness.scheduler;
    labels = harness.context.getNodeLabelManager();
    labels.setRMContext(harness.context);
    labels.addToCluserNodeLabels(Collections.singleton(NodeLabel.newInstance(LABEL)));
    NodesListManager list = new NodesListManager(harness.context);
    list.init(harness.conf);
    harness.context.setNodes(list);
    store.init(harness.conf);
    store.setRMDispatcher(harness.dispatcher);
    harness.context.setStateStore(store);
    for (int n = 0; n < NODES; n++) {
      // Addresses, so that making tokens needs no DNS.
      StormNode node =
          new StormNode(harness.context, "10.0.0." + (n + 1), "/rack-" + n % RACKS);
      nodes.add(node);
      nodesById.put(node.id, node);
      node.register();
    }
    dispatching.setDaemon(true);
    dispatching.start();
  }

  private static Configuration configuration(String heddleJson, Path folder) {
    Configuration conf = new YarnConfiguration();
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 256);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, 128 * 1024);
    conf.setInt(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_VCORES, 256);
    conf.setInt(YarnConfiguration.MAX_CLUSTER_LEVEL_APPLICATION_PRIORITY, 10);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NODE_LABELS_ENABLED, true);
    conf.set(YarnConfiguration.FS_NODE_LABELS_STORE_ROOT_DIR,
        folder.resolve("labels").toUri().toString());
    conf.set("heddle.config.file", heddleJson);
    // The storm's own thread ticks, so that it can pause everything to compare the books.
    conf.setInt(HeddleScheduler.TICK_PROPERTY, Integer.MAX_VALUE);
    conf.setLong(HeddleScheduler.AUDIT_PROPERTY, 250);
    return conf;
  }

  /** Measures all further heartbeats into these times; null ends that. */
  void measure(HeartbeatTimes into) {
    times = into;
  }

  /** Runs an operation; the books are not compared meanwhile. */
  void inside(Runnable operation) {
    gate.readLock().lock();
    try {
      operation.run();
    } finally {
      gate.readLock().unlock();
    }
  }

  /** Runs a check while nothing else happens and no event waits. */
  void alone(Runnable check) {
    gate.writeLock().lock();
    try {
      drain();
      check.run();
    } finally {
      gate.writeLock().unlock();
    }
  }

  /** Calls the scheduler; any exception that its interface does not declare is a violation. */
  <T> T call(Operation operation, Callable<T> entry) {
    try {
      return entry.call();
    } catch (YarnException | IOException e) {
      return null;
    } catch (Throwable e) {
      history.violation(operation + ": an exception left the scheduler", e);
      return null;
    }
  }

  /** Posts an event to the dispatcher, as the ResourceManager's parts do. */
  @SuppressWarnings("unchecked")
  void post(Event<?> event) {
    harness.dispatcher.getEventHandler().handle(event);
  }

  /** Sends an event to the scheduler directly, without the dispatcher. */
  void handle(SchedulerEvent event) {
    try {
      scheduler.handle(event);
    } catch (Throwable e) {
      history.violation("handle(" + event.getType() + "): an exception left the scheduler", e);
    }
  }

  /** Returns whether so many events wait that threads should pause. */
  boolean isBehind() {
    return harness.dispatcher.size() > 100;
  }

  synchronized ApplicationId nextApplicationId() {
    return ApplicationId.newInstance(CLUSTER_TIMESTAMP, ++submitted);
  }

  /** Sends a heartbeat of every node, in which all its containers end. */
  void beatAll() {
    for (StormNode node : nodes) {
      if (node.isMember()) {
        node.beat(new Random(0), true, "");
      }
    }
  }

  // ---- The dispatcher.

  private void dispatch() {
    while (!closing) {
      try {
        inside(this::dispatchSome);
        if (harness.dispatcher.size() == 0) {
          Thread.sleep(1);
        }
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void dispatchSome() {
    for (int n = 0; n < 20; n++) {
      Event<?> event = harness.dispatcher.poll();
      if (event == null) {
        return;
      }
      route(event);
    }
  }

  private void drain() {
    Event<?> event;
    while ((event = harness.dispatcher.poll()) != null) {
      route(event);
    }
  }

  private void route(Event<?> event) {
    if (event instanceof SchedulerEvent) {
      scheduled((SchedulerEvent) event);
    } else if (event instanceof RMNodeEvent) {
      RMNode node = harness.context.getRMNodes().get(((RMNodeEvent) event).getNodeId());
      StormNode known = nodesById.get(((RMNodeEvent) event).getNodeId());
      if (node != null && known != null) {
        known.rmNode().handle((RMNodeEvent) event);
      }
    } else if (event instanceof RMAppAttemptEvent) {
      attemptEvent((RMAppAttemptEvent) event);
    } else if (event instanceof RMAppEvent) {
      appEvent((RMAppEvent) event);
    } else if (event instanceof Later) {
      ((Later) event).run();
    }
  }

  private void scheduled(SchedulerEvent event) {
    HeartbeatTimes into = times;
    if (into == null || !event.getType().name().equals("NODE_UPDATE")) {
      handle(event);
      return;
    }
    long wall = System.nanoTime();
    long cpu = clock.getCurrentThreadCpuTime();
    handle(event);
    into.add(clock.getCurrentThreadCpuTime() - cpu, System.nanoTime() - wall);
  }

  private void attemptEvent(RMAppAttemptEvent event) {
    StormApp app = apps.get(event.getApplicationAttemptId().getApplicationId());
    if (app == null) {
      return;
    }
    if (event.getType() == RMAppAttemptEventType.ATTEMPT_ADDED) {
      app.known = event.getApplicationAttemptId();
    } else if (event.getType() == RMAppAttemptEventType.CONTAINER_FINISHED) {
      app.ended(((RMAppAttemptContainerFinishedEvent) event).getContainerStatus()
          .getContainerId());
    }
  }

  private void appEvent(RMAppEvent event) {
    StormApp app = apps.get(event.getApplicationId());
    if (app != null && event.getType() == RMAppEventType.APP_ACCEPTED) {
      app.answer = StormApp.Answer.ACCEPTED;
    } else if (app != null && event.getType() == RMAppEventType.APP_REJECTED) {
      app.answer = StormApp.Answer.REJECTED;
    }
  }

  /** Runs something after all events posted so far. */
  void later(Runnable what) {
    post(new Later(what));
  }

  private static final class Later
      extends org.apache.hadoop.yarn.event.AbstractEvent<Later.Type> {
    enum Type { LATER }

    private final Runnable what;

    Later(Runnable what) {
      super(Type.LATER);
      this.what = what;
    }

    void run() {
      what.run();
    }
  }

  @Override
  public void close() {
    closing = true;
    Uninterruptibles.joinUninterruptibly(dispatching);
    harness.close();
    store.stop();
  }
}
