/*
 * Plays a case on one scheduler in virtual time: a round is a second, in which every node reports
 * and every AM beats once, in an order that the seed determines. Heddle's engine and the scheduler
 * see the same clock.
 */
package io.heddle.integration.stock;

import io.heddle.integration.bench.BenchApp;
import io.heddle.integration.bench.BenchNode;
import io.heddle.yarn.engine.EngineClock;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** One scheduler through one case. */
final class Rounds implements AutoCloseable {
  private static final long ROUND_MS = 1000;
  /** Submissions come first in a round, and each at a time of its own. */
  private static final long SUBMISSIONS_MS = 400;

  private final SmallCluster cluster;
  private final Manager manager;
  private final Figures figures;
  private final Map<ApplicationAttemptId, Master> masters = new LinkedHashMap<>();
  private final List<BenchNode> nodes = new ArrayList<>();
  private final Random order;
  private final long beganMs = Time.monotonicNow();
  private long nowMs = beganMs;
  private int round;

  /** Plays a case on the scheduler of this class. */
  static Figures play(SmallCluster cluster, String scheduler, Configuration conf)
      throws Exception {
    try (Rounds rounds = new Rounds(cluster, scheduler, conf)) {
      rounds.play();
      return rounds.figures;
    } finally {
      EngineClock.follow(null);
    }
  }

  private Rounds(SmallCluster cluster, String scheduler, Configuration conf) throws Exception {
    this.cluster = cluster;
    figures = new Figures(cluster);
    order = new Random(cluster.seed);
    EngineClock.follow(() -> nowMs);
    manager = new Manager(scheduler, conf, false, this::ended);
    manager.scheduler.setClock(() -> nowMs);
    cluster.nodes.forEach(join -> nodes.add(manager.join(join)));
  }

  private void play() throws YarnException {
    int submitted = 0;
    for (round = 0; round < cluster.rounds() && !figures.allEnded(); round++) {
      nowMs = beganMs + ROUND_MS * round;
      while (submitted < cluster.jobs.size() && cluster.jobs.get(submitted).round() <= round) {
        nowMs += SUBMISSIONS_MS / cluster.jobs.size();
        submit(submitted++);
      }
      round();
      compareNodes();
    }
  }

  private void submit(int number) throws YarnException {
    SmallCluster.Job job = cluster.jobs.get(number);
    Master master = new Master(number, job, manager.submit(job.submit(), "MAPREDUCE"));
    masters.put(master.app.getCurrentAppAttempt().getAppAttemptId(), master);
    master.beat(master.app.getAMResourceRequests());
  }

  private void round() throws YarnException {
    List<BenchNode> reporting = new ArrayList<>(nodes);
    Collections.shuffle(reporting, order);
    List<Master> beating = new ArrayList<>(masters.values());
    Collections.shuffle(beating, order);
    int beaten = 0;
    for (int n = 0; n < reporting.size(); n++) {
      nowMs = beganMs + ROUND_MS * round + SUBMISSIONS_MS
          + (ROUND_MS - SUBMISSIONS_MS) * n / reporting.size();
      if (n == 0 || n == reporting.size() / 2) {
        // The schedulers' own threads do it every half second.
        manager.scheduler.update();
        manager.drain();
      }
      reporting.get(n).heartbeat();
      manager.drain();
      for (; beaten < beating.size() * (n + 1) / reporting.size(); beaten++) {
        beating.get(beaten).beat();
      }
    }
  }

  /** Compares the use of equal nodes. */
  private void compareNodes() {
    Map<Long, List<Double>> parts = new HashMap<>();
    for (BenchNode node : nodes) {
      SchedulerNode there = manager.scheduler.getSchedulerNode(node.id);
      long has = there.getTotalResource().getMemorySize();
      parts.computeIfAbsent(has, size -> new ArrayList<>())
          .add((double) there.getAllocatedResource().getMemorySize() / has);
    }
    for (List<Double> equal : parts.values()) {
      if (equal.size() > 1 && Collections.max(equal) > 0) {
        figures.spreads += Collections.max(equal) - Collections.min(equal);
        figures.compared++;
      }
    }
  }

  private void ended(ApplicationAttemptId attempt, ContainerStatus status) {
    Master master = masters.get(attempt);
    if (master != null) {
      master.ended(status);
    }
  }

  @Override
  public void close() {
    manager.close();
  }

  /** A task and the places of its input. */
  private static final class Task {
    final int length;
    final List<String> hosts;
    boolean waits = true;

    Task(int length, List<String> hosts) {
      this.length = length;
      this.hosts = hosts;
    }
  }

