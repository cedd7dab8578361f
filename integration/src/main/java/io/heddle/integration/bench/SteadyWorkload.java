/*
 * Steady packing: a full cluster in which containers of three sizes end and are asked for again.
 * Measures a fixed number of containers placed into freed room.
 */
package io.heddle.integration.bench;

/** Full cluster, constant turnover. */
final class SteadyWorkload implements Workload {
  private static final int[] SIZES_MB = {2048, 4096, 8192};
  private static final int NODE_MEMORY_MB = 64 * 1024;
  /** Containers of the mean size that fill one node. */
  private static final int PER_NODE = 13;
  private static final int APPLICATIONS = 100;

  private final int nodes;
  private final int quota;

  SteadyWorkload(int nodes, int quota) {
    this.nodes = nodes;
    this.quota = quota;
  }

  @Override
  public String name() {
    return "steady-" + nodes;
  }

  @Override
  public String description() {
    return nodes + " nodes, " + APPLICATIONS + " applications, containers end and are replaced";
  }

  @Override
  public Unit unit() {
    return Unit.CONTAINERS;
  }

  @Override
  public Shape shape() {
    return Shape.anywhere(nodes, NODE_MEMORY_MB);
  }

  @Override
  public Measurement run(Driver driver, boolean warmUp) {
    // A quarter more than fits, so that some asks always wait.
    int tasks = Math.max(1, nodes * PER_NODE * 5 / 4 / APPLICATIONS / SIZES_MB.length);
    for (int a = 0; a < APPLICATIONS; a++) {
      driver.submit(new TaskMaster(a, driver.seed, SIZES_MB, new int[] {tasks, tasks, tasks}, 2, 8,
          true));
    }
    driver.roundsUntil("every AM placed", 50, driver::allRunning);
    int[] fill = {nodes * 3};
    driver.roundsUntil("filled", 5, () -> fill[0]-- == 0);

    int goal = warmUp ? quota / 3 : quota;
    driver.startMeasuring();
    driver.roundsUntil("placed " + goal + " containers", 20_000,
        () -> driver.containersSinceStart() >= goal);
    Measurement measurement = driver.stopMeasuring();

    for (ApplicationMaster master : driver.masters) {
      ((TaskMaster) master).stopReplacing();
    }
    driver.roundsUntil("every ask satisfied and every application gone", 2_000,
        () -> driver.masters.isEmpty());
    driver.checkEmpty();
    return measurement;
  }
}
