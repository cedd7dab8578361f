package io.heddle.integration.web;

import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.queues.QueueReports;

/** Heddle, but what the web reads from can be made to fail with an error that nobody expects. */
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
