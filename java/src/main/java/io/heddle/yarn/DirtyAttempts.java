package io.heddle.yarn;

import io.heddle.yarn.engine.FrameWriter;
import java.util.Arrays;

/**
 * The list of attempts with changes to tell the engine. AM heartbeats add to it, and the scheduler
 * thread empties it. Each attempt is on it once; a replay may list it again, which does no harm.
 *
 * <p>The monitor is the last in the lock order and is held for a few instructions.
 */
final class DirtyAttempts {
  private HeddleAppAttempt[] waiting = new HeddleAppAttempt[64];
  private HeddleAppAttempt[] spare = new HeddleAppAttempt[64];
  private volatile int size;

  /** Adds an attempt; the attempt itself avoids adding itself twice. */
  synchronized void add(HeddleAppAttempt attempt) {
    if (size == waiting.length) {
      waiting = Arrays.copyOf(waiting, size * 2);
    }
    waiting[size] = attempt;
    size++;
  }

  /** Returns whether the list is empty, without a lock. */
  boolean isEmpty() {
    return size == 0;
  }

  /**
   * Writes the changes of all listed attempts and empties the list. Called with the scheduler's
   * write lock held, so by one thread at a time.
   */
  void writeTo(FrameWriter out) {
    if (size == 0) {
      return;
    }
    HeddleAppAttempt[] batch;
    int count;
    synchronized (this) {
      batch = waiting;
      count = size;
      waiting = spare;
      spare = batch;
      size = 0;
    }
    for (int i = 0; i < count; i++) {
      HeddleAppAttempt attempt = batch[i];
      batch[i] = null;
      try {
        attempt.writeChanges(out);
      } catch (RuntimeException | Error e) {
        // Lists the others again: each still counts itself as listed.
        for (int rest = i + 1; rest < count; rest++) {
          add(batch[rest]);
          batch[rest] = null;
        }
        throw e;
      }
    }
  }
}
