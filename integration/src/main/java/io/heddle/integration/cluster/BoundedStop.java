/*
 * Stops parts of the embedded cluster. All of them are Hadoop's own code, which has waits without a
 * bound; a test class must end all the same, and say what hung.
 */
package io.heddle.integration.cluster;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Runs one stop in a thread of its own, for a limited time. */
final class BoundedStop {
  /** Some seconds are usual for each part. */
  static final int SECONDS = 90;

  private BoundedStop() {}

  /** A part did not stop; it is left to the end of this JVM. */
  static final class Hang extends RuntimeException {
    private static final long serialVersionUID = 1;

    private Hang(String message) {
      super(message);
    }
  }

  /**
   * Returns once the part has stopped; throws what its stop throws.
   *
   * @param what the part's name, for messages
   * @throws Hang after that time, with its stack, and those of all other threads in its message
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

  /** The same at the end of a cluster: a hang is printed, and the rest is stopped. */
  static void runOrTell(String what, int seconds, Runnable stop) {
    try {
      run(what, seconds, stop);
    } catch (Hang e) {
      e.printStackTrace(System.out);
    }
  }

  /** What hangs often waits for another thread, so that its own stack says little. */
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
