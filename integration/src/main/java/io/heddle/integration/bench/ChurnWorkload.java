/*
 * Churn of whole jobs: small jobs come, get an AM, run a few containers and end, as fast as the
 * cluster serves them. Measures from the first submission to the last removal.
 */
package io.heddle.integration.bench;

/** Many short jobs. */
final class ChurnWorkload implements Workload {
  private static final int NODES = 200;
  private static final int NODE_MEMORY_MB = 32 * 1024;

  private final int jobs;
  private final int concurrent;

  ChurnWorkload(int jobs, int concurrent) {
    this.jobs = jobs;
    this.concurrent = concurrent;
  }

  @Override
  public String name() {
    return "churn";
  }

  @Override
  public String description() {
    return NODES + " nodes, " + jobs + " jobs of 4 to 12 containers, " + concurrent + " at a time";
  }

  @Override
  public Unit unit() {
    return Unit.CONTAINERS;
  }

  @Override
  public Shape shape() {
    return Shape.anywhere(NODES, NODE_MEMORY_MB);
  }

  @Override
  public Measurement run(Driver driver, boolean warmUp) {
    int total = warmUp ? Math.max(1, jobs / 3) : jobs;
    int[] next = {0};
    driver.startMeasuring();
    driver.roundsUntil("every job done", 20_000, () -> {
      if (next[0] < total && driver.masters.size() < concurrent) {
        driver.submit(job(driver.seed, next[0]++));
      }
      return next[0] == total && driver.masters.isEmpty();
    });
    Measurement measurement = driver.stopMeasuring();
    driver.checkEmpty();
    return measurement;
  }

  private static TaskMaster job(long seed, int index) {
    int[] none = {0, 0};
    int small = new TaskMaster(index, seed, new int[] {2048, 4096}, none, 1, 1, false)
        .spread(-1, 2, 6);
    return new TaskMaster(index, seed, new int[] {2048, 4096}, new int[] {small, small}, 1, 2,
        false);
  }
}
