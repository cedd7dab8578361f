/*
 * Measures how much of a job's time it waits for containers, by looking often.
 */
package io.heddle.integration.grants;

import java.util.function.BooleanSupplier;

/** Looks from its creation to {@link #stop} or {@link #close}, in a thread of its own. */
final class WaitMeter implements AutoCloseable {
  /** Short beside the second between two reports of a node. */
  private static final int PERIOD_MS = 20;

  private final Thread thread;
  private volatile boolean over;
  private long waitedNanos;
  private RuntimeException failure;

  WaitMeter(BooleanSupplier waits) {
    thread = new Thread(() -> look(waits), "waiting");
    thread.setDaemon(true);
    thread.start();
  }

  private void look(BooleanSupplier waits) {
    try {
      long before = System.nanoTime();
      while (!over) {
        Thread.sleep(PERIOD_MS);
        boolean waiting = waits.getAsBoolean();
        long now = System.nanoTime();
        if (waiting) {
          waitedNanos += now - before;
        }
        before = now;
      }
    } catch (RuntimeException e) {
      failure = e;
    } catch (InterruptedException e) {
      failure = new IllegalStateException(e);
    }
  }

  /** Returns the ms of waiting. */
  double stop() throws InterruptedException {
    over = true;
    thread.join();
    if (failure != null) {
      throw failure;
    }
    return waitedNanos / 1e6;
  }

  /** Stops it without a result: after a failed job, too, it must not ask a cluster that closes. */
  @Override
  public void close() {
    over = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
