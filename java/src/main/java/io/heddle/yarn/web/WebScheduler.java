package io.heddle.yarn.web;

import io.heddle.yarn.queues.QueueReports;

/** A scheduler, as far as the filter needs it for answers. */
public interface WebScheduler {
  /** Returns the source of pages and REST answers; null before the scheduler is initialised. */
  QueueReports queueReports();

  /** Returns the handler of {@code /heddle}, {@code /scheduler} and all below them, or null. */
  WebHandler webHandler();

  /** Returns the check of changes of the configuration, or null if that cannot be changed. */
  ConfigurationCheck configurationCheck();
}
