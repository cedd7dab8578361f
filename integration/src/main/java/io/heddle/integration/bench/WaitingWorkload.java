/*
 * Many applications with pending asks; only their number varies. Four states of the cluster:
 *
 *   fit      there is room, or soon will be: a fixed number of containers, shared by all
 *   full     no node has free room
 *   large    every node has free room, but less than any ask
 *   limited  nodes have room for the asks, but every queue is at its limit, so that no scheduler
 *            can reserve a node and stop searching
 *
 * In all states except the first nothing can be placed, and heartbeats are the only work. These are
 * measured for a fixed time, because every heartbeat is like the one before. The measurement begins
 * after a round in which schedulers that reserve nodes have made their reservations.
 *
 * Applications are submitted in groups, each when the one before has its AMs. Some schedulers need
 * milliseconds per heartbeat while thousands wait, which would take most of the bench's time.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A number of waiting applications. */
final class WaitingWorkload implements Workload {
  /** The state of the cluster. */
  enum Room { FIT, FULL, LARGE, LIMITED }

  private static final int NODES = 250;
  private static final int LEAST_HEARTBEATS = 100;
  private static final int MOST_HEARTBEATS = 20_000;
  private static final long STRETCH_NANOS = 400_000_000L;
  /** More than half a node: at most one fits on a node. */
  private static final int HALF_NODE_MB = 17 * 1024;
  private static final int TASK_MB = 4096;
  /** Enough for 5,000 AMs and a little more; four of five nodes stay free. */
  private static final int LIMIT_PERCENT = 20;
  private static final int GROUP = 250;

  private final Room room;
  private final int applications;
  private final int quota;

  WaitingWorkload(Room room, int applications, int quota) {
    this.room = room;
    this.applications = applications;
    this.quota = quota;
  }

  @Override
  public String name() {
    return room.name().toLowerCase(Locale.ROOT) + "-" + applications;
  }

  @Override
  public String description() {
    String waiting = NODES + " nodes, " + applications + " applications with pending asks, ";
    switch (room) {
      case FIT:
        return waiting + "which fit";
      case FULL:
        return waiting + "every node full";
      case LIMITED:
        return waiting + "every queue at its limit";
      default:
        return waiting + "each larger than any free space";
    }
  }

  @Override
  public Unit unit() {
    return room == Room.FIT ? Unit.CONTAINERS : Unit.HEARTBEATS;
  }

  @Override
  public int waitingApplications() {
    return applications;
  }

  @Override
  public int mostRounds() {
    return applications < 5_000 ? Integer.MAX_VALUE : 2;
  }

  @Override
  public Shape shape() {
    int nodeMb = (room == Room.FIT || room == Room.LIMITED ? 128 : 32) * 1024;
    return Shape.limited(NODES, nodeMb, room == Room.LIMITED ? LIMIT_PERCENT : 100);
  }

  @Override
  public Measurement run(Driver driver, boolean warmUp) {
    List<TaskMaster> waiting = new ArrayList<>(applications);
    for (int a = 0; a < applications; a++) {
      waiting.add(waiting(driver.seed, a, warmUp ? quota / 2 : quota));
      driver.submit(waiting.get(a));
      if (a % GROUP == GROUP - 1 || a == applications - 1) {
        driver.roundsUntil("every AM placed", 200, driver::allRunning);
      }
    }
    return room == Room.FIT ? drain(driver, waiting) : standStill(driver, waiting, warmUp);
  }

  private TaskMaster waiting(long seed, int index, int containers) {
    int tasks = room == Room.FIT ? Math.max(1, containers / applications) : 10;
    // Three sizes in turn, all larger than the room that LARGE leaves.
    int sizeMb = room == Room.LARGE ? (20 + index % 3 * 4) * 1024 : TASK_MB;
    return new TaskMaster(index, seed, new int[] {sizeMb}, new int[] {tasks}, 1, 3, false).held();
  }

  private static Measurement drain(Driver driver, List<TaskMaster> waiting) {
    driver.startMeasuring();
    waiting.forEach(TaskMaster::release);
    driver.roundsUntil("every ask satisfied", 2_000, () -> driver.masters.isEmpty());
    Measurement measurement = driver.stopMeasuring();
    driver.checkEmpty();
    return measurement;
  }

  private Measurement standStill(Driver driver, List<TaskMaster> waiting, boolean warmUp) {
    if (room == Room.LIMITED) {
      fillQueues(driver);
    } else {
      fillNodes(driver);
    }
    waiting.forEach(TaskMaster::release);
    driver.beatMasters();
    if (room != Room.LIMITED) {
      // Schedulers reserve nodes in these rounds; a queue at its limit reserves none.
      int[] settle = {NODES};
      driver.roundsUntil("settled", 3, () -> settle[0]-- == 0);
    }

    driver.startMeasuring();
    long stretch = warmUp ? STRETCH_NANOS / 2 : STRETCH_NANOS;
    driver.roundsUntil("measured", 1 + MOST_HEARTBEATS / NODES, () -> {
      long heartbeats = driver.heartbeatsSinceStart();
      return heartbeats >= MOST_HEARTBEATS
          || heartbeats >= LEAST_HEARTBEATS && driver.measuredNanos() >= stretch;
    });
    Measurement measurement = driver.stopMeasuring();
    if (measurement.containers != 0) {
      throw new Violation(measurement.containers + " containers were placed where none fits");
    }
    return measurement;
  }

  /** Fills the nodes with one more application: completely, or more than half of each. */
  private void fillNodes(Driver driver) {
    int sizeMb = room == Room.FULL ? 1024 : HALF_NODE_MB;
    int count = driver.roomFor(sizeMb, room == Room.FULL ? Integer.MAX_VALUE : 1);
    driver.submit(filler(driver, 0, sizeMb, count - (room == Room.FULL ? 1 : 0)));
    driver.roundsUntil("filled", 200, () -> driver.roomFor(sizeMb, 1) == 0);
  }

  /** Fills every queue with one more application, which asks for more than the limit. */
  private void fillQueues(Driver driver) {
    int tasks = (int) (driver.shape.queueLimitMb() / TASK_MB);
    for (int q = 0; q < driver.shape.queues; q++) {
      driver.submit(filler(driver, q, TASK_MB, tasks));
    }
    driver.roundsUntil("every AM placed", 200, driver::allRunning);
    long[] started = {-1};
    int[] quiet = {0};
    driver.roundsUntil("every queue at its limit", 200, () -> {
      quiet[0] = driver.containersSinceStart() == started[0] ? quiet[0] + 1 : 0;
      started[0] = driver.containersSinceStart();
      return quiet[0] > 2 * NODES;
    });
    if (driver.roomFor(TASK_MB, 1) < NODES / 2) {
      throw new Violation("the nodes are full where only the queues should be");
    }
  }

  private TaskMaster filler(Driver driver, int number, int sizeMb, int tasks) {
    return new TaskMaster(applications + number, driver.seed, new int[] {sizeMb},
        new int[] {tasks}, BenchNode.FOREVER, BenchNode.FOREVER, false);
  }
}