  /**
   * An AM such as MapReduce's: asks for the tasks of a phase by host, by rack and anywhere, gives a
   * container to a task with data there if it has one, and lowers that task's rows.
   */
  private final class Master {
    final int number;
    final SmallCluster.Job job;
    final BenchApp app;
    private final Map<ContainerId, Container> containers = new LinkedHashMap<>();
    private final Map<ContainerId, Task> running = new HashMap<>();
    private final Map<String, Deque<Task>> byHost = new HashMap<>();
    private final Deque<Task> all = new ArrayDeque<>();
    private final Map<String, Integer> rows = new LinkedHashMap<>();
    private final Set<String> changed = new LinkedHashSet<>();
    private ContainerId amContainer;
    private int phase = -1;
    private int waiting;

    Master(int number, SmallCluster.Job job, BenchApp app) {
      this.number = number;
      this.job = job;
      this.app = app;
    }

    /** Pulls what was granted, then tells what has changed. */
    void beat() throws YarnException {
      beat(Collections.emptyList());
      if (amContainer == null) {
        return;
      }
      while (waiting == 0 && running.isEmpty()) {
        if (phase + 1 == job.phases().size()) {
          masters.values().remove(this);
          manager.end(app, containers.values());
          figures.ended(number, round);
          return;
        }
        begin(job.phases().get(++phase));
      }
      if (!changed.isEmpty()) {
        List<ResourceRequest> asks = asks();
        manager.check(app, asks);
        beat(asks);
      }
    }

    private void begin(SmallCluster.Phase next) {
      for (int task = 0; task < next.lengths().size(); task++) {
        add(new Task(next.lengths().get(task), next.hosts().get(task)));
      }
    }

    private void add(Task task) {
      all.add(task);
      task.waits = true;
      waiting++;
      task.hosts.forEach(host ->
          byHost.computeIfAbsent(host, h -> new ArrayDeque<>()).add(task));
      count(task, 1);
    }

    private void count(Task task, int change) {
      task.hosts.forEach(host -> count(host, change));
      if (!task.hosts.isEmpty()) {
        count(Manager.RACK, change);
      }
      count(ResourceRequest.ANY, change);
    }

    private void count(String place, int change) {
      rows.merge(place, change, Integer::sum);
      changed.add(place);
    }

    private List<ResourceRequest> asks() {
      SmallCluster.Phase now = job.phases().get(phase);
      Resource size = Manager.resource(now.size());
      List<ResourceRequest> asks = new ArrayList<>();
      for (String place : changed) {
        asks.add(ResourceRequest.newInstance(Priority.newInstance(now.priority()), place,
            Resource.newInstance(size), rows.get(place)));
      }
      changed.clear();
      return asks;
    }

    void beat(List<ResourceRequest> asks) {
      for (Container container
          : manager.allocate(app, asks, Collections.emptyList()).getContainers()) {
        BenchNode node = manager.nodes.get(container.getNodeId());
        containers.put(container.getId(), container);
        if (amContainer == null) {
          amContainer = container.getId();
          app.setMasterContainer(container);
          node.launch(container, BenchNode.FOREVER);
        } else {
          start(container, node);
        }
      }
    }

    private void start(Container container, BenchNode node) {
      Task task = next(byHost.get(node.host));
      task = task != null ? task : next(all);
      if (task == null) {
        throw new IllegalStateException(container + " serves no ask of job " + number);
      }
      task.waits = false;
      waiting--;
      count(task, -1);
      running.put(container.getId(), task);
      boolean endless = task.length == SmallCluster.ENDLESS;
      node.launch(container, endless ? BenchNode.FOREVER : task.length - 1);
      figures.lastStart = endless ? figures.lastStart : round;
      figures.withData += task.hosts.isEmpty() ? 0 : 1;
      figures.atData += task.hosts.contains(node.host) ? 1 : 0;
    }

    private Task next(Deque<Task> tasks) {
      while (tasks != null && !tasks.isEmpty()) {
        Task task = tasks.poll();
        if (task.waits) {
          return task;
        }
      }
      return null;
    }

    void ended(ContainerStatus status) {
      Container container = containers.remove(status.getContainerId());
      if (container == null) {
        return;
      }
      Task task = running.remove(status.getContainerId());
      if (status.getExitStatus() != ContainerExitStatus.SUCCESS) {
        figures.kills++;
        manager.kill(List.of(container));
        if (task == null) {
          throw new IllegalStateException("the AM of job " + number + " was killed: " + status);
        }
        add(task);
      }
    }
  }
}
