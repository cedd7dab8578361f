/*
 * Several concurrent clients of the API, each as fast as it is answered or at a rate, and the times
 * of their requests. They are threads of this JVM and take processor time from the scheduler. That
 * is a part of what is measured; on few cores it is the larger part, unless a rate bounds it.
 */
package io.heddle.integration.bench;

import io.heddle.integration.bench.ApiClient.Question;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Clients and their measurements. */
final class ApiClients {
  private final String address;
  /** Least time from one request of a client to its next. */
  private final long periodNanos;
  private final List<Asking> threads = new ArrayList<>();
  private volatile boolean stopped;
  private long beganNanos;
  private double seconds;

  /**
   * Waits until all requests are answered.
   *
   * @param rate requests per second of all clients together; 0 for no limit
   */
  ApiClients(String address, int clients, int rate) throws Exception {
    this.address = address;
    periodNanos = rate == 0 ? 0 : 1_000_000_000L * clients / rate;
    ApiClient first = new ApiClient(address);
    for (Question question : Question.values()) {
      first.awaitAnswer(question);
    }
    for (int c = 0; c < clients; c++) {
      threads.add(new Asking(c));
    }
  }

  void start() {
    beganNanos = System.nanoTime();
    threads.forEach(Thread::start);
  }

  /** Ends all clients after their current answers. */
  void stop() {
    stopped = true;
    seconds = (System.nanoTime() - beganNanos) / 1e9;
    for (Asking thread : threads) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while clients end", e);
      }
      if (thread.problem != null) {
        throw new IllegalStateException("a request failed", thread.problem);
      }
    }
  }

  double seconds() {
    return seconds;
  }

  /** Returns the sorted times of all answers to a question in ns; of all questions for null. */
  long[] latencies(Question question) {
    int size = 0;
    for (Asking thread : threads) {
      for (Question of : Question.values()) {
        size += question == null || of == question ? thread.counts[of.ordinal()] : 0;
      }
    }
    long[] all = new long[size];
    int at = 0;
    for (Asking thread : threads) {
      for (Question of : Question.values()) {
        if (question == null || of == question) {
          int count = thread.counts[of.ordinal()];
          System.arraycopy(thread.nanos[of.ordinal()], 0, all, at, count);
          at += count;
        }
      }
    }
    Arrays.sort(all);
    return all;
  }

  /** One client. */
  private final class Asking extends Thread {
    private final long[][] nanos = new long[Question.values().length][1024];
    private final int[] counts = new int[Question.values().length];
    private final ApiClient client;
    private final int first;
    private Exception problem;

    Asking(int first) throws Exception {
      super("api-client-" + first);
      setDaemon(true);
      this.first = first;
      client = new ApiClient(address);
    }

    @Override
    public void run() {
      Question[] questions = Question.values();
      try {
        // Each client begins with another question.
        for (int n = first; !stopped; n++) {
          Question question = questions[n % questions.length];
          awaitTurn(n - first);
          if (stopped) {
            return;
          }
          long began = System.nanoTime();
          int status = client.ask(question);
          note(question.ordinal(), System.nanoTime() - began);
          if (status != 200) {
            throw new IllegalStateException(question.path + " answers " + status);
          }
        }
      } catch (Exception e) {
        problem = e;
      }
    }

    /** Waits for this client's turn. A client behind its rate sends at once until it catches up. */
    private void awaitTurn(int turn) throws InterruptedException {
      long offset = periodNanos * first / threads.size();
      long left = beganNanos + offset + turn * periodNanos - System.nanoTime();
      if (left > 0) {
        TimeUnit.NANOSECONDS.sleep(left);
      }
    }

    private void note(int question, long took) {
      if (counts[question] == nanos[question].length) {
        nanos[question] = Arrays.copyOf(nanos[question], counts[question] * 2);
      }
      nanos[question][counts[question]++] = took;
    }
  }
}
