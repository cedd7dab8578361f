/*
 * The list of workloads. A new workload is one class and one line here.
 */
package io.heddle.integration.bench;

import io.heddle.integration.bench.WaitingWorkload.Room;
import java.util.ArrayList;
import java.util.List;

/** All workloads, in the order of the tables. */
final class Catalogue {
  private Catalogue() {}

  private static List<Workload> full() {
    List<Workload> list = new ArrayList<>();
    list.add(new SteadyWorkload(100, 40_000));
    list.add(new SteadyWorkload(1_000, 60_000));
    list.add(new SteadyWorkload(5_000, 80_000));
    list.add(new MapReduceWorkload(500, 20, 16, 300, 1_100));
    list.add(new ChurnWorkload(2_500, 64));
    addWaiting(list, Room.FIT, 20_000, 10, 100, 1_000, 5_000);
    addWaiting(list, Room.LIMITED, 20_000, 10, 100, 1_000, 5_000);
    addWaiting(list, Room.FULL, 20_000, 10, 1_000, 5_000);
    addWaiting(list, Room.LARGE, 20_000, 10, 1_000, 5_000);
    return list;
  }

  private static List<Workload> quick() {
    List<Workload> list = new ArrayList<>();
    list.add(new SteadyWorkload(100, 10_000));
    list.add(new MapReduceWorkload(200, 20, 16, 60, 260));
    list.add(new ChurnWorkload(400, 64));
    for (Room room : Room.values()) {
      addWaiting(list, room, 5_000, 10, 1_000);
    }
    return list;
  }

  /** Returns the workloads of {@code --api-load}, long enough for thousands of requests. */
  static List<Workload> underApiLoad(boolean quick) {
    List<Workload> list = new ArrayList<>();
    list.add(new SteadyWorkload(300, quick ? 30_000 : 500_000));
    return list;
  }

  private static void addWaiting(
      List<Workload> list, Room room, int containers, int... applications) {
    for (int count : applications) {
      list.add(new WaitingWorkload(room, count, containers));
    }
  }

  /**
   * Returns the workloads that {@code names} lists by name or family, separated by commas; all if
   * null.
   *
   * @throws IllegalArgumentException if a name fits no workload
   */
  static List<Workload> select(boolean quick, String names) {
    List<Workload> all = quick ? quick() : full();
    if (names == null) {
      return all;
    }
    List<Workload> chosen = new ArrayList<>();
    for (String name : names.split(",")) {
      int before = chosen.size();
      for (Workload workload : all) {
        String prefix = name.trim();
        boolean fits = workload.name().equals(prefix) || workload.name().startsWith(prefix + "-");
        if (fits && !chosen.contains(workload)) {
          chosen.add(workload);
        }
      }
      if (chosen.size() == before) {
        throw new IllegalArgumentException("no workload is called '" + name.trim()
            + "'; known are " + names(all));
      }
    }
    return chosen;
  }

  private static String names(List<Workload> workloads) {
    List<String> names = new ArrayList<>();
    for (Workload workload : workloads) {
      names.add(workload.name());
    }
    return String.join(", ", names);
  }
}
