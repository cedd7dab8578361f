package io.heddle.integration.stock;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** What one scheduler made of one case, in rounds. */
final class Figures {
  /** The names of the columns that {@link #row} fills. */
  static final String COLUMNS = "ended,last_start,last_end,turnaround_sum,turnaround_median,"
      + "turnaround_small,spread,kills,tasks_at_their_data,tasks_with_data";

  private final SmallCluster cluster;
  /** By job, in the order of the case; -1 if it has not ended. */
  private final int[] ends;
  /** The last start of a task of a job that ends. */
  int lastStart;
  /** Containers that were killed. */
  int kills;
  /** Tasks with data that ran on a host that has them, and all tasks with data. */
  int atData;
  int withData;
  /** The sum over rounds of the largest less the smallest part of use of equal nodes. */
  double spreads;
  /** Rounds in which equal nodes were compared. */
  int compared;

  Figures(SmallCluster cluster) {
    this.cluster = cluster;
    ends = new int[cluster.jobs.size()];
    Arrays.fill(ends, -1);
  }

  void ended(int job, int round) {
    ends[job] = round;
  }

  private IntStream finite() {
    return IntStream.range(0, ends.length).filter(job -> !cluster.jobs.get(job).isService());
  }

  /** Returns how many jobs have ended. */
  int ended() {
    return (int) finite().filter(job -> ends[job] >= 0).count();
  }

  /** Returns whether all jobs but services have ended. */
  boolean allEnded() {
    return finite().allMatch(job -> ends[job] >= 0);
  }

  int lastEnd() {
    return finite().map(job -> ends[job]).max().orElse(0);
  }

  /** Returns the rounds from a job's submission to its end, or to the end of the case. */
  int turnaround(int job) {
    int end = ends[job] >= 0 ? ends[job] : cluster.rounds();
    return end - cluster.jobs.get(job).round();
  }

  int turnaroundSum() {
    return finite().map(this::turnaround).sum();
  }

  private int turnaroundMedian() {
    int[] sorted = finite().map(this::turnaround).sorted().toArray();
    return sorted.length == 0 ? 0 : sorted[sorted.length / 2];
  }

  private IntStream small() {
    return finite().filter(job -> cluster.jobs.get(job).isSmall());
  }

  /** Returns the mean turn-around of small jobs; 0 if there are none. */
  double turnaroundSmall() {
    return small().map(this::turnaround).average().orElse(0);
  }

  /** Returns by how many rounds the small job that compares worst ended later than elsewhere. */
  int latestSmall(Figures other) {
    return small().map(job -> turnaround(job) - other.turnaround(job)).max().orElse(0);
  }

  /** Returns the mean of what equal nodes differed in, from 0 to 1; 0 if no two are equal. */
  double spread() {
    return compared == 0 ? 0 : spreads / compared;
  }

  /** Returns the figures in the order of {@link #COLUMNS}. */
  String row() {
    return String.join(",", List.of("" + ended(), "" + lastStart, "" + lastEnd(),
        "" + turnaroundSum(), "" + turnaroundMedian(), String.format("%.1f", turnaroundSmall()),
        String.format("%.3f", spread()), "" + kills, "" + atData, "" + withData));
  }
}
