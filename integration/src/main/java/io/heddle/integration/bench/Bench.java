/*
 * Entry point of `./x bench`: schedulers side by side in one JVM, on the same events.
 *
 * Measured: the time inside the scheduler's two entry points, handle(event) and allocate(...), of a
 * scheduler in a real RMContext (token secret managers, label, tag and constraint managers,
 * metrics). "In heartbeats" is handle(NODE_UPDATE) alone: books of ended and launched containers
 * and all placing. "Over all calls" adds the AMs' allocate() calls, which make the tokens, and the
 * events of applications and attempts.
 *
 * Not measured: RPC, network, the dispatcher threads, the state store, liveliness monitors, and
 * the state machines of RMNodeImpl and RMAppImpl. They cost the same under every scheduler. Logging
 * is at WARN for all.
 *
 * Fairness: every scheduler gets a fresh instance, the same nodes, applications, asks, lifetimes
 * and order of heartbeats; settings are in SchedulerKind, each with its reason. Schedulers are
 * interleaved round by round. The first workload of a family (one name, several sizes, the same
 * code) begins with a warm-up round. A fixed amount of work is measured, or a fixed time where
 * nothing can be placed.
 *
 * The bench checks the schedulers while it drives them (Driver, BenchNode, ApplicationMaster): no
 * node over-committed, no container granted twice or without an ask, every ask satisfied, books
 * empty at the end. The first violation ends the run with exit code 1.
 */
package io.heddle.integration.bench;

import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.commons.cli.ParseException;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

/** Runs the bench. */
public final class Bench {
  private final BenchOptions options;
  private final PrintStream out = System.out;

  private Bench(BenchOptions options) {
    this.options = options;
  }

  /** Runs the bench; see {@code --help}. */
  public static void main(String[] args) {
    BenchOptions options;
    try {
      options = BenchOptions.parse(args);
    } catch (ParseException e) {
      System.err.println("bench: " + e.getMessage() + "\nTry --help.");
      System.exit(2);
      return;
    }
    if (options.help) {
      BenchOptions.printHelp(new PrintWriter(System.out));
      return;
    }
    Logger.getRootLogger().removeAllAppenders();
    BasicConfigurator.configure();
    Logger.getRootLogger().setLevel(Level.WARN);
    int code = 1;
    try {
      code = !options.scale.isEmpty() ? new ScaleBench(options, System.out).run()
          : options.apiClients > 0
          ? new ApiLoad(options, System.out).run() : new Bench(options).run();
    } catch (Exception e) {
      e.printStackTrace();
    }
    // A failed scheduler leaves threads, which would keep the process alive after main().
    System.exit(code);
  }

  private int run() throws Exception {
    ZonedDateTime began = ZonedDateTime.now(ZoneOffset.UTC);
    long start = System.nanoTime();
    Results results = new Results();
    Set<String> warm = new HashSet<>();
    for (Workload workload : options.workloads) {
      int rounds = Math.min(options.rounds, workload.mostRounds());
      for (int round = warm.add(family(workload)) ? 0 : 1; round <= rounds; round++) {
        for (SchedulerKind kind : options.schedulers) {
          Measurement measurement;
          try {
            measurement = measure(workload, kind, round == 0);
          } catch (Violation e) {
            out.printf("VIOLATION by %s in workload %s, round %d, seed %d: %s%n", kind.label,
                workload.name(), round, options.seed, e.getMessage());
            return 1;
          }
          if (round > 0) {
            results.add(workload, kind, measurement);
          }
        }
      }
      progress(workload, results, start);
    }
    out.println();
    out.println("Heddle's policy: " + options.policy.label);
    List<String> missed = new Report(results, options.schedulers, out).print();
    double seconds = (System.nanoTime() - start) / 1e9;
    if (options.out != null) {
      Path file = new RawResults(options, results, missed, began, seconds)
          .write(options.out, began);
      out.println("Raw results: " + file + " and .csv");
    }
    out.printf(Locale.ROOT, "Took %.0f s.%n", seconds);
    return 0;
  }

  private static String family(Workload workload) {
    return workload.name().split("-")[0];
  }

  private Measurement measure(Workload workload, SchedulerKind kind, boolean warmUp)
      throws Exception {
    Path folder = Files.createTempDirectory("heddle-bench");
    Shape shape = workload.shape();
    RmHarness harness = new RmHarness(kind, shape, options.policy, folder);
    try (Driver driver = new Driver(kind, harness, shape, options.seed, options.cpuClock)) {
      return workload.run(driver, warmUp);
    } finally {
      delete(folder);
      // Collects this run's garbage outside the next run's time.
      System.gc();
    }
  }

  private void progress(Workload workload, Results results, long start) {
    StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "[%4.0f s] %-12s",
        (System.nanoTime() - start) / 1e9, workload.name()));
    for (SchedulerKind kind : options.schedulers) {
      double rate = results.median(workload, kind,
          workload.unit() == Workload.Unit.CONTAINERS
              ? Measurement::containersPerSecondInHeartbeats : Measurement::heartbeatsPerSecond);
      line.append(String.format(Locale.ROOT, "  %s %,.0f/s", kind.label, rate));
    }
    out.println(line);
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }
}
