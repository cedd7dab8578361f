/*
 * One preset: a calm phase, a storm, and the end of all applications.
 */
package io.heddle.integration.storm;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The storm under one preset, and its findings. */
final class StormRun {
  private static final double SLOW = HeartbeatTimes.SLOW;
  private static final int CHECK_MS = 1000;
  private static final int TICK_MS = 100;
  /** Violations that end the run: later ones are mostly their consequences. */
  private static final int VIOLATIONS_ENOUGH = 5;

  final String preset;
  final History history = new History();
  final HeartbeatTimes calm = new HeartbeatTimes();
  final HeartbeatTimes storm = new HeartbeatTimes();
  private final long seed;
  private final List<StormThread> threads = new ArrayList<>();
  private StormCluster cluster;
  private Books books;

  StormRun(String preset, long seed) {
    this.preset = preset;
    this.seed = seed;
  }

  /** Runs for {@code ms} in total; {@code history} then has the violations. */
  void run(long ms, Path folder) throws Exception {
    Path heddleJson = folder.resolve("heddle.json");
    Files.write(heddleJson, Configurations.begin(preset).getBytes(StandardCharsets.UTF_8));
    try (StormCluster made = new StormCluster(heddleJson.toString(), folder, history)) {
      cluster = made;
      books = new Books(cluster);
      begin(heddleJson);
      try {
        pass(ms / 8, null);
        pass(ms / 4, calm);
        threads.forEach(thread -> thread.storm(true));
        pass(ms / 2, storm);
      } finally {
        cluster.measure(null);
        for (StormThread thread : threads) {
          thread.finish();
        }
      }
      end();
    }
    judge();
  }

  private void begin(Path heddleJson) {
    int half = StormCluster.NODES / 2;
    threads.add(new NodeStorm(0, cluster, cluster.nodes.subList(0, half), seed));
    threads.add(
        new NodeStorm(1, cluster, cluster.nodes.subList(half, StormCluster.NODES), seed));
    for (int n = 0; n < 3; n++) {
      threads.add(new MasterStorm(n, cluster, seed));
    }
    for (int n = 0; n < 2; n++) {
      threads.add(new ClientStorm(n, cluster, heddleJson, preset, seed));
    }
    threads.forEach(Thread::start);
  }

  /** Lets the threads run; ticks, and compares the books every {@link #CHECK_MS}. */
  private void pass(long ms, HeartbeatTimes into) throws InterruptedException {
    cluster.measure(into);
    long end = System.nanoTime() + ms * 1_000_000;
    long check = System.nanoTime() + CHECK_MS * 1_000_000L;
    while (System.nanoTime() < end && history.violations().size() < VIOLATIONS_ENOUGH) {
      cluster.inside(this::tick);
      if (System.nanoTime() > check) {
        check = System.nanoTime() + CHECK_MS * 1_000_000L;
        cluster.alone(books::compare);
      }
      Thread.sleep(TICK_MS);
    }
  }

  private void tick() {
    try {
      cluster.scheduler.update();
    } catch (Throwable e) {
      history.violation("update(): an exception left the scheduler", e);
    }
  }

  /** Ends all applications and checks that nothing of them stays. */
  private void end() {
    Lives lives = new Lives(cluster);
    cluster.alone(books::compare);
    cluster.alone(() -> new ArrayList<>(cluster.apps.values()).forEach(lives::end));
    for (int n = 0; n < 3; n++) {
      cluster.alone(cluster::beatAll);
      cluster.alone(this::tick);
    }
    cluster.alone(books::compareWithNothing);
  }

  private void judge() {
    long failures = cluster.scheduler.inspection().failures();
    if (failures != 0) {
      history.violation(failures + " errors in events; see the log", null);
    }
    if (cluster.scheduler.inspection().engineRebuilds() != 0) {
      history.violation("the engine was rebuilt "
          + cluster.scheduler.inspection().engineRebuilds() + " times", null);
    }
    String slower = calm.slowerIn(storm);
    if (!slower.isEmpty()) {
      history.violation(slower, null);
    }
  }

  /** Returns the ratio of storm to calm of the slowest percent of heartbeats, in CPU time. */
  double ratio() {
    return storm.cpuMicros(SLOW) / Math.max(1, calm.cpuMicros(SLOW));
  }

  /** Returns the same ratio in wall time, which also depends on the machine's other work. */
  double wallRatio() {
    return storm.wallMicros(SLOW) / Math.max(1, calm.wallMicros(SLOW));
  }

  /** Returns a line of the table. */
  String line() {
    long operations = 0;
    for (Map.Entry<Operation, Long> entry : history.counts().entrySet()) {
      operations += entry.getValue();
    }
    return String.format(Locale.ROOT,
        "| %-16s | %9d | %8d | %8d | %7.0f | %7.0f | %5.2f | %5.2f | %3d |", preset, operations,
        calm.size(), storm.size(), calm.cpuMicros(SLOW), storm.cpuMicros(SLOW), ratio(),
        wallRatio(), history.violations().size());
  }
}
