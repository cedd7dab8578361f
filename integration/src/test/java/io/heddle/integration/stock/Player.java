/*
 * Plays one scenario on one scheduler: NodeManagers, AMs and the ResourceManager's part, on one
 * thread and without real time. Submissions go through Hadoop's own RMAppManager, which places them
 * and checks rights and sizes as in a ResourceManager; asks go through RMServerUtils, as in its
 * ApplicationMasterService.
 */
package io.heddle.integration.stock;

import io.heddle.integration.bench.BenchApp;
import io.heddle.integration.bench.BenchNode;
import io.heddle.integration.bench.RmHarness;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
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

/** One scheduler under one scenario. */
final class Player implements AutoCloseable {
  private static final long CLUSTER_TIMESTAMP = 1_700_000_000_000L;
  /** Rounds of heartbeats without a new container after which nothing changes any more. */
  private static final int QUIET_ROUNDS = 2;
  private static final int MOST_ROUNDS = 1000;

  private final Scenario scenario;
  private final RmHarness harness;
  private final AbstractYarnScheduler<?, ?> scheduler;
  private final Submitter submitter;
  private final Random order;
  private final Picture picture = new Picture();
  private final Map<NodeId, BenchNode> nodes = new LinkedHashMap<>();
  private final Map<Integer, Master> masters = new LinkedHashMap<>();
  private RMAppEvent verdict;
  private int started;
  private boolean paused;

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
   * Plays a scenario.
   *
   * @param heartbeats seed of the order in which nodes beat
   */
  static Picture play(Scenario scenario, String scheduler, Configuration conf, long heartbeats) {
    YarnAuthorizationProvider.destroy();
    Player player;
    try {
      player = new Player(scenario, scheduler, conf, heartbeats);
    } catch (Exception e) {
      Picture picture = new Picture();
      picture.failure = "start: " + e;
      for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
        picture.failure += "\n      by " + cause;
      }
      return picture;
    }
    try {
      for (Step step : scenario.steps) {
        player.step(step);
      }
      player.askRights();
    } catch (Exception e) {
      player.picture.failure = "run: " + e + " at " + List.of(e.getStackTrace());
    } finally {
      player.close();
    }
    return player.picture;
  }

  private Player(Scenario scenario, String scheduler, Configuration conf, long heartbeats)
      throws Exception {
    this.scenario = scenario;
    // All asks are there before nodes report, as the stock schedulers see them.
    conf.setBoolean("heddle.immediate-grants.enable", false);
    harness = new RmHarness(scheduler, conf);
    this.scheduler = harness.scheduler;
    submitter = new Submitter(harness);
    order = new Random(heartbeats);
  }

  private void step(Step step) {
    if (step instanceof Step.Join) {
      join((Step.Join) step);
    } else if (step instanceof Step.Lose) {
      lose(((Step.Lose) step).host());
    } else if (step instanceof Step.Submit) {
      submit((Step.Submit) step);
    } else if (step instanceof Step.End) {
      end(masters.get(((Step.End) step).app()));
    } else if (step instanceof Step.Pause) {
      paused = true;
      masters.values().forEach(this::release);
    } else if (step instanceof Step.Resume) {
      settle();
      paused = false;
      masters.values().stream().filter(Master::mayAsk).forEach(this::ask);
    } else {
      settle();
      look(((Step.Look) step).title());
    }
    drain();
  }

  // ---- Nodes.

  private void join(Step.Join join) {
    BenchNode node = new BenchNode(harness.context, join.host(), "/rack",
        Resource.newInstance(join.memoryMb(), join.vcores()));
    if (scenario.countsMemoryOnly()) {
      node.countMemoryOnly();
    }
    nodes.put(node.id, node);
    harness.context.getRMNodes().put(node.id, node.rmNode);
    node.register();
    drain();
  }

  private void lose(String host) {
    BenchNode node = nodes.remove(NodeId.newInstance(host, 8041));
    if (node != null) {
      scheduler.handle(new NodeRemovedSchedulerEvent(node.rmNode));
      drain();
      harness.context.getRMNodes().remove(node.id);
    }
  }

  // ---- Applications.

  private void submit(Step.Submit submit) {
    String what = "submit " + submit.app() + " " + submit.user() + " into " + submit.queue();
    ApplicationSubmissionContext submission = submission(submit);
    nextMillisecond();
    verdict = null;
    try {
      submitter.submit(submission, submit.user());
      drain();
    } catch (YarnException e) {
      picture.answers.put(what, Picture.REFUSED + ": " + e.getMessage());
      return;
    }
    ApplicationId id = submission.getApplicationId();
    RMApp placed = harness.context.getRMApps().get(id);
    BenchApp app = new BenchApp(harness.context, harness.conf, submit.user(), placed.getQueue(),
        submission, placed.getAMResourceRequests());
    harness.context.getRMApps().put(id, app);
    scheduler.handle(new AppAddedSchedulerEvent(submit.user(), submission, false,
        submission.getPriority(), placed.getApplicationPlacementContext()));
    drain();
    if (verdict == null || verdict.getType() != RMAppEventType.APP_ACCEPTED) {
      picture.answers.put(what, Picture.REFUSED + ": "
          + (verdict == null ? "no answer" : verdict.getDiagnosticMsg()));
      return;
    }
    picture.answers.put(what, queueOf(id));
    Master master = new Master(submit, app);
    masters.put(submit.app(), master);
    harness.nmTokens.registerApplicationAttempt(master.attempt);
    scheduler.handle(new AppAttemptAddedSchedulerEvent(master.attempt, false));
    drain();
    if (submit.unmanaged()) {
      ask(master);
    } else {
      allocate(master, app.getAMResourceRequests());
    }
  }

  /** Waits a moment: stock takes waiting applications of one millisecond in any order. */
  private static void nextMillisecond() {
    long now = System.currentTimeMillis();
    while (System.currentTimeMillis() == now) {
      Thread.onSpinWait();
    }
  }

  private ApplicationSubmissionContext submission(Step.Submit submit) {
    ApplicationSubmissionContext submission =
        Records.newRecord(ApplicationSubmissionContext.class);
    submission.setApplicationId(ApplicationId.newInstance(CLUSTER_TIMESTAMP, submit.app()));
    submission.setApplicationName(submit.name());
    // ClientRMService does this before anything else sees the submission.
    submission.setQueue(submit.queue() == null ? "default" : submit.queue());
    submission.setApplicationType("YARN");
    submission.setPriority(Priority.newInstance(submit.priority()));
    submission.setUnmanagedAM(submit.unmanaged());
    submission.setMaxAppAttempts(1);
    submission.setResource(resource(submit.am()));
    submission.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
    return submission;
  }

  private static Resource resource(Step.Size size) {
    return Resource.newInstance(size.memoryMb(), size.vcores());
  }

  /** Returns the full path of the queue in which the scheduler has an application. */
  private String queueOf(ApplicationId id) {
    SchedulerApplication<?> application = scheduler.getSchedulerApplications().get(id);
    Queue queue = application.getQueue();
    return queue instanceof CSQueue ? ((CSQueue) queue).getQueuePath() : queue.getQueueName();
  }

  private void end(Master master) {
    if (master == null || master.ended) {
      return;
    }
    master.ended = true;
    kill(master.containers.values());
    scheduler.handle(
        new AppAttemptRemovedSchedulerEvent(master.attempt, RMAppAttemptState.FINISHED, false));
    drain();
    scheduler.handle(
        new AppRemovedSchedulerEvent(master.attempt.getApplicationId(), RMAppState.FINISHED));
    drain();
    harness.nmTokens.unregisterApplicationAttempt(master.attempt);
    harness.context.getRMApps().remove(master.attempt.getApplicationId());
  }

  /** Ends all containers of an application but its AM, and takes its asks back. */
  private void release(Master master) {
    if (!master.mayAsk()) {
      return;
    }
    List<Container> tasks = new ArrayList<>(master.containers.values());
    tasks.removeIf(container -> container.getId().equals(master.amContainer));
    List<ContainerId> release = new ArrayList<>();
    for (Container container : tasks) {
      release.add(container.getId());
      master.containers.remove(container.getId());
    }
    kill(tasks);
    master.wanted += tasks.size();
    take(master, call(master, Collections.singletonList(row(master, 0)), release));
  }

  private void kill(Iterable<Container> containers) {
    for (Container container : containers) {
      BenchNode node = nodes.get(container.getNodeId());
      if (node != null) {
        node.kill(container.getId());
      }
    }
  }

  // ---- AMs.

  /** Asks for all that is wanted, and notes whether the ask was taken. */
  private void ask(Master master) {
    if (paused) {
      return;
    }
    List<ResourceRequest> asks = new ArrayList<>();
    asks.add(row(master, master.wanted));
    String what = "ask of " + master.submit.app();
    String queue = master.app.getQueue();
    try {
      RMServerUtils.normalizeAndValidateRequests(asks,
          scheduler.getMaximumResourceCapability(queue), queue, scheduler, harness.context, false);
      allocate(master, asks);
      picture.answers.putIfAbsent(what, "taken");
      master.asks = true;
    } catch (YarnException | RuntimeException e) {
      picture.answers.putIfAbsent(what, Picture.REFUSED + ": " + e.getMessage());
    }
  }

  private static ResourceRequest row(Master master, int count) {
    return ResourceRequest.newInstance(Priority.newInstance(1), ResourceRequest.ANY,
        resource(master.submit.task()), count);
  }

  private void allocate(Master master, List<ResourceRequest> asks) {
    take(master, call(master, asks, Collections.emptyList()));
  }

  private Allocation call(Master master, List<ResourceRequest> asks, List<ContainerId> release) {
    Allocation allocation = scheduler.allocate(master.attempt, asks, null, release,
        Collections.emptyList(), Collections.emptyList(), new ContainerUpdates());
    drain();
    return allocation;
  }

  private void take(Master master, Allocation allocation) {
    boolean amStarted = false;
    for (Container container : allocation.getContainers()) {
      BenchNode node = nodes.get(container.getNodeId());
      node.launch(container, BenchNode.FOREVER);
      master.containers.put(container.getId(), container);
      started++;
      if (master.waitsForAm()) {
        master.app.setMasterContainer(container);
        master.amContainer = container.getId();
        amStarted = true;
      } else {
        master.wanted--;
      }
    }
    if (amStarted) {
      ask(master);
    }
  }

  // ---- Time.

  /** Sends heartbeats of all nodes and AMs until nothing changes. */
  private void settle() {
    int quiet = 0;
    for (int round = 0; quiet < QUIET_ROUNDS; round++) {
      if (round == MOST_ROUNDS) {
        throw new IllegalStateException("does not settle in " + round + " rounds");
      }
      int before = started;
      List<BenchNode> beating = new ArrayList<>(nodes.values());
      Collections.shuffle(beating, order);
      for (BenchNode node : beating) {
        // Stock Fair gives an application nothing that it asked for since the last update.
        scheduler.update();
        node.heartbeat();
        drain();
        beatMasters();
      }
      quiet = started == before ? quiet + 1 : 0;
    }
  }

  private void beatMasters() {
    for (Master master : masters.values()) {
      if (master.ended) {
        continue;
      }
      if (master.asksAgain) {
        master.asksAgain = false;
        ask(master);
      } else {
        allocate(master, Collections.emptyList());
      }
    }
  }

  private void drain() {
    Event<?> event;
    while ((event = harness.dispatcher.poll()) != null) {
      if (event instanceof SchedulerEvent) {
        scheduler.handle((SchedulerEvent) event);
      } else if (event instanceof RMNodeEvent) {
        BenchNode node = nodes.get(((RMNodeEvent) event).getNodeId());
        if (node != null) {
          node.rmNode.handle((RMNodeEvent) event);
        }
      } else if (event instanceof RMAppAttemptEvent) {
        attemptEvent((RMAppAttemptEvent) event);
      } else if (event instanceof RMAppEvent && (event.getType() == RMAppEventType.APP_ACCEPTED
          || event.getType() == RMAppEventType.APP_REJECTED)) {
        verdict = (RMAppEvent) event;
      }
    }
  }

  private void attemptEvent(RMAppAttemptEvent event) {
    if (event.getType() != RMAppAttemptEventType.CONTAINER_FINISHED) {
      return;
    }
    ContainerId container =
        ((RMAppAttemptContainerFinishedEvent) event).getContainerStatus().getContainerId();
    Master master = masters.get(event.getApplicationAttemptId().getApplicationId().getId());
    if (master == null || master.ended || master.containers.remove(container) == null) {
      return;
    }
    if (container.equals(master.amContainer)) {
      throw new IllegalStateException("the AM of " + master.attempt + " was killed");
    }
    master.wanted++;
    master.asksAgain = true;
  }

  // ---- What is seen.

  private void look(String title) {
    Picture.View view = new Picture.View(title);
    for (BenchNode node : nodes.values()) {
      Resource has = node.rmNode.getTotalCapability();
      view.capacity =
          view.capacity.plus(new Picture.Amount(has.getMemorySize(), has.getVirtualCores()));
      Resource free = scheduler.getSchedulerNode(node.id).getUnallocatedResource();
      view.rooms.add(new Picture.Amount(free.getMemorySize(), free.getVirtualCores()));
    }
    for (Master master : masters.values()) {
      if (master.ended) {
        continue;
      }
      Resource headroom = call(master, Collections.emptyList(), Collections.emptyList())
          .getResourceLimit();
      if (master.containers.isEmpty()) {
        view.waiting++;
        view.silent += master.waitsForAm() || master.asks && master.wanted > 0 ? 0 : 1;
        continue;
      }
      String queue = queueOf(master.attempt.getApplicationId());
      Picture.Amount use = master.use();
      for (String path = queue; ; path = path.substring(0, path.lastIndexOf('.'))) {
        view.queues.merge(path, use, Picture.Amount::plus);
        view.running.merge(path, 1, Integer::sum);
        if (path.indexOf('.') < 0) {
          break;
        }
      }
      view.users.merge(queue + " " + master.submit.user(), use, Picture.Amount::plus);
      view.running.merge("user " + master.submit.user(), 1, Integer::sum);
      String app = "app " + master.submit.app() + " in " + queue;
      view.headroom.put(app,
          new Picture.Amount(headroom.getMemorySize(), headroom.getVirtualCores()));
      if (master.asks && master.wanted > 0) {
        Step.Size task = master.submit.task();
        view.asks.put(app, new Picture.Amount(task.memoryMb(), task.vcores()));
      }
    }
    picture.views.add(view);
  }

  private void askRights() {
    for (Scenario.Question question : scenario.questions) {
      boolean may = scheduler.checkAccess(
          UserGroupInformation.createRemoteUser(question.user()), question.administer()
              ? QueueACL.ADMINISTER_QUEUE : QueueACL.SUBMIT_APPLICATIONS, question.queue());
      picture.answers.put(question.toString(), may ? "may" : "may not");
    }
  }

  @Override
  public void close() {
    harness.close();
  }

  /** An application's AM. */
  private static final class Master {
    final Step.Submit submit;
    final BenchApp app;
    final ApplicationAttemptId attempt;
    final Map<ContainerId, Container> containers = new LinkedHashMap<>();
    ContainerId amContainer;
    int wanted;
    boolean ended;
    /** Whether an ask was taken. */
    boolean asks;
    /** Set when containers were lost with their node. */
    boolean asksAgain;

    Master(Step.Submit submit, BenchApp app) {
      this.submit = submit;
      this.app = app;
      this.attempt = app.getCurrentAppAttempt().getAppAttemptId();
      this.wanted = submit.count();
    }

    boolean waitsForAm() {
      return !submit.unmanaged() && amContainer == null;
    }

    boolean mayAsk() {
      return !ended && !waitsForAm();
    }

    Picture.Amount use() {
      long memoryMb = 0;
      long vcores = 0;
      for (Container container : containers.values()) {
        memoryMb += container.getResource().getMemorySize();
        vcores += container.getResource().getVirtualCores();
      }
      return new Picture.Amount(memoryMb, vcores);
    }
  }
}
