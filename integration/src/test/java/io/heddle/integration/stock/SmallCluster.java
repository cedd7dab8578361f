/*
 * A small cluster with its defaults and what is submitted to it: 1 to 12 nodes of 4 to 64 GB, 1 to
 * 8 users without any configuration, and MapReduce-like jobs. In a round every node reports once.
 *
 * Nodes have a virtual core for each GB, and containers one core: the Capacity Scheduler's default
 * calculator counts memory alone, the others vcores too, and this compares what both count.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.List;

/** One random case. */
final class SmallCluster {
  /** The length of containers of a service, which never end. */
  static final int ENDLESS = Integer.MAX_VALUE;
  /** Jobs with at most this many tasks are small. */
  static final int SMALL_TASKS = 4;

  private static final int MAP_PRIORITY = 20;
  private static final int REDUCE_PRIORITY = 10;
  /** Largest number of tasks of all jobs, so that a case takes tenths of a second. */
  private static final int TASKS_MAX = 600;

  final long seed;
  final List<Step.Join> nodes = new ArrayList<>();
  final List<Job> jobs = new ArrayList<>();
  private final Dice dice;
  private final int totalGb;
  /** The largest container that every node holds. */
  private final int mostGb;
  private final boolean hints;
  /** Whether many tasks name the same few hosts. */
  private final boolean hot;
  private final int longest;
  private final int rounds;
  private int tasks;

  /**
   * A job.
   *
   * @param submit its submission, of which its AM's size is used
   * @param round when it comes
   * @param phases the next begins when the one before has ended
   */
  record Job(Step.Submit submit, int round, List<Phase> phases) {
    int tasks() {
      return phases.stream().mapToInt(phase -> phase.lengths().size()).sum();
    }

    boolean isService() {
      return longest() == ENDLESS;
    }

    boolean isSmall() {
      return !isService() && tasks() <= SMALL_TASKS;
    }

    /** Returns the rounds of its longest task. */
    int longest() {
      return phases.stream().flatMap(phase -> phase.lengths().stream())
          .mapToInt(Integer::intValue).max().orElse(0);
    }

    /** Returns the MB of its tasks, each times its rounds. */
    long work() {
      return phases.stream().mapToLong(phase -> (long) phase.size().memoryMb()
          * phase.lengths().stream().mapToInt(Integer::intValue).sum()).sum();
    }
  }

  /**
   * Tasks of one size and priority.
   *
   * @param lengths in rounds, of each task
   * @param hosts that hold the input of each task; empty if that does not matter
   */
  record Phase(int priority, Step.Size size, List<Integer> lengths, List<List<String>> hosts) {}

  /** Returns the case of a seed. */
  static SmallCluster of(long seed) {
    return new SmallCluster(seed);
  }

  private SmallCluster(long seed) {
    this.seed = seed;
    dice = new Dice(seed);
    boolean equal = dice.chance(0.6);
    int count = dice.between(1, 12);
    int gb = nodeGb();
    int sum = 0;
    int least = gb;
    for (int n = 0; n < count; n++) {
      nodes.add(new Step.Join("10.0.0." + (n + 1), gb * 1024, gb));
      sum += gb;
      least = Math.min(least, gb);
      gb = equal ? gb : nodeGb();
    }
    totalGb = sum;
    mostGb = Math.min(4, least / 2);
    hints = dice.chance(0.4);
    hot = dice.chance(0.3);
    submitAll();
    List<Job> ending = new ArrayList<>(jobs);
    ending.removeIf(Job::isService);
    longest = ending.stream().mapToInt(Job::longest).max().orElse(0);
    long work = ending.stream().mapToLong(Job::work).sum();
    int last = jobs.get(jobs.size() - 1).round();
    rounds = (int) Math.min(4000, 50 + last + 6L * longest + 4 * work / (1024L * totalGb));
  }

  private int nodeGb() {
    return dice.of(4, 8, 8, 16, 16, 32, 64);
  }

