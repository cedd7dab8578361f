/*
 * The end of the demo as lines of text: the result of each job under each scheduler, and a line
 * for each figure about what the policy changed. Prints nothing.
 */
package io.heddle.integration.demo;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.commons.lang3.StringUtils;

/** The results of one contender or two. */
final class Closing {
  private static final int NAME_WIDTH = 18;
  private final List<Contender> contenders;
  private final List<List<JobResult>> results;

  /** Takes results in the order of the contenders, each with the jobs in the same order. */
  Closing(List<Contender> contenders, List<List<JobResult>> results) {
    this.contenders = contenders;
    this.results = results;
  }

  /** Returns a table with a row for each job and columns for each contender. Fits 80 columns. */
  List<String> table() {
    StringBuilder names = new StringBuilder(String.format("%-25s", ""));
    StringBuilder heads = new StringBuilder(String.format("%-7s %-17s", "user", "job"));
    for (Contender contender : contenders) {
      String name = StringUtils.abbreviate(contender.name(), NAME_WIDTH);
      names.append(String.format("%27s", "under " + name));
      heads.append(String.format("%9s %8s %8s", "waited", "took", "local"));
    }
    List<String> lines = new ArrayList<>();
    lines.add(names.toString());
    lines.add(heads.toString());
    for (int job = 0; job < results.get(0).size(); job++) {
      JobResult first = results.get(0).get(job);
      StringBuilder line = new StringBuilder(String.format("%-7s %-17s", first.user, first.name));
      for (List<JobResult> run : results) {
        line.append(row(run.get(job)));
      }
      lines.add(line.toString());
    }
    return lines;
  }

  private static String row(JobResult job) {
    if (!job.succeeded()) {
      return String.format("%27s", job.state.name().toLowerCase(Locale.ROOT));
    }
    int asked = job.localities[0] + job.localities[1] + job.localities[2];
    String local = asked == 0 ? "-" : job.localities[0] + "/" + asked;
    return String.format("%9s %8s %8s", seconds(job.waitedMs), seconds(job.tookMs), local);
  }

  private static String seconds(long ms) {
    return String.format(Locale.ROOT, "%.1f s", ms / 1000.0);
  }

  /**
   * Describes how well the ends of the jobs were predicted; empty without predictions. The error
   * of a band's middle is the ratio of the predicted and the actual remaining time, with a second
   * added to both.
   */
  Optional<String> foresight() {
    List<JobResult> foreseen =
        results.get(0).stream()
            .filter(job -> job.succeeded() && job.forecast != null)
            .collect(Collectors.toList());
    if (foreseen.isEmpty()) {
      return Optional.empty();
    }
    long held = foreseen.stream().filter(job -> job.forecast.holds(job.endedMs)).count();
    double[] off = foreseen.stream().mapToDouble(Closing::off).sorted().toArray();
    return Optional.of(
        String.format(
            Locale.ROOT,
            "%d of %d jobs ended in the band that was predicted when their tasks began;%n"
                + "its middle was off by a factor of %.1f in the median.",
            held, foreseen.size(), off[off.length / 2]));
  }

  private static double off(JobResult job) {
    double took = job.endedMs - job.forecast.madeMs + 1000.0;
    double expected = job.forecast.expectedMs - job.forecast.madeMs + 1000.0;
    return Math.max(took / expected, expected / took);
  }

  boolean succeeded() {
    return results.stream().allMatch(run -> run.stream().allMatch(JobResult::succeeded));
  }

  /** Returns a line for each figure; none without an opponent or if a job failed. */
  List<String> comparison(List<Figure> figures) {
    if (contenders.size() < 2 || !succeeded()) {
      return Collections.emptyList();
    }
    return figures.stream()
        .map(
            figure ->
                figure.compare(
                    contenders.get(0).name(), results.get(0), contenders.get(1).name(),
                    results.get(1)))
        .collect(Collectors.toList());
  }
}
