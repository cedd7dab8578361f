package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.SetupJson;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A job's limits for spending its queue's credits, as signed for its submission. The engine
 * enforces them; this copy is for a rebuilt engine.
 *
 * <p>Immutable. Amounts are in millionths of a credit.
 */
public final class SpendingBounds {
  /** The bounds of a job that may spend nothing. */
  public static final SpendingBounds NOTHING = new SpendingBounds(0, 0, 0);

  private final long creditsMicro;
  private final long rateMicro;
  private final long untilMs;

  /**
   * Makes bounds.
   *
   * @param creditsMicro total credits
   * @param rateMicro highest bid per slot and interval
   * @param untilMs end of the permission, on the engine's monotonic clock
   */
  private SpendingBounds(long creditsMicro, long rateMicro, long untilMs) {
    this.creditsMicro = creditsMicro;
    this.rateMicro = rateMicro;
    this.untilMs = untilMs;
  }

  /** Reads the library's answer about a job; null if only its queue's bounds apply. */
  public static SpendingBounds read(JsonNode bounds) {
    if (!bounds.isObject()) {
      return null;
    }
    long untilMs = EngineClock.toMonotonic(bounds.path("until_ms").asLong());
    // A time before the machine's start would be negative; 0 has passed as well.
    return new SpendingBounds(bounds.path("credits_micro").asLong(),
        bounds.path("rate_micro").asLong(), Math.max(0, untilMs));
  }

  /** Returns the request that tells the engine these bounds. */
  public String request(int job, ApplicationId application) {
    String name = application.getClusterTimestamp() + "_" + application.getId();
    return SetupJson.request("authorize", "job", job, "application", name,
        "credits_micro", creditsMicro, "rate_micro", rateMicro, "until_ms", untilMs);
  }
}
