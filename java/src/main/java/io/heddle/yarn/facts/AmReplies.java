package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Answers of a MapReduce ApplicationMaster under {@code /ws/v1/mapreduce}, after the library has
 * read them ({@link io.heddle.yarn.engine.Native#reply}).
 */
final class AmReplies {
  /** A number that is missing in the reply. */
  static final long UNKNOWN = -1;

  private AmReplies() {}

  /** Returns the ids of at most {@code most} running reduces, those that began first. */
  static List<String> runningReduces(JsonNode running, int most) {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < Math.min(most, running.size()); i++) {
      ids.add(running.path(i).asText());
    }
    return ids;
  }

  /** Returns the first running attempt of a reduce, or null. */
  static ReduceAttempt runningAttempt(JsonNode attempt) {
    try {
      return attempt.isNull() ? null : new ReduceAttempt(attempt);
    } catch (IllegalArgumentException e) {
      // Its container has no valid id.
      return null;
    }
  }

  /** Progress of an attempt of a reduce. */
  static final class ReduceAttempt {
    final ContainerId container;
    /** From 0 to 1: a third each for copying, sorting and reducing. */
    final double progress;
    /** When the reduce function began, by the AM's clock; {@link #UNKNOWN} before. */
    final long reducingSinceMs;

    private ReduceAttempt(JsonNode attempt) {
      container = ContainerId.fromString(attempt.path(0).asText());
      progress = attempt.path(1).asDouble();
      reducingSinceMs = attempt.path(2).asLong();
    }
  }

  /** Numbers of maps and reduces, all and succeeded; any may be {@link #UNKNOWN}. */
  static final class Totals {
    final long maps;
    final long reduces;
    final long mapsDone;
    final long reducesDone;

    Totals(JsonNode totals) {
      maps = totals.path(0).asLong();
      reduces = totals.path(1).asLong();
      mapsDone = totals.path(2).asLong();
      reducesDone = totals.path(3).asLong();
    }
  }

  /** The bytes that a job's tasks have moved. */
  static final class Moved {
    final long input;
    final long mapOutput;
    final long shuffled;
    final long written;

    Moved(JsonNode moved) {
      input = moved.path(0).asLong();
      mapOutput = moved.path(1).asLong();
      shuffled = moved.path(2).asLong();
      written = moved.path(3).asLong();
    }
  }
}
