package io.heddle.yarn;

import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsInfo;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.lib.Interns;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the failures that the scheduler survived, for Hadoop's metrics: the record {@value #NAME}
 * in the context {@code yarn}. Any thread may count.
 */
final class Failures extends SchedulerMetrics {
  static final String NAME = "HeddleFailures";

  private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

  /** A kind of failure with a counter of its own. */
  enum Kind {
    EXCEPTION("ExceptionsCaught", "Errors caught in events, heartbeats and ticks"),
    REBUILD("EngineRebuilds", "Engines that replaced a lost one"),
    DIFFERENCE("Differences", "Differences between the scheduler's books, seen twice in a row"),
    JOB_PUT_ASIDE("JobsPutAside", "Applications that were put aside for repeated faults"),
    NODE_PUT_ASIDE("NodesPutAside", "Nodes that were put aside for repeated faults");

    private final MetricsInfo info;

    Kind(String name, String description) {
      info = Interns.info(name, description);
    }
  }

  private final AtomicLongArray counts = new AtomicLongArray(Kind.values().length);

  Failures() {
    super(NAME, "Failures that Heddle survived");
  }

  /**
   * Returns whether a call was interrupted. Only a ResourceManager that stops, in a failover too,
   * interrupts the threads of its calls.
   */
  static boolean isStop(Throwable e) {
    return e.getCause() instanceof InterruptedException;
  }

  /** Counts and logs an unexpected error, except an interruption by the ResourceManager's stop. */
  void caught(String what, Throwable e) {
    if (isStop(e)) {
      LOG.info("The ResourceManager stops in {}", what);
      return;
    }
    count(Kind.EXCEPTION);
    LOG.error("Error in {}; all books are compared at the next tick", what, e);
  }

  void count(Kind kind) {
    counts.incrementAndGet(kind.ordinal());
  }

  long get(Kind kind) {
    return counts.get(kind.ordinal());
  }

  @Override
  public void getMetrics(MetricsCollector collector, boolean all) {
    MetricsRecordBuilder record = collector.addRecord(NAME).setContext("yarn");
    for (Kind kind : Kind.values()) {
      record.addCounter(kind.info, get(kind));
    }
  }
}
