/*
 * Which of some sorted samples is a quantile.
 */
package io.heddle.integration;

/** The sample above this share of all samples. */
public final class Quantiles {
  private Quantiles() {}

  /** Returns its index among this many samples, of which there is at least one. */
  public static int index(int samples, double q) {
    return (int) Math.min(samples - 1L, (long) (q * samples));
  }
}
