/*
 * The ResourceManager's part beside a scheduler: NodeManagers, submissions, events, on one thread.
 * Submissions go through Hadoop's own RMAppManager, which places them and checks rights and sizes
 * as in a ResourceManager.
 */
package io.heddle.integration.stock;

import io.heddle.integration.bench.BenchApp;
import io.heddle.integration.bench.BenchNode;
import io.heddle.integration.bench.RmHarness;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.event.Event;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.RMAppManager;
import org.apache.hadoop.yarn.server.resourcemanager.RMServerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.event.RMAppAttemptContainerFinishedEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;
import org.apache.hadoop.yarn.util.Records;

/** One scheduler and what a ResourceManager does for it. */
final class Manager implements AutoCloseable {
  static final String RACK = "/rack";
  private static final long CLUSTER_TIMESTAMP = 1_700_000_000_000L;

  final AbstractYarnScheduler<?, ?> scheduler;
  /** The nodes that are in the cluster. */
  final Map<NodeId, BenchNode> nodes = new LinkedHashMap<>();
  private final RmHarness harness;
  private final Submitter submitter;
  private final Listener listener;
  private final boolean countsMemoryOnly;
  private RMAppEvent verdict;

  /** Hears of containers that ended or were killed, after the scheduler. */
  interface Listener {
    void ended(ApplicationAttemptId attempt, ContainerStatus status);
  }

  /** Hadoop's own way from a submission to the scheduler; only its entry is made public. */
  private static final class Submitter extends RMAppManager {
    Submitter(RmHarness harness) {
      super(harness.context, harness.scheduler, null,
          new ApplicationACLsManager(harness.conf), harness.conf);
    }

    @SuppressWarnings("deprecation")
    void submit(ApplicationSubmissionContext submission, String user) throws YarnException {
      submitApplication(submission, System.currentTimeMillis(), user);
    }
  }

  /**
   * Starts a scheduler.
   *
   * @param countsMemoryOnly whether containers may use more vcores than nodes have
   */
  Manager(String scheduler, Configuration conf, boolean countsMemoryOnly, Listener listener)
      throws Exception {
    YarnAuthorizationProvider.destroy();
    harness = new RmHarness(scheduler, conf);
    this.scheduler = harness.scheduler;
    this.countsMemoryOnly = countsMemoryOnly;
    this.listener = listener;
    submitter = new Submitter(harness);
  }

  // ---- Nodes.

  BenchNode join(Step.Join join) {
    BenchNode node = new BenchNode(harness.context, join.host(), RACK,
        Resource.newInstance(join.memoryMb(), join.vcores()));
    if (countsMemoryOnly) {
      node.countMemoryOnly();
    }
    nodes.put(node.id, node);
    harness.context.getRMNodes().put(node.id, node.rmNode);
    node.register();
    drain();
    return node;
  }

  void lose(String host) {
    BenchNode node = nodes.remove(NodeId.newInstance(host, 8041));
    if (node != null) {
      scheduler.handle(new NodeRemovedSchedulerEvent(node.rmNode));
      drain();
      harness.context.getRMNodes().remove(node.id);
    }
  }

  /** Ends processes without a report of their node. */
  void kill(Iterable<Container> containers) {
    for (Container container : containers) {
      BenchNode node = nodes.get(container.getNodeId());
      if (node != null) {
        node.kill(container.getId());
      }
    }
  }

  // ---- Applications.

  /**
   * Submits an application and starts its attempt.
   *
   * @param type of the application
   * @throws YarnException if it is refused
   */
  BenchApp submit(Step.Submit submit, String type) throws YarnException {
    ApplicationSubmissionContext submission = submission(submit, type);
    nextMillisecond();
    verdict = null;
    submitter.submit(submission, submit.user());
    drain();
    ApplicationId id = submission.getApplicationId();
    RMApp placed = harness.context.getRMApps().get(id);
    BenchApp app = new BenchApp(harness.context, harness.conf, submit.user(), placed.getQueue(),
        submission, placed.getAMResourceRequests());
    harness.context.getRMApps().put(id, app);
    scheduler.handle(new AppAddedSchedulerEvent(submit.user(), submission, false,
        submission.getPriority(), placed.getApplicationPlacementContext()));
    drain();
    if (verdict == null || verdict.getType() != RMAppEventType.APP_ACCEPTED) {
      throw new YarnException(verdict == null ? "no answer" : verdict.getDiagnosticMsg());
    }
    ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
    harness.nmTokens.registerApplicationAttempt(attempt);
    scheduler.handle(new AppAttemptAddedSchedulerEvent(attempt, false));
    drain();
    return app;
  }

