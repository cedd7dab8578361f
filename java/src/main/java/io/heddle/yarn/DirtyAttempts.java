package io.heddle.yarn;

import io.heddle.yarn.engine.FrameWriter;
import java.util.Arrays;

/**
 * The attempts that have something to tell the engine. AM heartbeats add to it, the scheduler
 * thread empties it; each attempt is on it at most once.
 *
 * <p>The monitor is the last of all locks and is held for a few instructions.
 */
final class DirtyAttempts {
  private HeddleAppAttempt[] waiting = new HeddleAppAttempt[64];
  private HeddleAppAttempt[] spare = new HeddleAppAttempt[64];
  private volatile int size;

  /** Adds an attempt; it keeps track itself of being on the list. */
  synchronized void add(HeddleAppAttempt attempt) {
    if (size == waiting.length) {
      waiting = Arrays.copyOf(waiting, size * 2);
    }
    waiting[size] = attempt;
    size++;
  }

  /** Whether the list is empty; a glance that takes no lock. */
  boolean isEmpty() {
    return size == 0;
  }

  /**
   * Writes the changes of all listed attempts and empties the list. With the scheduler's write lock
   * held, so that only one thread does.
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
        // The others must not be forgotten: each counts itself as listed.
        for (int rest = i + 1; rest < count; rest++) {
          add(batch[rest]);
          batch[rest] = null;
        }
        throw e;
      }
    }
  }
}
