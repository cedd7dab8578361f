/*
 * Stops parts of the embedded cluster within a time limit. Hadoop's own code has unbounded waits,
 * but a test class must end and say what hung.
 */
package io.heddle.integration.cluster;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Runs one stop in a thread of its own, for a limited time. */
final class BoundedStop {
  /** Time limit for each part, which usually needs a few seconds. */
  static final int SECONDS = Await.SECONDS;

  private BoundedStop() {}

  /** Thrown for a part that did not stop. It runs on until this JVM ends. */
  static final class Hang extends RuntimeException {
    private static final long serialVersionUID = 1;

    private Hang(String message) {
      super(message);
    }
  }

  /**
   * Returns once the part has stopped; passes on its exception.
   *
   * @param what the part's name, for messages
   * @throws Hang after the time limit, with the part's stack, and all other threads' in the message
   */
  static void run(String what, int seconds, Runnable stop) {
    CompletableFuture<Void> stopped = new CompletableFuture<>();
    Thread thread = new Thread(() -> {
      try {
        stop.run();
        stopped.complete(null);
      } catch (RuntimeException | Error e) {
        stopped.completeExceptionally(e);
      }
    }, "stop of " + what);
    thread.setDaemon(true);
    thread.start();
    try {
      thread.join(TimeUnit.SECONDS.toMillis(seconds));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      Hang hang =
          new Hang(what + " did not stop in " + seconds + " s. Threads:\n" + others(thread));
      hang.setStackTrace(thread.getStackTrace());
      throw hang;
    }
    try {
      stopped.join();
    } catch (CompletionException e) {
      throw new IllegalStateException(what + " failed to stop", e.getCause());
    }
  }

  /** Stops a part at the end of a cluster; prints a hang, so that the other parts are stopped. */
  static void runOrTell(String what, int seconds, Runnable stop) {
    try {
      run(what, seconds, stop);
    } catch (Hang e) {
      e.printStackTrace(System.out);
    }
  }

  /** Returns the stacks of all other threads: a hanging thread often waits for one of them. */
  private static String others(Thread thread) {
    StringBuilder text = new StringBuilder();
    for (Map.Entry<Thread, StackTraceElement[]> other : Thread.getAllStackTraces().entrySet()) {
      if (other.getKey() != thread && other.getValue().length > 0) {
        text.append(other.getKey()).append(' ').append(other.getKey().getState()).append('\n');
        for (StackTraceElement element : other.getValue()) {
          text.append("    ").append(element).append('\n');
        }
      }
    }
    return text.toString();
  }
}
