package io.heddle.integration.hadoop;

import java.util.concurrent.TimeUnit;

/** Interrupts a test that takes too long: some wait in a loop for what never comes. */
final class Watch extends Thread {
  private static final long LIMIT_S = Long.getLong("heddle.hadoop-tests.limit-s", 120);

  private final Thread watched;
  private long endsAt = Long.MAX_VALUE;

  Watch(Thread watched) {
    super("watch");
    this.watched = watched;
    setDaemon(true);
  }

  /** Notes that a test begins, or that none runs. */
  synchronized void begin(boolean test) {
    endsAt = test ? System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_S) : Long.MAX_VALUE;
    // A test that ended just before its limit must not interrupt the next one.
    Thread.interrupted();
  }

  @Override
  public void run() {
    while (true) {
      try {
        Thread.sleep(500);
      } catch (InterruptedException e) {
        return;
      }
      synchronized (this) {
        if (endsAt != Long.MAX_VALUE && System.nanoTime() >= endsAt) {
          endsAt = Long.MAX_VALUE;
          watched.interrupt();
        }
      }
    }
  }
}
