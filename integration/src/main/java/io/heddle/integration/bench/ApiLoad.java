/*
 * `./x bench --api-load N`: measures Heddle in a workload, alternately without and with N clients
 * of its API over HTTP. Reports requests per second, their latency, and the time of a heartbeat in
 * both cases. No other scheduler is measured, because none has such an API.
 *
 * One thread drives the scheduler as fast as possible, as in the rest of the bench. That is far
 * more heartbeats than the nodes of the workload would send on a real cluster. Both kinds of rounds
 * have web server, accounts and store; they differ in the clients only.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.bench.ApiClient.Question;
import io.heddle.yarn.HeddleScheduler;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.apache.hadoop.fs.FileUtil;

/** Runs and prints the measurement. */
final class ApiLoad {
  private final BenchOptions options;
  private final PrintStream out;

  ApiLoad(BenchOptions options, PrintStream out) {
    this.options = options;
    this.out = out;
  }

  /** One round: the scheduler's times, and the clients if there were any. */
  static final class Round {
    final Measurement measurement;
    final ApiClients clients;

    Round(Measurement measurement, ApiClients clients) {
      this.measurement = measurement;
      this.clients = clients;
    }

    double requestsPerSecond() {
      return clients.latencies(null).length / clients.seconds();
    }

    /** Returns the q-quantile of the answers to a question, or to all for null, in microseconds. */
    double requestMicros(Question question, double q) {
      long[] nanos = clients.latencies(question);
      return nanos.length == 0 ? Double.NaN
          : nanos[Math.min(nanos.length - 1, (int) (q * nanos.length))] / 1e3;
    }
  }

  int run() throws Exception {
    ZonedDateTime began = ZonedDateTime.now(ZoneOffset.UTC);
    long start = System.nanoTime();
    ObjectNode root = new ObjectMapper().createObjectNode();
    ArrayNode runs = root.putArray("runs");
    for (Workload workload : options.workloads) {
      measure(workload, true, 0);
      measure(workload, true, options.apiClients);
      List<Round> quiet = new ArrayList<>();
      List<Round> loaded = new ArrayList<>();
      int rounds = Math.min(options.rounds, workload.mostRounds());
      for (int round = 1; round <= rounds; round++) {
        // Alternates the order in a pair, because the machine may be warmer for the second.
        boolean quietFirst = round % 2 == 1;
        for (boolean isQuiet : new boolean[] {quietFirst, !quietFirst}) {
          Round done = measure(workload, false, isQuiet ? 0 : options.apiClients);
          (isQuiet ? quiet : loaded).add(done);
          describe(runs.addObject().put("workload", workload.name()).put("round", round), done);
        }
      }
      print(workload, quiet, loaded);
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    RawResults.heading(root, options, began, seconds);
    if (options.out != null) {
      Path file = RawResults.write(root, options.out, "api", began);
      out.println("Raw results: " + file + " and .csv");
    }
    out.printf(Locale.ROOT, "Took %.0f s.%n", seconds);
    return 0;
  }

  /** Runs a workload on a fresh scheduler; {@code clients} may be 0. */
  Round measure(Workload workload, boolean warmUp, int clients) throws Exception {
    Path folder = Files.createTempDirectory("heddle-bench");
    Shape shape = workload.shape();
    SchedulerKind kind = SchedulerKind.HEDDLE_API;
    RmHarness harness = new RmHarness(kind, shape, options.policy, folder);
    try (Driver driver = new Driver(kind, harness, shape, options.seed, options.cpuClock);
        ApiServer server = new ApiServer((HeddleScheduler) harness.scheduler)) {
      // Made in quiet rounds too, so that both kinds wait until the books are open.
      ApiClients load = new ApiClients(server.address, clients, options.apiRate);
      driver.besides(load::start, load::stop);
      return new Round(workload.run(driver, warmUp), clients == 0 ? null : load);
    } finally {
      // Ignores files that vanish: the store's own thread may be closing its files.
      FileUtil.fullyDelete(folder.toFile());
      System.gc();
    }
  }

  private void describe(ObjectNode run, Round round) {
    Measurement m = round.measurement;
    boolean loaded = round.clients != null;
    run.put("clients", loaded ? options.apiClients : 0).put("rate_limit", options.apiRate);
    run.put("requests", loaded ? round.clients.latencies(null).length : 0);
    run.put("seconds", loaded ? round.clients.seconds() : m.wallNanos / 1e9);
    run.put("requests_per_s", loaded ? round.requestsPerSecond() : 0);
    put(run, "request", round, null);
    for (Question question : Question.values()) {
      put(run, question.name().toLowerCase(Locale.ROOT), round, question);
    }
    run.put("heartbeats", m.heartbeats).put("heartbeat_ns", m.heartbeatNanos);
    run.put("heartbeat_p50_us", m.quantileMicros(0.50));
    run.put("heartbeat_p99_us", m.quantileMicros(0.99));
    run.put("heartbeat_max_us", m.quantileMicros(1.0));
    run.put("containers", m.containers);
    run.put("wall_ns", m.wallNanos).put("background_cpu_ns", m.backgroundCpuNanos);
    run.put("collector_ms", m.collectorMillis);
  }

  private static void put(ObjectNode run, String name, Round round, Question question) {
    boolean loaded = round.clients != null;
    run.put(name + "_p50_us", loaded ? round.requestMicros(question, 0.50) : 0);
    run.put(name + "_p99_us", loaded ? round.requestMicros(question, 0.99) : 0);
  }

  private void print(Workload workload, List<Round> quiet, List<Round> loaded) {
    out.printf("%s: %s%n", workload.name(), workload.description());
    out.printf("policy %s, medians of %d rounds; %d clients over HTTP, %s%n",
        options.policy.label, quiet.size(), options.apiClients, options.apiRate == 0
            ? "as fast as they are answered" : options.apiRate + " requests/s wanted");
    out.printf("    %-32s%15s%15s%n", "", "without", "with clients");
    both("heartbeat p50, us", quiet, loaded, r -> r.measurement.quantileMicros(0.50));
    both("heartbeat p99, us", quiet, loaded, r -> r.measurement.quantileMicros(0.99));
    both("containers/s, in heartbeats", quiet, loaded,
        r -> r.measurement.containersPerSecondInHeartbeats());
    line("requests/s", loaded, Round::requestsPerSecond);
    line("request p50, us", loaded, r -> r.requestMicros(null, 0.50));
    line("request p99, us", loaded, r -> r.requestMicros(null, 0.99));
    for (Question question : Question.values()) {
      String name = question.path + (question.query.isEmpty() ? "" : "?" + question.query);
      line(name + " p50", loaded, r -> r.requestMicros(question, 0.50));
      line("    p99", loaded, r -> r.requestMicros(question, 0.99));
    }
  }

  private void both(String label, List<Round> quiet, List<Round> loaded,
      ToDoubleFunction<Round> figure) {
    out.printf(Locale.ROOT, "    %-32s%,15.1f%,15.1f%n", label, median(quiet, figure),
        median(loaded, figure));
  }

  private void line(String label, List<Round> loaded, ToDoubleFunction<Round> figure) {
    out.printf(Locale.ROOT, "    %-32s%15s%,15.1f%n", label, "", median(loaded, figure));
  }

  private static double median(List<Round> rounds, ToDoubleFunction<Round> figure) {
    return Results.median(rounds.stream().mapToDouble(figure).toArray());
  }
}
