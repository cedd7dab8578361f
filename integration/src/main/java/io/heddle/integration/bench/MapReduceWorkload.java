/*
 * MapReduce-like jobs with locality on a busy cluster: jobs arrive as others end, maps ask for the
 * hosts and racks of three replicas, reduces follow when all maps have run. All schedulers wait for
 * locality: one round of all nodes for the node, one more for the rack. Tasks run for several
 * heartbeats, as on real clusters, so that a job gets its containers over many rounds.
 *
 * Measures from the AMs of the first jobs to the last container. Counts as node-local a map that
 * the job runs on the host of a replica.
 */
package io.heddle.integration.bench;

import java.util.Random;

/** Jobs with locality. */
final class MapReduceWorkload implements Workload {
  private static final int NODE_MEMORY_MB = 8 * 1024;
  private static final int NODES_PER_RACK = 25;
  private static final int ROUND_MS = 60;

  private final int nodes;
  private final int jobs;
  private final int concurrent;
  private final int fewestMaps;
  private final int mostMaps;

  MapReduceWorkload(int nodes, int jobs, int concurrent, int fewestMaps, int mostMaps) {
    this.nodes = nodes;
    this.jobs = jobs;
    this.concurrent = concurrent;
    this.fewestMaps = fewestMaps;
    this.mostMaps = mostMaps;
  }

  @Override
  public String name() {
    return "mapreduce";
  }

  @Override
  public String description() {
    return nodes + " nodes in " + nodes / NODES_PER_RACK + " racks, " + jobs + " jobs, "
        + concurrent + " at a time, maps with 3 replicas, then reduces; delay scheduling on";
  }

  @Override
  public Unit unit() {
    return Unit.CONTAINERS;
  }

  @Override
  public Shape shape() {
    return new Shape(nodes, nodes / NODES_PER_RACK, NODE_MEMORY_MB, Shape.QUEUES, ROUND_MS, true,
        100);
  }

  @Override
  public Measurement run(Driver driver, boolean warmUp) {
    int total = warmUp ? Math.max(1, jobs / 2) : jobs;
    int[] next = {0};
    long[] maps = new long[3];
    while (next[0] < Math.min(total, concurrent)) {
      driver.submit(job(driver, next[0]++, maps));
    }
    driver.startMeasuring();
    driver.roundsUntil("every job done", 2_000, () -> {
      if (next[0] < total && driver.masters.size() < concurrent) {
        driver.submit(job(driver, next[0]++, maps));
      }
      return next[0] == total && driver.masters.isEmpty();
    });
    Measurement measurement = driver.stopMeasuring();
    System.arraycopy(maps, 0, measurement.maps, 0, maps.length);
    driver.checkEmpty();
    return measurement;
  }

  private MapReduceMaster job(Driver driver, int index, long[] placed) {
    long seed = driver.seed;
    int maps = fewestMaps + new Random(seed * 17 + index).nextInt(mostMaps - fewestMaps + 1);
    return new MapReduceMaster(index, seed, maps, Math.max(1, maps / 10), driver.nodes,
        driver.nodesByRack, placed);
  }
}
