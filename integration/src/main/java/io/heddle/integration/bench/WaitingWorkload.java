/*
 * Many applications with pending asks, and only their number varies. Three states of the cluster:
 *
 *   fit    there is room, or soon will be: a fixed number of containers, dealt to all
 *   full   no node has anything free
 *   large  every node has something free, but less than anybody asks for
 *
 * In the last two nothing can be placed and a heartbeat is all that happens; their measurement runs
 * for a stretch of time, since every heartbeat is like the one before. It begins after a round
 * in which schedulers that reserve nodes have made their reservations.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** N applications wait. */
final class WaitingWorkload implements Workload {
  /** What the cluster can give. */
  enum Room { FIT, FULL, LARGE }

  private static final int NODES = 250;
  private static final int LEAST_HEARTBEATS = 100;
  private static final int MOST_HEARTBEATS = 20_000;
  private static final long STRETCH_NANOS = 400_000_000L;
  /** More than half a node: at most one of these fits where there is no AM. */
  private static final int HALF_NODE_MB = 17 * 1024;

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
  public Shape shape() {
    return Shape.anywhere(NODES, (room == Room.FIT ? 128 : 32) * 1024);
  }

  @Override
  public Measurement run(Driver driver, boolean warmUp) {
    List<TaskMaster> waiting = new ArrayList<>(applications);
    for (int a = 0; a < applications; a++) {
      waiting.add(waiting(driver.seed, a, warmUp ? quota / 2 : quota));
      driver.submit(waiting.get(a));
    }
    driver.roundsUntil("every AM placed", 200, driver::allRunning);
    return room == Room.FIT ? drain(driver, waiting) : standStill(driver, waiting, warmUp);
  }

  private TaskMaster waiting(long seed, int index, int containers) {
    int tasks = room == Room.FIT ? Math.max(1, containers / applications) : 10;
    // Three sizes in turn, all above what LARGE leaves free.
    int sizeMb = room == Room.LARGE ? (20 + index % 3 * 4) * 1024 : 4096;
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
    fill(driver);
    waiting.forEach(TaskMaster::release);
    int[] settle = {2 * NODES};
    driver.roundsUntil("settled", 3, () -> settle[0]-- == 0);

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

  /** One more application takes the room: all of it, or the better half of every node. */
  private void fill(Driver driver) {
    int sizeMb = room == Room.FULL ? 1024 : HALF_NODE_MB;
    int count = driver.roomFor(sizeMb, room == Room.FULL ? Integer.MAX_VALUE : 1);
    TaskMaster filler = new TaskMaster(applications, driver.seed, new int[] {sizeMb},
        new int[] {count - (room == Room.FULL ? 1 : 0)}, BenchNode.FOREVER, BenchNode.FOREVER,
        false);
    driver.submit(filler);
    driver.roundsUntil("filled", 200, () -> driver.roomFor(sizeMb, 1) == 0);
  }
}
