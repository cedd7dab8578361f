/*
 * One measured time.
 */
package io.heddle.integration.grants;

/** A figure's name, the load of the cluster, and a time in ms. */
final class Reading {
  static final String GRANT = "ask to grant";
  static final String START = "ask to start";

  final String load;
  final String figure;
  final double ms;

  Reading(String load, String figure, double ms) {
    this.load = load;
    this.figure = figure;
    this.ms = ms;
  }
}
