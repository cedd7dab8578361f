package io.heddle.yarn.compat;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.state.StateMachine;

/**
 * The state machine and the lock of YARN's containers, which are private there. If a version of
 * Hadoop has them under other names, {@link #known} is false, and YARN's own methods are used.
 */
public final class ContainerStates {
  private static final MethodHandle MACHINE = getter("stateMachine", StateMachine.class);
  private static final MethodHandle LOCK = getter("writeLock", Lock.class);

  private ContainerStates() {}

  private static MethodHandle getter(String name, Class<?> type) {
    try {
      Field field = RMContainerImpl.class.getDeclaredField(name);
      field.setAccessible(true);
      return MethodHandles.lookup().unreflectGetter(field)
          .asType(MethodType.methodType(type, RMContainerImpl.class));
    } catch (ReflectiveOperationException | RuntimeException e) {
      return null;
    }
  }

  /** Returns whether this Hadoop's containers have both. */
  public static boolean known() {
    return MACHINE != null && LOCK != null;
  }

  /** Returns a container's state machine. */
  @SuppressWarnings("unchecked")
  public static StateMachine<RMContainerState, RMContainerEventType, RMContainerEvent> machine(
      RMContainerImpl container) {
    try {
      return (StateMachine<RMContainerState, RMContainerEventType, RMContainerEvent>)
          (StateMachine<?, ?, ?>) (StateMachine) MACHINE.invokeExact(container);
    } catch (Throwable e) {
      throw Compat.rethrow(e);
    }
  }

  /** Returns the lock under which a container changes its state. */
  public static Lock lock(RMContainerImpl container) {
    try {
      return (Lock) LOCK.invokeExact(container);
    } catch (Throwable e) {
      throw Compat.rethrow(e);
    }
  }
}
