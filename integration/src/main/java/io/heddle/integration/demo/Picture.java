/*
 * Turns the state of the demo into lines of text: the live picture, and the line for a log. Prints
 * nothing.
 */
package io.heddle.integration.demo;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.apache.commons.lang3.StringUtils;

/** Makes lines that fit 80 columns. */
final class Picture {
  private static final int CLUSTER_BAR = 34;
  private static final int QUEUE_BAR = 16;
  private static final int JOB_BAR = 8;

  private Picture() {}

  /** Returns the live picture. */
  static List<String> live(String title, long nowMs, Snapshot now, List<DemoJob> jobs) {
    List<String> lines = new ArrayList<>();
    lines.add(String.format("%-70s %8s", title, clock(nowMs)));
    lines.add("");
    lines.add(
        String.format(
            "%-14s %s %4s %3d running %3d pending",
            "cluster", bar(now.used(), CLUSTER_BAR), percent(now.used()), now.running(),
            now.pending()));
    lines.add("");
    lines.add(
        String.format(
            "%-14s %-21s %5s %8s %8s  %s",
            "queue", "share of the cluster", "fair", "running", "pending", "node/rack/off"));
    for (Snapshot.Queue queue : now.queues()) {
      lines.add(
          String.format(
              "%-14s %s %4s %5s %8d %8d  %s",
              StringUtils.abbreviate(queue.path, 14), bar(queue.used, QUEUE_BAR),
              percent(queue.used), percent(queue.entitled), queue.running, queue.pending,
              localities(queue.localities)));
    }
    lines.add("");
    lines.add(
        String.format("%-7s %-17s %-13s %-13s %s", "user", "job", "maps", "reduces", "state"));
    for (DemoJob job : jobs) {
      lines.add(
          String.format(
              "%-7s %-17s %s %4s %s %4s %s",
              job.user(), job.name(), bar(job.mapProgress(), JOB_BAR), percent(job.mapProgress()),
              bar(job.reduceProgress(), JOB_BAR), percent(job.reduceProgress()),
              state(job)));
    }
    return lines;
  }

  /** Returns the state of a job, and its expected end if that is known. */
  private static String state(DemoJob job) {
    String state = job.state().name().toLowerCase(Locale.ROOT);
    long endMs = job.expectedEndMs();
    return endMs == 0 ? state : state + ", end ~" + clock(endMs);
  }

  /** Returns the state in one line, for output that cannot be redrawn. */
  static String line(long nowMs, Snapshot now) {
    StringBuilder line = new StringBuilder();
    line.append(
        String.format(
            "%s  cluster %s used, %d running, %d pending",
            clock(nowMs), percent(now.used()), now.running(), now.pending()));
    for (Snapshot.Queue queue : now.queues()) {
      line.append(
          String.format(
              " | %s %s (fair %s) %d running %d pending %s",
              queue.path, percent(queue.used), percent(queue.entitled), queue.running,
              queue.pending, localities(queue.localities)));
    }
    return line.toString();
  }

  /** Returns the containers by locality; a dash while there is none. */
  private static String localities(int[] counts) {
    int sum = Arrays.stream(counts).sum();
    return sum == 0 ? "-" : counts[0] + "/" + counts[1] + "/" + counts[2];
  }

  static String percent(double part) {
    return String.format("%.0f%%", 100 * part);
  }

  private static String clock(long ms) {
    return String.format("%d:%02d", ms / 60_000, ms / 1000 % 60);
  }

  private static String bar(double part, int width) {
    int filled = (int) Math.round(Math.min(1, Math.max(0, part)) * width);
    return StringUtils.repeat('#', filled) + StringUtils.repeat('.', width - filled);
  }
}
