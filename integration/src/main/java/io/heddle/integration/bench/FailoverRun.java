/*
 * A ResourceManager that becomes active, for one scheduler: it recovers applications that run on
 * all nodes, every node registers at once with its containers, every AM asks again, and nodes
 * report until the first new container is granted. YARN's wait before that, ten seconds by default,
 * is off: it is the same for all schedulers.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;

/** Measures one scheduler. */
final class FailoverRun {
  private static final long CLUSTER_TIMESTAMP = 1_700_000_000_000L;
  private static final int NODE_MEMORY_MB = 64 * 1024;
  /** Containers of an application that ran on, its ApplicationMaster first. */
  private static final int RUNNING = 8;
  private static final int ASKED = 4;
  private static final int TASK_PRIORITY = 10;
  private static final int ROUNDS_MAX = 3;
  private static final Resource SIZE = Resource.newInstance(1024, 1);

  private final SchedulerKind kind;
  private final int nodes;
  private final int applications;
  private final List<BenchApp> apps = new ArrayList<>();
  private final Map<NodeId, BenchNode> nodeById = new HashMap<>();
  private final Stopwatch stopwatch;
  private RmHarness harness;

  FailoverRun(SchedulerKind kind, BenchOptions options, int nodes, int applications) {
    this.kind = kind;
    this.nodes = nodes;
    this.applications = applications;
    this.stopwatch = new Stopwatch(kind, options.cpuClock);
  }

  void run(ObjectNode row) throws Exception {
    row.put("scheduler", kind.label).put("nodes", nodes).put("applications", applications);
    Path folder = Files.createTempDirectory("heddle-bench");
    Shape shape = Shape.anywhere(nodes, NODE_MEMORY_MB);
    Configuration conf = SchedulerKind.common();
    kind.configure(conf, shape, HeddlePolicy.DEFAULT, folder);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, true);
    // The first grant comes with a report, so that what was recovered is counted before.
    conf.setBoolean("heddle.immediate-grants.enable", false);
    harness = new RmHarness(kind.className, conf);
    try {
      harness.context.setWorkPreservingRecoveryEnabled(true);
      harness.context.setSchedulerRecoveryStartAndWaitTime(0);
      // As a later ResourceManager: its containers have other numbers.
      harness.context.setEpoch(1);
      List<List<NMContainerStatus>> reports = prepare(shape);
      long began = stopwatch.now();
      apps.forEach(this::recover);
      long recovered = stopwatch.now();
      int node = 0;
      for (BenchNode one : nodeById.values()) {
        one.register(reports.get(node++));
        drain();
      }
      long registered = stopwatch.now();
      apps.forEach(this::ask);
      long asked = stopwatch.now();
      int heartbeats = untilGranted();
      long granted = stopwatch.now();
      row.put("recover_us", (recovered - began) / 1e3);
      row.put("register_us", (registered - recovered) / 1e3);
      row.put("ask_us", (asked - registered) / 1e3);
      row.put("first_grant_us", (granted - asked) / 1e3);
      row.put("total_us", (granted - began) / 1e3);
      row.put("heartbeats", heartbeats);
    } finally {
      harness.close();
      FileUtil.fullyDelete(folder.toFile());
    }
  }

  /** Makes applications, nodes and what each node reports. */
  private List<List<NMContainerStatus>> prepare(Shape shape) {
    List<List<NMContainerStatus>> reports = new ArrayList<>();
    List<NodeId> ids = new ArrayList<>();
    for (int n = 0; n < nodes; n++) {
      BenchNode node = new BenchNode(harness.context, Driver.address(n),
          "/rack-" + n % shape.racks, Resource.newInstance(NODE_MEMORY_MB, NODE_MEMORY_MB / 1024));
      nodeById.put(node.id, node);
      harness.context.getRMNodes().put(node.id, node.rmNode);
    }
    nodeById.keySet().forEach(id -> {
      ids.add(id);
      reports.add(new ArrayList<>());
    });
    for (int a = 0; a < applications; a++) {
      ApplicationId id = ApplicationId.newInstance(CLUSTER_TIMESTAMP, a + 1);
      ResourceRequest amAsk = ApplicationMaster.row(
          ApplicationMaster.AM_PRIORITY, ResourceRequest.ANY, SIZE, 1);
      String queue = "root." + Shape.queueName(a % shape.queues);
      BenchApp app = new BenchApp(id, harness.context, harness.conf, "user" + a % shape.queues,
          queue, "YARN", amAsk);
      for (int c = 0; c < RUNNING; c++) {
        int at = (int) ((a * 7_919L + c * 104_729L) % nodes);
        ContainerId container = ContainerId.newContainerId(
            app.getCurrentAppAttempt().getAppAttemptId(), c + 1);
        Priority priority = Priority.newInstance(
            c == 0 ? ApplicationMaster.AM_PRIORITY : TASK_PRIORITY);
        reports.get(at).add(NMContainerStatus.newInstance(
            container, 0, ContainerState.RUNNING, SIZE, "", 0, priority, 0));
        Container ran = Container.newInstance(container, ids.get(at), "", SIZE, priority, null);
        nodeById.get(ids.get(at)).launch(ran, BenchNode.FOREVER);
        if (c == 0) {
          app.setMasterContainer(ran);
        }
      }
      apps.add(app);
      harness.context.getRMApps().put(id, app);
    }
    return reports;
  }

  private void recover(BenchApp app) {
    String queue = app.getQueue();
    handle(new AppAddedSchedulerEvent(app.getApplicationId(), queue, app.getUser(), true, null,
        Priority.newInstance(0), new ApplicationPlacementContext(queue)));
    drain();
    harness.nmTokens.registerApplicationAttempt(app.getCurrentAppAttempt().getAppAttemptId());
    handle(new AppAttemptAddedSchedulerEvent(
        app.getCurrentAppAttempt().getAppAttemptId(), false, true));
    drain();
  }

  private void ask(BenchApp app) {
    harness.scheduler.allocate(app.getCurrentAppAttempt().getAppAttemptId(),
        Collections.singletonList(
            ApplicationMaster.row(TASK_PRIORITY, ResourceRequest.ANY, SIZE, ASKED)), null,
        Collections.emptyList(), Collections.emptyList(), Collections.emptyList(),
        new ContainerUpdates());
    drain();
  }

  /** Returns the number of heartbeats before the first new container. */
  private int untilGranted() {
    long before = harness.scheduler.getRootQueueMetrics().getAllocatedContainers();
    if (before != (long) applications * RUNNING) {
      throw new Violation("recovered " + before + " containers of "
          + applications * RUNNING);
    }
    // The work of its update thread, which Fair needs before the first grant.
    harness.scheduler.update();
    int heartbeats = 0;
    for (int round = 0; round < ROUNDS_MAX; round++) {
      for (BenchNode node : nodeById.values()) {
        node.heartbeat();
        drain();
        heartbeats++;
        if (harness.scheduler.getRootQueueMetrics().getAllocatedContainers() > before) {
          return heartbeats;
        }
      }
    }
    throw new Violation("granted nothing in " + heartbeats + " heartbeats");
  }

  private void handle(SchedulerEvent event) {
    harness.scheduler.handle(event);
  }

  private void drain() {
    harness.dispatcher.drain(this::handle, nodeById, event -> {});
  }
}
