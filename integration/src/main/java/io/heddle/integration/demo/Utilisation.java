/*
 * How much of the cluster was used over the demo: a mean over time of the snapshots, in all and for
 * the time in which somebody was waiting for a container.
 */
package io.heddle.integration.demo;

/** Weighs each snapshot with the time until the next one. */
final class Utilisation {
  private double lastUsed;
  private boolean lastWaiting;
  private long lastMs = -1;
  private double usedMs;
  private long totalMs;
  private double usedWhileWaitingMs;
  private long waitingMs;

  /** Adds what was seen at this time. */
  void add(long nowMs, Snapshot now) {
    if (lastMs >= 0) {
      long spanMs = nowMs - lastMs;
      usedMs += lastUsed * spanMs;
      totalMs += spanMs;
      if (lastWaiting) {
        usedWhileWaitingMs += lastUsed * spanMs;
        waitingMs += spanMs;
      }
    }
    lastMs = nowMs;
    lastUsed = now.used();
    lastWaiting = now.pending() > 0;
  }

  /** In a sentence. */
  String describe() {
    String all =
        String.format(
            "The cluster's memory was %s used over %.0f s",
            Picture.percent(totalMs == 0 ? 0 : usedMs / totalMs), totalMs / 1000.0);
    return waitingMs == 0
        ? all + "."
        : all
            + String.format(
                ", and %s in the %.0f s in which a container was waited for.",
                Picture.percent(usedWhileWaitingMs / waitingMs), waitingMs / 1000.0);
  }
}
