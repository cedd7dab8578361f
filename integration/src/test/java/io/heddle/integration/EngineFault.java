/*
 * Breaks Heddle's engine on purpose. It works only if the configuration says
 * {"testing": {"faults": true}}.
 */
package io.heddle.integration;

import io.heddle.yarn.HeddleScheduler;

/** Knows the codes of faults; the engine does the rest. */
final class EngineFault {
  private static final int PANIC = 1;

  private EngineFault() {}

  /** Makes the engine panic in its next step. */
  static void panic(HeddleScheduler scheduler) {
    scheduler.inspection().injectFault(PANIC);
  }
}
