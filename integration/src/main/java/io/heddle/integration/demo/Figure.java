/*
 * The figures that show the effect of a policy: computes each from the jobs of a run, and compares
 * two runs in one line. Prints nothing.
 */
package io.heddle.integration.demo;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** One figure. Knows policies by name only. */
abstract class Figure {
  private Figure() {}

  /**
   * Compares two runs in a sentence.
   *
   * @param policy the first contender
   * @param jobs its jobs
   * @param other the second contender
   * @param others the same jobs under it
   */
  abstract String compare(String policy, List<JobResult> jobs, String other,
      List<JobResult> others);

  /** How long jobs waited for containers, on average. */
  static final class Waiting extends Figure {
    private final String who;
    private final List<String> names;

    /** Covers the jobs with these names; {@code who} describes them in the plural. */
    Waiting(String who, String... names) {
      this.who = who;
      this.names = Arrays.asList(names);
    }

    @Override
    String compare(String policy, List<JobResult> jobs, String other, List<JobResult> others) {
      double here = meanMs(jobs);
      double there = meanMs(others);
      return String.format(
          Locale.ROOT, "%s waited %.0f s under %s, %.0f s under %s: %s", who, here / 1000, policy,
          there / 1000, other, changed(here, there));
    }

    private static String changed(double here, double there) {
      if (Math.min(here, there) <= 0) {
        // There is no ratio to a wait of 0.
        return here == there ? "no wait under either" : here < there ? "no wait at all" : "longer";
      }
      return String.format(Locale.ROOT, "%.1f times %s", ratio(here, there),
          here <= there ? "shorter" : "longer");
    }

    private double meanMs(List<JobResult> jobs) {
      return chosen(jobs).stream().mapToLong(job -> job.waitedMs).average().orElse(0);
    }

    private List<JobResult> chosen(List<JobResult> jobs) {
      return jobs.stream().filter(job -> names.contains(job.plan)).collect(Collectors.toList());
    }
  }

  /** The number of jobs with a completion goal that ended in time. */
  static final class GoalsMet extends Figure {
    @Override
    String compare(String policy, List<JobResult> jobs, String other, List<JobResult> others) {
      return String.format(
          "%s under %s, %s under %s", count(jobs) + " completion goals were met", policy,
          count(others), other);
    }

    private static String count(List<JobResult> jobs) {
      long met = jobs.stream().filter(JobResult::metItsGoal).count();
      return met + " of " + jobs.stream().filter(job -> job.goalMs > 0).count();
    }
  }

  /** The part of the shuffle that crossed racks. */
  static final class CrossRack extends Figure {
    @Override
    String compare(String policy, List<JobResult> jobs, String other, List<JobResult> others) {
      double here = part(jobs);
      double there = part(others);
      return String.format(
          "%s of the shuffle crossed racks under %s, %s under %s: %s", Picture.percent(here),
          policy, Picture.percent(there), other, changed(here, there));
    }

    private static double part(List<JobResult> jobs) {
      double all = jobs.stream().mapToDouble(job -> job.shuffledBytes).sum();
      return all == 0 ? 0 : jobs.stream().mapToDouble(job -> job.crossRackBytes).sum() / all;
    }

    private static String changed(double here, double there) {
      if (there == 0 || here > there) {
        return "no less";
      }
      return Picture.percent(1 - here / there) + " less";
    }
  }

  /** The part of the containers asked for on a host that ran there. */
  static final class NodeLocal extends Figure {
    @Override
    String compare(String policy, List<JobResult> jobs, String other, List<JobResult> others) {
      return String.format(
          "%s of the maps ran where their data is under %s, %s under %s",
          Picture.percent(part(jobs)), policy, Picture.percent(part(others)), other);
    }

    private static double part(List<JobResult> jobs) {
      double all = jobs.stream().mapToInt(job -> Arrays.stream(job.localities).sum()).sum();
      return all == 0 ? 0 : jobs.stream().mapToInt(job -> job.localities[0]).sum() / all;
    }
  }

  /** Returns the ratio of the larger number to the smaller; both are above 0. */
  private static double ratio(double one, double other) {
    return Math.max(one, other) / Math.min(one, other);
  }
}
