/*
 * The result of one job of a run: plain numbers that outlive the cluster. Compares nothing.
 */
package io.heddle.integration.demo;

/** One row of the closing table. */
final class JobResult {
  final String user;
  /** Its name in the workload. */
  final String plan;
  /** Its name for users, with its goal if it has one. */
  final String name;
  DemoJob.State state = DemoJob.State.PLANNED;
  /** Time in which it waited for a container. */
  long waitedMs;
  /** Time from its submission to its end. */
  long tookMs;
  /** Its completion goal; 0 for none. */
  long goalMs;
  /** When it ended, in milliseconds since the first job's submission. */
  long endedMs;
  /** The prediction of its end; null without one. */
  Forecast forecast;
  /** Containers on the host asked for, on its rack, elsewhere. */
  int[] localities = new int[3];
  /** The bytes that its reduces fetched, and those from the other rack. */
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
