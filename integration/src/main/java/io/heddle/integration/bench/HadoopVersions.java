/*
 * The few members of YARN used by the stub that differ between the supported Hadoop versions: they
 * gained a flag for unmanaged AMs after 3.3.6. The rest of the bench is the same for all.
 */
package io.heddle.integration.bench;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;

/** Calls that work with every supported version. */
final class HadoopVersions {
  private static final MethodHandle NEW_APPLICATION;
  private static final MethodHandle SUBMIT_APP;
  private static final MethodHandle SUBMIT_ATTEMPT;

  static {
    NEW_APPLICATION = newApplicationHandle();
    SUBMIT_APP = metric("submitApp");
    SUBMIT_ATTEMPT = metric("submitAppAttempt");
  }

  private HadoopVersions() {}

  private static MethodHandle newApplicationHandle() {
    MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    try {
      try {
        return MethodHandles.insertArguments(lookup.findConstructor(SchedulerApplication.class,
            MethodType.methodType(void.class, Queue.class, String.class, boolean.class)), 2, false);
      } catch (NoSuchMethodException olderThan34) {
        return lookup.findConstructor(SchedulerApplication.class,
            MethodType.methodType(void.class, Queue.class, String.class));
      }
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static MethodHandle metric(String name) {
    MethodHandles.Lookup lookup = MethodHandles.publicLookup();
    try {
      try {
        return MethodHandles.insertArguments(lookup.findVirtual(QueueMetrics.class, name,
            MethodType.methodType(void.class, String.class, boolean.class)), 2, false);
      } catch (NoSuchMethodException olderThan34) {
        return lookup.findVirtual(QueueMetrics.class, name,
            MethodType.methodType(void.class, String.class));
      }
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unchecked")
  static SchedulerApplication<BookkeepingAttempt> newApplication(Queue queue, String user) {
    try {
      return (SchedulerApplication<BookkeepingAttempt>) (SchedulerApplication<?>)
          NEW_APPLICATION.invoke(queue, user);
    } catch (Throwable e) {
      throw new IllegalStateException("cannot make a SchedulerApplication", e);
    }
  }

  static void submitApp(QueueMetrics metrics, String user) {
    call(SUBMIT_APP, metrics, user);
  }

  static void submitAttempt(QueueMetrics metrics, String user) {
    call(SUBMIT_ATTEMPT, metrics, user);
  }

  private static void call(MethodHandle metric, QueueMetrics metrics, String user) {
    try {
      metric.invoke(metrics, user);
    } catch (Throwable e) {
      throw new IllegalStateException("cannot update the queue metrics", e);
    }
  }
}
