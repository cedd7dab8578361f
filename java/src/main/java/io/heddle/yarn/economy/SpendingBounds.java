package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.SetupJson;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A job's limits of spending its queue's credits, as they were signed when the job was submitted.
 * The engine counts and stops; this is kept so that a new engine can be told again.
 *
 * <p>Immutable. Amounts in millionths of a credit.
 */
public final class SpendingBounds {
  /** Of a job that may spend nothing. */
  public static final SpendingBounds NOTHING = new SpendingBounds(0, 0, 0);

  private final long creditsMicro;
  private final long rateMicro;
  private final long untilMs;

  /**
   * Makes them.
   *
   * @param creditsMicro in all
   * @param rateMicro highest bid per slot and interval
   * @param untilMs until when, on the engine's monotonic clock
   */
  private SpendingBounds(long creditsMicro, long rateMicro, long untilMs) {
    this.creditsMicro = creditsMicro;
    this.rateMicro = rateMicro;
    this.untilMs = untilMs;
  }

  /** Reads what the library says of a job; null for a job that spends what its queue has. */
  public static SpendingBounds read(JsonNode bounds) {
    if (!bounds.isObject()) {
      return null;
    }
    long untilMs = EngineClock.toMonotonic(bounds.path("until_ms").asLong());
    // A time before the machine started is over, whichever it is.
    return new SpendingBounds(bounds.path("credits_micro").asLong(),
        bounds.path("rate_micro").asLong(), Math.max(0, untilMs));
  }

  /** Returns the request that tells the engine of them. */
  public String request(int job, ApplicationId application) {
    String name = application.getClusterTimestamp() + "_" + application.getId();
    return SetupJson.request("authorize", "job", job, "application", name,
        "credits_micro", creditsMicro, "rate_micro", rateMicro, "until_ms", untilMs);
  }
}
