/*
 * The printed table: schedulers side by side, Heddle's ratio to the better stock scheduler, and the
 * project's goals that were missed. RawResults writes the raw figures.
 */
package io.heddle.integration.bench;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** Prints results. */
final class Report {
  /** The goals of the project, as multiples of the better stock scheduler. */
  static final double HEARTBEAT_GOAL = 2.0;
  static final double ALL_CALLS_GOAL = 1.5;
  static final double NODE_LOCAL_GOAL_PERCENT = 85;
  /** Largest growth from 10 to 5,000 waiting applications that still counts as the same cost. */
  static final double FLAT_GOAL = 2.0;

  private final Results results;
  private final List<SchedulerKind> schedulers;
  private final PrintStream to;
  private final List<String> missed = new ArrayList<>();

  Report(Results results, List<SchedulerKind> schedulers, PrintStream to) {
    this.results = results;
    this.schedulers = schedulers;
    this.to = to;
  }

  /** Prints the table; returns the missed goals, one line each. */
  List<String> print() {
    heading();
    for (Workload workload : results.workloads()) {
      printWorkload(workload);
    }
    printFlatness();
    if (schedulers.contains(SchedulerKind.HEDDLE)) {
      to.println(missed.isEmpty() ? "All goals met." : "Goals missed:");
      missed.forEach(line -> to.println("  " + line));
    }
    return missed;
  }

  private void heading() {
    StringBuilder line = new StringBuilder(String.format("%-13s%-27s", "workload", ""));
    for (SchedulerKind kind : schedulers) {
      line.append(String.format("%15s", kind.label));
    }
    to.println(line.append(String.format("%10s%10s", "stub/best", "heddle/")));
    to.println(String.format("%" + (40 + 15 * schedulers.size() + 20) + "s", "stock"));
  }

  private void printWorkload(Workload workload) {
    boolean containers = workload.unit() == Workload.Unit.CONTAINERS;
    String unit = containers ? "containers/s" : "heartbeats/s";
    to.println(workload.name() + ": " + workload.description());
    rate(workload, unit + ", in heartbeats", HEARTBEAT_GOAL, containers
        ? Measurement::containersPerSecondInHeartbeats : Measurement::heartbeatsPerSecond);
    rate(workload, unit + ", over all calls", ALL_CALLS_GOAL, containers
        ? Measurement::containersPerSecondOverAll : Measurement::heartbeatsPerSecondOverAll);
    if (containers) {
      row(workload, "heartbeats/s", "%,15.0f", Measurement::heartbeatsPerSecond);
    }
    row(workload, "heartbeat p50, us", "%,15.1f", m -> m.quantileMicros(0.50));
    row(workload, "heartbeat p99, us", "%,15.1f", m -> m.quantileMicros(0.99));
    row(workload, "one update() (apart), us", "%,15.1f", Measurement::meanUpdateMicros);
    if (!Double.isNaN(results.median(workload, schedulers.get(0), Measurement::nodeLocalPercent))) {
      row(workload, "maps node-local, %", "%,15.1f", Measurement::nodeLocalPercent);
      double local =
          results.median(workload, SchedulerKind.HEDDLE, Measurement::nodeLocalPercent);
      if (local < NODE_LOCAL_GOAL_PERCENT) {
        miss("%s: %.1f %% of the maps node-local, goal %.0f %%", workload.name(), local,
            NODE_LOCAL_GOAL_PERCENT);
      }
    }
  }

  private void rate(Workload workload, String label, double goal,
      ToDoubleFunction<Measurement> figure) {
    StringBuilder line = line(workload, label, "%,15.0f", figure);
    double floor = results.ratioToBetterStock(workload, SchedulerKind.STUB, figure);
    line.append(Double.isNaN(floor) ? String.format("%10s", "-")
        : String.format(Locale.ROOT, "%9.2fx", floor));
    double ratio = results.ratioToBetterStock(workload, SchedulerKind.HEDDLE, figure);
    if (!Double.isNaN(ratio)) {
      line.append(String.format(Locale.ROOT, "%9.2fx%s", ratio, ratio < goal ? "  <" + goal : ""));
      if (ratio < goal) {
        miss("%s: %s %.2f times the better stock scheduler, goal %.1f%s", workload.name(), label,
            ratio, goal, floor < goal ? String.format(Locale.ROOT,
                " (YARN's books alone, the stub, reach %.2f)", floor) : "");
      }
    }
    to.println(line);
  }

  private void row(Workload workload, String label, String format,
      ToDoubleFunction<Measurement> figure) {
    to.println(line(workload, label, format, figure));
  }

  private StringBuilder line(Workload workload, String label, String format,
      ToDoubleFunction<Measurement> figure) {
    StringBuilder line = new StringBuilder(String.format("    %-36s", label));
    for (SchedulerKind kind : schedulers) {
      double value = results.median(workload, kind, figure);
      line.append(Double.isNaN(value) ? String.format("%15s", "-")
          : String.format(Locale.ROOT, format, value));
    }
    return line;
  }

  /** Checks that a heartbeat where nothing fits costs the same for any number of applications. */
  private void printFlatness() {
    for (String state : new String[] {"full", "large", "limited"}) {
      List<Workload> series = new ArrayList<>();
      for (Workload workload : results.workloads()) {
        if (workload.name().startsWith(state + "-")) {
          series.add(workload);
        }
      }
      if (series.size() < 2) {
        continue;
      }
      to.println("mean cost of a heartbeat where nothing fits (" + state + "), us");
      for (Workload workload : series) {
        row(workload, workload.waitingApplications() + " applications", "%,15.1f",
            Measurement::meanHeartbeatMicros);
      }
      Workload few = series.get(0);
      Workload many = series.get(series.size() - 1);
      double growth =
          results.median(many, SchedulerKind.HEDDLE, m -> m.quantileMicros(0.50))
              / results.median(few, SchedulerKind.HEDDLE, m -> m.quantileMicros(0.50));
      if (growth > FLAT_GOAL) {
        miss("%s: the median heartbeat costs %.1f times as much with %d waiting applications as "
            + "with %d", state, growth, many.waitingApplications(), few.waitingApplications());
      }
    }
  }

  private void miss(String format, Object... args) {
    missed.add(String.format(Locale.ROOT, format, args));
  }
}
