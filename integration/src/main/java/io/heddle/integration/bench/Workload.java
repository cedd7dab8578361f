/*
 * One workload: a cluster, applications, and the part of their run that is measured. A workload
 * works with any scheduler.
 */
package io.heddle.integration.bench;

/** A scripted load. */
interface Workload {
  /** The unit of a workload's rates. */
  enum Unit {
    /** Containers placed per second. */
    CONTAINERS,
    /** Heartbeats per second: nothing can be placed. */
    HEARTBEATS
  }

  /** Returns its name on the command line and in the tables. */
  String name();

  /** Returns a description of one line. */
  String description();

  Unit unit();

  /** Returns the number of applications with pending asks if workloads vary only it, else 0. */
  default int waitingApplications() {
    return 0;
  }

  /** Returns the largest number of rounds to measure, whatever the options say. */
  default int mostRounds() {
    return Integer.MAX_VALUE;
  }

  Shape shape();

  /**
   * Runs it on a fresh cluster and checks the result.
   *
   * @param warmUp whether this is a shorter run whose figures are dropped
   */
  Measurement run(Driver driver, boolean warmUp);
}
