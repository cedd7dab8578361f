package io.heddle.integration.web;

import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.queues.QueueReports;

/** Heddle with a source for the web that can be made to fail with an unexpected error. */
public final class ThrowingScheduler extends HeddleScheduler {
  static volatile boolean broken;

  @Override
  public QueueReports queueReports() {
    if (broken) {
      throw new StackOverflowError("provoked by a test");
    }
    return super.queueReports();
  }
}
