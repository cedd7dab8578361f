package io.heddle.yarn;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;

/** Runs long work in parts, and lets others have the lock in between. */
final class ShortHolds {
  /** A part that took longer is followed by a pause. */
  private static final long LONG_NANOS = 1_000_000;
  private static final long PAUSE_NANOS = 100_000;

  private ShortHolds() {}

  /** Runs one part with the lock held. */
  static void run(Lock lock, Runnable part) {
    lock.lock();
    long begun = System.nanoTime();
    try {
      part.run();
    } finally {
      lock.unlock();
    }
    if (System.nanoTime() - begun > LONG_NANOS) {
      // YARN's lock is not fair: this thread would take it again before threads that wait.
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }
}
