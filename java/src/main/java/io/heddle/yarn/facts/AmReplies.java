package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Reads what a MapReduce ApplicationMaster answers under {@code /ws/v1/mapreduce}. The same fields
 * come as numbers or texts, lists as arrays or single objects, by version. What is missing or makes
 * no sense is left out; nothing here throws for what a server wrote.
 */
final class AmReplies {
  /** A number that the reply does not have. */
  static final long UNKNOWN = -1;

  private static final Pattern TASK = Pattern.compile("task_\\d{1,19}_\\d{1,10}_r_\\d{1,10}");
  private static final String FILES = "org.apache.hadoop.mapreduce.FileSystemCounter";
  private static final String TASKS = "org.apache.hadoop.mapreduce.TaskCounter";

  private AmReplies() {}

  /** A whole number from 0 up, or {@link #UNKNOWN}. */
  static long number(JsonNode field) {
    if (field.isNumber()) {
      double value = field.asDouble();
      // Not of what a cast makes of NaN or of too much.
      return value >= 0 && value < 9e18 ? field.asLong() : UNKNOWN;
    }
    if (field.isTextual() && field.asText().length() <= 18) {
      try {
        return Math.max(UNKNOWN, Long.parseLong(field.asText().trim()));
      } catch (NumberFormatException e) {
        return UNKNOWN;
      }
    }
    return UNKNOWN;
  }

  /** A part of 100, as a part of 1; -1 for nonsense. */
  static double percent(JsonNode field) {
    double value = field.isTextual() ? parse(field.asText()) : field.asDouble(-1);
    return value >= 0 && value <= 100 ? value / 100 : -1;
  }

  private static double parse(String text) {
    try {
      return text.length() <= 20 ? Double.parseDouble(text) : -1;
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  /** A list that may have come as its only element. */
  private static List<JsonNode> list(JsonNode list) {
    if (list.isObject()) {
      return Collections.singletonList(list);
    }
    List<JsonNode> all = new ArrayList<>();
    if (list.isArray()) {
      list.forEach(all::add);
    }
    return all;
  }

  /** The running reduces that began first, by id. */
  static List<String> runningReduces(JsonNode root, int most) {
    List<JsonNode> running = new ArrayList<>();
    for (JsonNode task : list(root.path("tasks").path("task"))) {
      if ("RUNNING".equals(task.path("state").asText())
          && TASK.matcher(task.path("id").asText()).matches()
          && number(task.path("startTime")) > 0) {
        running.add(task);
      }
    }
    running.sort(Comparator.comparingLong(task -> number(task.path("startTime"))));
    List<String> ids = new ArrayList<>();
    for (JsonNode task : running.subList(0, Math.min(most, running.size()))) {
      ids.add(task.path("id").asText());
    }
    return ids;
  }

  /** The first running attempt of a reduce, or null. */
  static ReduceAttempt runningAttempt(JsonNode root) {
    for (JsonNode attempt : list(root.path("taskAttempts").path("taskAttempt"))) {
      if ("RUNNING".equals(attempt.path("state").asText())) {
        return ReduceAttempt.read(attempt);
      }
    }
    return null;
  }

  /** How far an attempt of a reduce is. */
  static final class ReduceAttempt {
    final ContainerId container;
    /** Of all of it: a third each for copying, sorting and reducing. */
    final double progress;
    /** When the reduce function began, by the AM's clock; {@link #UNKNOWN} before. */
    final long reducingSinceMs;

    private ReduceAttempt(ContainerId container, double progress, long reducingSinceMs) {
      this.container = container;
      this.progress = progress;
      this.reducingSinceMs = reducingSinceMs;
    }

    private static ReduceAttempt read(JsonNode attempt) {
      double progress = percent(attempt.path("progress"));
      if (progress < 0) {
        return null;
      }
      try {
        long merged = number(attempt.path("mergeFinishTime"));
        return new ReduceAttempt(
            ContainerId.fromString(attempt.path("assignedContainerId").asText()), progress,
            merged > 0 ? merged : UNKNOWN);
      } catch (IllegalArgumentException e) {
        return null;
      }
    }
  }

  /** How many maps and reduces there are and have succeeded, with {@code UNKNOWN} for each. */
  static final class Totals {
    final long maps;
    final long reduces;
    final long mapsDone;
    final long reducesDone;

    Totals(JsonNode root) {
      JsonNode job = root.path("job");
      maps = number(job.path("mapsTotal"));
      reduces = number(job.path("reducesTotal"));
      mapsDone = number(job.path("mapsCompleted"));
      reducesDone = number(job.path("reducesCompleted"));
    }
  }

  /** The bytes that a job's tasks have moved. */
  static final class Moved {
    long input;
    long mapOutput;
    long shuffled;
    long written;

    Moved(JsonNode root) {
      for (JsonNode group : list(root.path("jobCounters").path("counterGroup"))) {
        String name = group.path("counterGroupName").asText();
        for (JsonNode counter : list(group.path("counter"))) {
          if (FILES.equals(name)) {
            file(counter);
          } else if (TASKS.equals(name)) {
            task(counter);
          }
        }
      }
    }

    private void file(JsonNode counter) {
      // Of any file system except the local one, which is no traffic and no input.
      String name = counter.path("name").asText();
      if (name.startsWith("FILE_")) {
        return;
      }
      if (name.endsWith("_BYTES_READ")) {
        input += Math.max(0, number(counter.path("mapCounterValue")));
      } else if (name.endsWith("_BYTES_WRITTEN")) {
        written += Math.max(0, number(counter.path("totalCounterValue")));
      }
    }

    private void task(JsonNode counter) {
      String name = counter.path("name").asText();
      long value = Math.max(0, number(counter.path("totalCounterValue")));
      if (name.equals("MAP_OUTPUT_MATERIALIZED_BYTES")) {
        mapOutput = value;
      } else if (name.equals("REDUCE_SHUFFLE_BYTES")) {
        shuffled = value;
      }
    }
  }
}
