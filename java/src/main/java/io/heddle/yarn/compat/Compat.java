package io.heddle.yarn.compat;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.ClusterMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;

/**
 * The few members of Hadoop that differ between 3.3.6, 3.4.3 and 3.5.0, looked up once by presence,
 * not by version number. The jar is compiled against 3.3.6; everything else that it uses is the
 * same in all three. {@link LinkCheck} refuses a Hadoop with no known form of a member.
 */
public final class Compat {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();
  private static final Set<String> MISSING = new TreeSet<>();

  // 3.4 added a flag for unmanaged AMs to these; 3.3.6 has them without it.
  private static final MethodHandle NEW_APPLICATION = newApplication();
  private static final MethodHandle SUBMIT_APP = submit("submitApp");
  private static final MethodHandle SUBMIT_ATTEMPT = submit("submitAppAttempt");
  // 3.4 and later; clients of 3.3.6 do not know these fields.
  private static final MethodHandle SET_QUEUE_PATH = optionalSetter("setQueuePath", String.class);
  private static final MethodHandle SET_SCHEDULER_TYPE =
      optionalSetter("setSchedulerType", String.class);
  private static final MethodHandle SET_WEIGHT = optionalSetter("setWeight", float.class);
  private static final MethodHandle SET_MAX_PARALLEL_APPS =
      optionalSetter("setMaxParallelApps", int.class);
  private static final MethodHandle[] SET_FAIR = {
      optionalSetter("setMinResourceMemory", long.class),
      optionalSetter("setMaxResourceMemory", long.class),
      optionalSetter("setSteadyFairShareMemory", long.class),
  };
  private static final MethodHandle[] SET_FAIR_VCORES = {
      optionalSetter("setMinResourceVCore", int.class),
      optionalSetter("setMaxResourceVCore", int.class),
      optionalSetter("setSteadyFairShareVCore", int.class),
  };
  private static final MethodHandle SET_MAX_RUNNING_APP =
      optionalSetter("setMaxRunningApp", int.class);
  private static final boolean KNOWS_FAIR = method(QueueInfo.class, "setMaxRunningApp",
      MethodType.methodType(void.class, int.class)) != null;

  // 3.4 and later count the containers of each second.
  private static final MethodHandle COUNT_ASSIGNED = countAssigned0();

  private Compat() {}

  private static MethodHandle newApplication() {
    MethodType common =
        MethodType.methodType(void.class, Queue.class, String.class, Priority.class);
    MethodType wanted = MethodType.methodType(
        SchedulerApplication.class, Queue.class, String.class, Priority.class, boolean.class);
    MethodHandle withFlag =
        constructor(SchedulerApplication.class, common.appendParameterTypes(boolean.class));
    if (withFlag != null) {
      return withFlag.asType(wanted);
    }
    MethodHandle without = constructor(SchedulerApplication.class, common);
    return without == null ? missing("a constructor of SchedulerApplication")
        : MethodHandles.dropArguments(without, 3, boolean.class).asType(wanted);
  }

  private static MethodHandle submit(String name) {
    MethodType common = MethodType.methodType(void.class, String.class);
    MethodHandle withFlag =
        method(QueueMetrics.class, name, common.appendParameterTypes(boolean.class));
    if (withFlag != null) {
      return withFlag;
    }
    MethodHandle without = method(QueueMetrics.class, name, common);
    return without == null ? missing("QueueMetrics." + name)
        : MethodHandles.dropArguments(without, 2, boolean.class);
  }

  private static MethodHandle countAssigned0() {
    MethodType none = MethodType.methodType(void.class);
    MethodHandle counter = method(ClusterMetrics.class, "incrNumContainerAssigned", none);
    return counter != null ? counter : MethodHandles.dropArguments(
        MethodHandles.constant(Void.class, null).asType(none), 0, ClusterMetrics.class);
  }

  private static MethodHandle optionalSetter(String name, Class<?> type) {
    MethodHandle setter =
        method(QueueInfo.class, name, MethodType.methodType(void.class, type));
    // Without the setter, a handle that ignores its arguments.
    return setter != null ? setter : MethodHandles.dropArguments(
        MethodHandles.constant(Void.class, null).asType(MethodType.methodType(void.class)),
        0, QueueInfo.class, type);
  }