  /** Waits a moment: stock takes waiting applications of one millisecond in any order. */
  private static void nextMillisecond() {
    long now = System.currentTimeMillis();
    while (System.currentTimeMillis() == now) {
      Thread.onSpinWait();
    }
  }

  private static ApplicationSubmissionContext submission(Step.Submit submit, String type) {
    ApplicationSubmissionContext submission =
        Records.newRecord(ApplicationSubmissionContext.class);
    submission.setApplicationId(ApplicationId.newInstance(CLUSTER_TIMESTAMP, submit.app()));
    submission.setApplicationName(submit.name());
    // ClientRMService does this before anything else sees the submission.
    submission.setQueue(submit.queue() == null ? "default" : submit.queue());
    submission.setApplicationType(type);
    submission.setPriority(Priority.newInstance(submit.priority()));
    submission.setUnmanagedAM(submit.unmanaged());
    submission.setMaxAppAttempts(1);
    submission.setResource(resource(submit.am()));
    submission.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
    return submission;
  }

  static Resource resource(Step.Size size) {
    return Resource.newInstance(size.memoryMb(), size.vcores());
  }

  /** Returns the full path of the queue in which the scheduler has an application. */
  String queueOf(ApplicationId id) {
    SchedulerApplication<?> application = scheduler.getSchedulerApplications().get(id);
    Queue queue = application.getQueue();
    return queue instanceof CSQueue ? ((CSQueue) queue).getQueuePath() : queue.getQueueName();
  }

  /** Ends an application with the containers that it has. */
  void end(BenchApp app, Iterable<Container> containers) {
    ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
    kill(containers);
    scheduler.handle(
        new AppAttemptRemovedSchedulerEvent(attempt, RMAppAttemptState.FINISHED, false));
    drain();
    scheduler.handle(
        new AppRemovedSchedulerEvent(attempt.getApplicationId(), RMAppState.FINISHED));
    drain();
    harness.nmTokens.unregisterApplicationAttempt(attempt);
    harness.context.getRMApps().remove(attempt.getApplicationId());
  }

  /**
   * Rounds asks and checks them, as the ResourceManager's ApplicationMasterService does.
   *
   * @throws YarnException if an ask is refused
   */
  void check(BenchApp app, List<ResourceRequest> asks) throws YarnException {
    String queue = app.getQueue();
    RMServerUtils.normalizeAndValidateRequests(asks,
        scheduler.getMaximumResourceCapability(queue), queue, scheduler, harness.context, false);
  }

  /** Sends a heartbeat of an AM. */
  Allocation allocate(BenchApp app, List<ResourceRequest> asks, List<ContainerId> release) {
    Allocation allocation = scheduler.allocate(app.getCurrentAppAttempt().getAppAttemptId(), asks,
        null, release, Collections.emptyList(), Collections.emptyList(), new ContainerUpdates());
    drain();
    return allocation;
  }

  // ---- Events.

  void drain() {
    Event<?> event;
    while ((event = harness.dispatcher.poll()) != null) {
      if (event instanceof SchedulerEvent) {
        scheduler.handle((SchedulerEvent) event);
      } else if (event instanceof RMNodeEvent) {
        BenchNode node = nodes.get(((RMNodeEvent) event).getNodeId());
        if (node != null) {
          node.rmNode.handle((RMNodeEvent) event);
        }
      } else if (event instanceof RMAppAttemptEvent
          && event.getType() == RMAppAttemptEventType.CONTAINER_FINISHED) {
        RMAppAttemptContainerFinishedEvent end = (RMAppAttemptContainerFinishedEvent) event;
        listener.ended(end.getApplicationAttemptId(), end.getContainerStatus());
      } else if (event instanceof RMAppEvent && (event.getType() == RMAppEventType.APP_ACCEPTED
          || event.getType() == RMAppEventType.APP_REJECTED)) {
        verdict = (RMAppEvent) event;
      }
    }
  }

  @Override
  public void close() {
    harness.close();
  }
}
