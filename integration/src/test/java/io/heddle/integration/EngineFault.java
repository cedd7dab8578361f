/*
 * Breaks Heddle's engine on purpose, through the hook that its shim has for tests. It works only if
 * the configuration says {"testing": {"faults": true}}.
 */
package io.heddle.integration;

import io.heddle.yarn.HeddleScheduler;
import java.lang.reflect.Method;

/** Reached by reflection: the hook is not part of what the shim offers to anyone else. */
final class EngineFault {
  private static final int PANIC = 1;

  private EngineFault() {}

  /** Makes the engine panic in its next step. */
  static void panic(HeddleScheduler scheduler) throws Exception {
    Method hook = HeddleScheduler.class.getDeclaredMethod("injectFault", int.class);
    hook.setAccessible(true);
    hook.invoke(scheduler, PANIC);
  }
}