  private static MethodHandle constructor(Class<?> type, MethodType signature) {
    try {
      return LOOKUP.findConstructor(type, signature);
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  private static MethodHandle method(Class<?> type, String name, MethodType signature) {
    try {
      return LOOKUP.findVirtual(type, name, signature);
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return null;
    }
  }

  private static MethodHandle missing(String what) {
    MISSING.add(what + " that Heddle knows");
    return null;
  }

  /** Returns the members without a known form; the static initializers above looked up all. */
  static Set<String> missing() {
    return MISSING;
  }

  /** Makes YARN's object for an application. */
  @SuppressWarnings("unchecked")
  public static <T extends SchedulerApplicationAttempt> SchedulerApplication<T> newApplication(
      Queue queue, String user, Priority priority, boolean unmanagedAm) {
    try {
      return (SchedulerApplication<T>) (SchedulerApplication<?>)
          (SchedulerApplication) NEW_APPLICATION.invokeExact(queue, user, priority, unmanagedAm);
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Counts a submitted application in a queue's metrics. */
  public static void submitApp(QueueMetrics metrics, String user, boolean unmanagedAm) {
    try {
      SUBMIT_APP.invokeExact(metrics, user, unmanagedAm);
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Counts a submitted attempt in a queue's metrics. */
  public static void submitAppAttempt(QueueMetrics metrics, String user, boolean unmanagedAm) {
    try {
      SUBMIT_ATTEMPT.invokeExact(metrics, user, unmanagedAm);
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Counts a container in the cluster's metrics, if this Hadoop does. */
  public static void countAssigned() {
    try {
      COUNT_ASSIGNED.invokeExact(ClusterMetrics.getMetrics());
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Sets the fields of a queue's description that 3.4 added. */
  public static void describeQueue(
      QueueInfo info, String path, String schedulerType, float weight, int maxParallelApps) {
    try {
      SET_QUEUE_PATH.invokeExact(info, path);
      SET_SCHEDULER_TYPE.invokeExact(info, schedulerType);
      SET_WEIGHT.invokeExact(info, weight);
      SET_MAX_PARALLEL_APPS.invokeExact(info, maxParallelApps);
    } catch (Throwable e) {
      throw rethrow(e);
    }
  }

  /** Sets the fields about the Fair Scheduler's queues; false if this Hadoop has none. */
  public static boolean describeFairQueue(
      QueueInfo info, Resource least, Resource most, Resource steady, int maxRunningApps) {
    Resource[] amounts = {least, most, steady};
    try {
      for (int i = 0; i < amounts.length; i++) {
        SET_FAIR[i].invokeExact(info, amounts[i].getMemorySize());
        SET_FAIR_VCORES[i].invokeExact(info, amounts[i].getVirtualCores());
      }
      SET_MAX_RUNNING_APP.invokeExact(info, maxRunningApps);
    } catch (Throwable e) {
      throw rethrow(e);
    }
    return KNOWS_FAIR;
  }

  /** Whether queues of the Capacity Scheduler have vectors of capacities, as in 3.4 and later. */
  public static boolean hasCapacityVectors() {
    return webClass("dao.QueueCapacityVectorInfo") != null;
  }

  /**
   * Whether the ResourceManager's REST writes empty maps. It does with Jersey 1, whose filter its
   * own web filter extends; the library of 3.5.0 leaves them out.
   */
  public static boolean writesEmptyMaps() {
    Class<?> filter = webClass("RMWebAppFilter");
    return filter != null && filter.getSuperclass().getName().startsWith("com.sun.jersey.");
  }

  private static Class<?> webClass(String name) {
    try {
      return Class.forName("org.apache.hadoop.yarn.server.resourcemanager.webapp." + name, false,
          Compat.class.getClassLoader());
    } catch (ClassNotFoundException | LinkageError e) {
      return null;
    }
  }

  static RuntimeException rethrow(Throwable e) {
    if (e instanceof RuntimeException) {
      return (RuntimeException) e;
    }
    if (e instanceof Error) {
      throw (Error) e;
    }
    return new YarnRuntimeException(e);
  }
}
