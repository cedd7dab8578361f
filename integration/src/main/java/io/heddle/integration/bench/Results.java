/*
 * Measurements by workload, scheduler and round, with medians and ratios over rounds. Prints
 * nothing.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** All measurements of one invocation. */
final class Results {
  private final Map<Workload, Map<SchedulerKind, List<Measurement>>> all = new LinkedHashMap<>();

  void add(Workload workload, SchedulerKind kind, Measurement measurement) {
    all.computeIfAbsent(workload, k -> new EnumMap<>(SchedulerKind.class))
        .computeIfAbsent(kind, k -> new ArrayList<>()).add(measurement);
  }

  Iterable<Workload> workloads() {
    return all.keySet();
  }

  /** Returns the rounds of one scheduler in one workload; empty if it was not measured. */
  List<Measurement> rounds(Workload workload, SchedulerKind kind) {
    return all.get(workload).getOrDefault(kind, new ArrayList<>());
  }

  /** Returns the median over the rounds; NaN if there are none. */
  double median(Workload workload, SchedulerKind kind, ToDoubleFunction<Measurement> figure) {
    return median(rounds(workload, kind).stream().mapToDouble(figure).toArray());
  }

  /**
   * Returns the ratio of {@code kind}'s rate to that of the better stock scheduler: the median of
   * the ratios by round, because the schedulers of a round run closest together in time.
   */
  double ratioToBetterStock(Workload workload, SchedulerKind kind,
      ToDoubleFunction<Measurement> rate) {
    List<Measurement> ours = rounds(workload, kind);
    double[] ratios = new double[ours.size()];
    for (int round = 0; round < ratios.length; round++) {
      double best = Double.NaN;
      for (SchedulerKind stock : SchedulerKind.values()) {
        if (stock.stock() && rounds(workload, stock).size() > round) {
          double rateThere = rate.applyAsDouble(rounds(workload, stock).get(round));
          best = Double.isNaN(best) ? rateThere : Math.max(best, rateThere);
        }
      }
      ratios[round] = rate.applyAsDouble(ours.get(round)) / best;
    }
    return median(ratios);
  }

  static double median(double[] values) {
    if (values.length == 0) {
      return Double.NaN;
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
