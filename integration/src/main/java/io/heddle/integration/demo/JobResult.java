/*
 * What became of one job of a run: plain numbers that outlive the cluster. Compares nothing.
 */
package io.heddle.integration.demo;

/** One row of the closing table. */
final class JobResult {
  final String user;
  /** What the workload calls it. */
  final String plan;
  /** What users read: with its goal, if it has one. */
  final String name;
  DemoJob.State state = DemoJob.State.PLANNED;
  /** Time in which it wanted a container that it had not got. */
  long waitedMs;
  /** From its submission to its end. */
  long tookMs;
  /** In what time it should have ended; 0 if it has no goal. */
  long goalMs;
  /** When it ended, in milliseconds since the first job's submission. */
  long endedMs;
  /** What was expected of that; null if nobody was asked. */
  Forecast forecast;
  /** Containers on the host that was asked for, on its rack, elsewhere. */
  int[] localities = new int[3];
  /** What its reduces fetched, and how much of that from the other rack. */
  double shuffledBytes;
  double crossRackBytes;

  JobResult(String user, String plan, String name) {
    this.user = user;
    this.plan = plan;
    this.name = name;
  }

  boolean succeeded() {
    return state == DemoJob.State.SUCCEEDED;
  }

  boolean metItsGoal() {
    return goalMs > 0 && succeeded() && tookMs <= goalMs;
  }
}
