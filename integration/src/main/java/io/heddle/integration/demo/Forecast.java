/*
 * The engine's prediction of a job's end, with the band that four of five jobs end in. Reads an
 * answer; predicts nothing itself.
 */
package io.heddle.integration.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.yarn.HeddleScheduler;
import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** Times in milliseconds since the first job's submission. */
final class Forecast {
  private static final ObjectMapper JSON = new ObjectMapper();

  final long madeMs;
  final long earliestMs;
  final long expectedMs;
  final long latestMs;

  private Forecast(long madeMs, long earliestMs, long expectedMs, long latestMs) {
    this.madeMs = madeMs;
    this.earliestMs = earliestMs;
    this.expectedMs = expectedMs;
    this.latestMs = latestMs;
  }

  /** Asks for the current prediction; empty unless Heddle schedules and knows the application. */
  static Optional<Forecast> ask(MiniCluster cluster, ApplicationId id, long nowMs)
      throws IOException {
    if (!(cluster.scheduler() instanceof HeddleScheduler)) {
      return Optional.empty();
    }
    String answer = ((HeddleScheduler) cluster.scheduler()).predict(id);
    return answer == null ? Optional.empty() : read(answer, nowMs);
  }

  /** Reads an answer and converts its times to the demo's clock, which shows {@code nowMs}. */
  static Optional<Forecast> read(String answer, long nowMs) throws IOException {
    JsonNode root = JSON.readTree(answer);
    JsonNode end = root.path("jobs").path(0).path("end");
    if (end.isMissingNode()) {
      return Optional.empty();
    }
    long shiftMs = nowMs - root.path("now_ms").asLong();
    return Optional.of(
        new Forecast(
            nowMs,
            end.path("earliest_ms").asLong() + shiftMs,
            end.path("expected_ms").asLong() + shiftMs,
            end.path("latest_ms").asLong() + shiftMs));
  }

  boolean holds(long endedMs) {
    return earliestMs <= endedMs && endedMs <= latestMs;
  }
}