  private void submitAll() {
    int users = dice.between(1, 8);
    int count = dice.between(2, 20);
    int apart = dice.of(0, 0, 1, dice.between(2, 10));
    boolean services = dice.chance(0.25);
    int round = 0;
    for (int app = 1; app <= count && tasks < TASKS_MAX; app++) {
      String user = People.USERS.get(dice.between(0, users - 1));
      boolean service = services && dice.chance(0.2);
      Step.Size am = new Step.Size(1024 * dice.of(1, 1, Math.min(2, mostGb)), 1);
      List<Phase> phases = service ? service() : phases();
      Job job = new Job(new Step.Submit(app, user, null, service ? "service" : "job", false, am,
          am, 0, 0), round, phases);
      tasks += job.tasks();
      jobs.add(job);
      round += apart > 1 ? dice.between(0, 2 * apart) : apart;
    }
  }

  /** Containers without an end, on a part of the cluster. */
  private List<Phase> service() {
    int containers = dice.between(1, Math.max(1, totalGb / 8));
    return List.of(phase(MAP_PRIORITY, new Step.Size(1024, 1), containers, ENDLESS, false));
  }

  private List<Phase> phases() {
    int maps;
    if (dice.chance(0.55)) {
      maps = dice.between(1, SMALL_TASKS);
    } else if (dice.chance(0.7)) {
      maps = dice.between(SMALL_TASKS + 1, Math.max(SMALL_TASKS + 2, totalGb / 2));
    } else {
      maps = dice.between(totalGb / 2 + 1, 2 * totalGb);
    }
    maps = Math.min(maps, TASKS_MAX - tasks);
    int reduces = dice.chance(0.6) ? dice.between(0, Math.max(1, maps / 4)) : 0;
    List<Phase> phases = new ArrayList<>();
    phases.add(phase(MAP_PRIORITY, size(), maps, length(), hints && dice.chance(0.7)));
    if (reduces > 0) {
      phases.add(phase(REDUCE_PRIORITY, size(), reduces, length(), false));
    }
    return phases;
  }

  private Step.Size size() {
    return new Step.Size(1024 * Math.min(mostGb, dice.of(1, 1, 1, 2, 2, 3, 4)), 1);
  }

  private int length() {
    return dice.chance(0.15) ? dice.between(40, 120) : dice.between(2, 20);
  }

  private Phase phase(int priority, Step.Size size, int count, int length, boolean hinted) {
    List<Integer> lengths = new ArrayList<>();
    List<List<String>> hosts = new ArrayList<>();
    List<String> all = new ArrayList<>();
    nodes.forEach(node -> all.add(node.host()));
    List<String> holders = hot ? dice.some(dice.between(1, 3), all) : all;
    int replicas = dice.of(1, 3, 3);
    for (int task = 0; task < count; task++) {
      lengths.add(length == ENDLESS ? ENDLESS : Math.max(1, length + dice.between(-1, 1)));
      hosts.add(hinted ? List.copyOf(dice.some(replicas, holders)) : List.of());
    }
    return new Phase(priority, size, lengths, hosts);
  }

  /** Returns the rounds of the longest task that ends. */
  int longest() {
    return longest;
  }

  /**
   * Returns after how many rounds the case is over: four times what its work takes on a full
   * cluster. What has not ended then is stuck.
   */
  int rounds() {
    return rounds;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("seed " + seed + "\n");
    nodes.forEach(node -> text.append(node).append('\n'));
    for (Job job : jobs) {
      text.append("round ").append(job.round()).append(": ").append(job.submit().user())
          .append(" submits ").append(job.submit().app()).append(", AM ")
          .append(job.submit().am().memoryMb()).append(" MB");
      for (Phase phase : job.phases()) {
        text.append("; ").append(phase.lengths().size()).append(" of ")
            .append(phase.size().memoryMb()).append(" MB for ")
            .append(phase.lengths().get(0) == ENDLESS ? "ever" : phase.lengths().get(0) + " rounds")
            .append(phase.hosts().get(0).isEmpty() ? "" : " at " + phase.hosts().get(0));
      }
      text.append('\n');
    }
    return text.toString();
  }
}
