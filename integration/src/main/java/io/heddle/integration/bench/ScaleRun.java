/*
 * One cluster of `./x bench --scale`: its nodes, twice as many applications of three sizes of
 * tasks, and half as many queues. Each belongs to one user. Submissions made two of five. A tenth
 * of the nodes have one of two labels, and so have the tasks in a tenth of the queues. Tasks live
 * for up to two minutes of heartbeats and are asked for again.
 *
 * Everything that takes the scheduler's lock is called on one thread, so that the time of a call is
 * the longest that the lock can be held by it. Only ScaleWeb's client asks from another.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.Inspection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FileUtil;

/** Measures one size under one policy. */
final class ScaleRun {
  static final int NODES_MIN = 10;
  private static final SchedulerKind KIND = SchedulerKind.HEDDLE_API;
  private static final int NODE_MEMORY_MB = 64 * 1024;
  private static final int[] SIZES_MB = {2048, 4096, 8192};
  /** A tenth more than fits, so that some asks always wait. */
  private static final int[] TASKS = {3, 3, 2};
  private static final int LONGEST_LIFE = 120;
  private static final int ROUNDS_MIN = 20;
  private static final int HEARTBEATS_MIN = 20_000;
  private static final int QUICK_HEARTBEATS_MIN = 1_000;
  /** Ticks after the audit was called for; each compares for a few milliseconds. */
  private static final int AUDIT_TICKS = 200;
  /** The longest of these calls counts. */
  private static final int CALLS = 3;

  private final int nodes;
  private final HeddlePolicy policy;
  private final BenchOptions options;
  private final ObjectNode row;

  /** @param row gets the figures */
  ScaleRun(int nodes, HeddlePolicy policy, BenchOptions options, ObjectNode row) {
    this.nodes = nodes;
    this.policy = policy;
    this.options = options;
    this.row = row;
  }

  void run() throws Exception {
    int queues = Math.max(1, nodes / 2);
    int applications = 2 * nodes;
    row.put("policy", policy.label).put("nodes", nodes).put("applications", applications);
    Shape shape = Shape.large(nodes, NODE_MEMORY_MB, queues);
    row.put("queues", queues).put("users_own_queues", shape.usersOwn);
    row.put("labelled_nodes",
        IntStream.range(0, nodes).filter(n -> shape.label(n) != null).count());
    Path folder = Files.createTempDirectory("heddle-bench");
    Memory before = Memory.now();
    RmHarness harness = new RmHarness(KIND, shape, policy, folder);
    Memory started = Memory.now();
    // Others come later, with their users' applications.
    cost("queue", before, started, policy.keepsAccounts ? queues : queues - shape.usersOwn);
    try (Driver driver = new Driver(KIND, harness, shape, options.seed, options.cpuClock)) {
      Memory registered = Memory.now();
      cost("node", started, registered, nodes);
      row.put("register_max_us", driver.joining.otherEventLongestNanos / 1e3);
      List<TaskMaster> masters = new ArrayList<>();
      driver.startMeasuring();
      for (int a = 0; a < applications; a++) {
        masters.add(new TaskMaster(a, driver.seed, SIZES_MB, TASKS, 1, LONGEST_LIFE, true)
            .labelled(shape.label(a % queues)).held());
        driver.submit(masters.get(a));
      }
      row.put("submit_max_us", driver.stopMeasuring().otherEventLongestNanos / 1e3);
      driver.roundsUntil("every AM placed", 200, driver::allRunning);
      Memory submitted = Memory.now();
      cost("application", registered, submitted, applications);
      masters.forEach(TaskMaster::release);
      driver.beatMasters();
      cost("ask", submitted, Memory.now(), (long) applications * TASKS.length);
      int[] fill = {nodes * ROUNDS_MIN / 2};
      driver.roundsUntil("filled", ROUNDS_MIN, () -> fill[0]-- == 0);
      steady(driver);
      HeddleScheduler scheduler = (HeddleScheduler) harness.scheduler;
      operators(driver, scheduler, harness);
      new ScaleWeb(driver, scheduler, options.quick).measure(row);
      checkBooks(scheduler.inspection());
    } finally {
      FileUtil.fullyDelete(folder.toFile());
    }
  }

  /** Notes what each of {@code count} objects costs, with YARN's and the bench's own records. */
  private void cost(String what, Memory before, Memory after, long count) {
    row.put(what + "_heap_bytes", (after.heap - before.heap) / count);
    row.put(what + "_native_bytes", (after.outside - before.outside) / count);
  }

  private void steady(Driver driver) {
    driver.startMeasuring();
    int[] left = {Math.max(ROUNDS_MIN * nodes,
        options.quick ? QUICK_HEARTBEATS_MIN : HEARTBEATS_MIN)};
    driver.roundsUntil("measured", 1 + left[0] / nodes, () -> left[0]-- == 0);
    Measurement m = driver.stopMeasuring();
    row.put("heartbeats", m.heartbeats).put("containers", m.containers);
    row.put("heartbeat_p50_us", m.quantileMicros(0.50));
    row.put("heartbeat_p99_us", m.quantileMicros(0.99));
    row.put("heartbeat_max_us", m.quantileMicros(1.0));
    row.put("allocate_max_us", m.allocateLongestNanos / 1e3);
    row.put("tick_mean_us", m.meanUpdateMicros());
    row.put("tick_max_us", m.updateLongestNanos / 1e3);
    row.put("labelled_containers", driver.nodes.stream().filter(node -> node.label != null)
        .mapToInt(BenchNode::runningContainers).sum());
    row.put("second_of_calls_us", m.allMicros() * nodes / m.heartbeats);
    row.put("collector_ms", m.collectorMillis);
  }

  /** Times what operators and their tools ask for while the cluster is full. */
  private void operators(Driver driver, HeddleScheduler scheduler, RmHarness harness)
      throws Exception {
    Inspection inside = scheduler.inspection();
    longest(driver, "queue_report", () -> scheduler.getQueueInfo("root", true, true));
    longest(driver, "queues_answer", () -> inside.request("{\"op\": \"queues\"}"));
    longest(driver, "jobs_answer", () -> inside.request("{\"op\": \"jobs\", \"max\": 100}"));
    longest(driver, "jobs_by_end_answer",
        () -> inside.request("{\"op\": \"jobs\", \"max\": 100, \"sort\": \"end\"}"));
    longest(driver, "nodes_answer", () -> inside.request("{\"op\": \"nodes\"}"));
    longest(driver, "audit", inside::differences);
    long audit = 0;
    inside.auditSoon();
    for (int tick = 0; tick < AUDIT_TICKS; tick++) {
      audit = Math.max(audit, driver.timed(() -> {
        scheduler.update();
        return null;
      }));
    }
    row.put("audit_tick_max_us", audit / 1e3);
    longest(driver, "refresh", () -> {
      scheduler.reinitialize(harness.conf, harness.context);
      return null;
    });
  }

  private static void checkBooks(Inspection inside) {
    String differences = inside.differences();
    if (differences != null || inside.failures() > 0 || inside.engineRebuilds() > 0) {
      throw new Violation("the books differ: " + differences + "; " + inside.failures()
          + " failures, " + inside.engineRebuilds() + " engines were lost");
    }
  }

  private void longest(Driver driver, String name, Callable<?> call) throws Exception {
    long longest = 0;
    for (int i = 0; i < CALLS; i++) {
      longest = Math.max(longest, driver.timed(call));
    }
    row.put(name + "_us", longest / 1e3);
  }
}
