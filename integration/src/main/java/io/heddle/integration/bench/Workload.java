/*
 * One workload: a cluster, applications, and which part of their life is measured. A workload
 * knows no scheduler.
 */
package io.heddle.integration.bench;

/** A scripted load. */
interface Workload {
  /** What a rate of this workload counts. */
  enum Unit {
    /** Containers placed per second. */
    CONTAINERS,
    /** Heartbeats per second: nothing can be placed. */
    HEARTBEATS
  }

  /** Its name on the command line and in the tables. */
  String name();

  /** One line for people. */
  String description();

  Unit unit();

  /** Applications with pending asks, for the workloads that vary only this; else 0. */
  default int waitingApplications() {
    return 0;
  }

  /** As many rounds are measured at the most, however many were asked for. */
  default int mostRounds() {
    return Integer.MAX_VALUE;
  }

  Shape shape();

  /**
   * Runs it on a fresh cluster and checks what came out.
   *
   * @param warmUp a shorter run whose figures are thrown away
   */
  Measurement run(Driver driver, boolean warmUp);
}
