/*
 * Plays one scenario on one scheduler: NodeManagers and AMs, on one thread and without real time.
 */
package io.heddle.integration.stock;

import io.heddle.integration.bench.BenchApp;
import io.heddle.integration.bench.BenchNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;

/** One scheduler under one scenario. */
final class Player implements AutoCloseable {
  /** Rounds of heartbeats without a new container after which nothing changes any more. */
  private static final int QUIET_ROUNDS = 2;
  private static final int MOST_ROUNDS = 1000;

  private final Scenario scenario;
  private final Manager manager;
  private final AbstractYarnScheduler<?, ?> scheduler;
  private final Random order;
  private final Picture picture = new Picture();
  private final Map<Integer, Master> masters = new LinkedHashMap<>();
  private int started;
  private boolean paused;

  /**
   * Plays a scenario.
   *
   * @param heartbeats seed of the order in which nodes beat
   */
  static Picture play(Scenario scenario, String scheduler, Configuration conf, long heartbeats) {
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
    conf.setBoolean("heddle.immediate-grants.enable", scenario.grantsAtOnce());
    manager = new Manager(scheduler, conf, scenario.countsMemoryOnly(), this::ended);
    this.scheduler = manager.scheduler;
    order = new Random(heartbeats);
  }

  private void step(Step step) {
    if (step instanceof Step.Join) {
      manager.join((Step.Join) step);
    } else if (step instanceof Step.Lose) {
      manager.lose(((Step.Lose) step).host());
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
    manager.drain();
  }

  // ---- Applications.

  private void submit(Step.Submit submit) {
    String what = "submit " + submit.app() + " " + submit.user() + " into " + submit.queue();
    BenchApp app;
    try {
      app = manager.submit(submit, "YARN");
    } catch (YarnException e) {
      picture.answers.put(what, Picture.REFUSED + ": " + e.getMessage());
      return;
    }
    Master master = new Master(submit, app);
    picture.answers.put(what, queueOf(master));
    masters.put(submit.app(), master);
    if (submit.unmanaged()) {
      ask(master);
    } else {
      allocate(master, app.getAMResourceRequests());
    }
  }

  private String queueOf(Master master) {
    return manager.queueOf(master.attempt.getApplicationId());
  }

  private void end(Master master) {
    if (master == null || master.ended) {
      return;
    }
    master.ended = true;
    manager.end(master.app, master.containers.values());
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
    manager.kill(tasks);
    master.wanted += tasks.size();
    take(master, call(master, Collections.singletonList(row(master, 0)), release));
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
    try {
      manager.check(master.app, asks);
      allocate(master, asks);
      picture.answers.putIfAbsent(what, "taken");
      master.asks = true;
    } catch (YarnException | RuntimeException e) {
      picture.answers.putIfAbsent(what, Picture.REFUSED + ": " + e.getMessage());
    }
  }

  private static ResourceRequest row(Master master, int count) {
    return ResourceRequest.newInstance(Priority.newInstance(1), ResourceRequest.ANY,
        Manager.resource(master.submit.task()), count);
  }

  private void allocate(Master master, List<ResourceRequest> asks) {
    take(master, call(master, asks, Collections.emptyList()));
  }

  private Allocation call(Master master, List<ResourceRequest> asks, List<ContainerId> release) {
    return manager.allocate(master.app, asks, release);
  }

  private void take(Master master, Allocation allocation) {
    boolean amStarted = false;
    for (Container container : allocation.getContainers()) {
      BenchNode node = manager.nodes.get(container.getNodeId());
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
      List<BenchNode> beating = new ArrayList<>(manager.nodes.values());
      Collections.shuffle(beating, order);
      for (BenchNode node : beating) {
        // Stock Fair gives an application nothing that it asked for since the last update.
        scheduler.update();
        node.heartbeat();
        manager.drain();
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

  private void ended(ApplicationAttemptId attempt, ContainerStatus status) {
    ContainerId container = status.getContainerId();
    Master master = masters.get(attempt.getApplicationId().getId());
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
    for (BenchNode node : manager.nodes.values()) {
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
      String queue = queueOf(master);
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
    manager.close();
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
