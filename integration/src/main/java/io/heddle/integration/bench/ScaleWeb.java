/*
 * What a client of the web port sees of a large cluster, and what heartbeats see of the client. One
 * client asks in turn for a page of jobs, for all queues, for the nodes and why one job waits, and
 * meanwhile heartbeats go on as fast as one thread can send them. The same heartbeats without the
 * client come first.
 *
 * All of these times are real time, whatever clock the rest has: the client waits for other
 * threads, and so does a heartbeat. Other work on the machine is in them, and pauses of the JVM's
 * collector.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.bench.ApiClient.Question;
import io.heddle.yarn.HeddleScheduler;
import java.util.Arrays;

/** Measures requests over HTTP beside heartbeats. */
final class ScaleWeb {
  private static final int REQUESTS = 20;
  private static final int QUICK_REQUESTS = 2;
  private static final int ROUNDS_MAX = 1_000_000;
  /** Heartbeats without the client, unless a round has more. */
  private static final int QUIET_HEARTBEATS = 20_000;
  private static final String[] NAMES = {"http_jobs", "http_queues", "http_nodes", "http_explain"};

  private final Driver driver;
  private final HeddleScheduler scheduler;
  private final boolean quick;

  ScaleWeb(Driver driver, HeddleScheduler scheduler, boolean quick) {
    this.driver = driver;
    this.scheduler = scheduler;
    this.quick = quick;
  }

  void measure(ObjectNode row) throws Exception {
    driver.useWallClock();
    int nodes = driver.shape.nodes;
    int[] left = {quick ? nodes : Math.max(nodes, QUIET_HEARTBEATS)};
    driver.startMeasuring();
    driver.roundsUntil("quiet", ROUNDS_MAX, () -> left[0]-- == 0);
    describe(row, "quiet", driver.stopMeasuring());
    try (ApiServer server = new ApiServer(scheduler)) {
      Asking asking = new Asking(server.address, waiting(), quick ? QUICK_REQUESTS : REQUESTS);
      // Of the questions, the one that the books of the accounts answer, which open late.
      asking.client.awaitAnswer(Question.QUEUES);
      driver.startMeasuring();
      asking.start();
      driver.roundsUntil("answered", ROUNDS_MAX, () -> !asking.isAlive());
      describe(row, "asked", driver.stopMeasuring());
      asking.describe(row);
    }
  }

  private static void describe(ObjectNode row, String when, Measurement m) {
    row.put("heartbeat_p99_" + when + "_us", m.quantileMicros(0.99));
    row.put("heartbeat_max_" + when + "_us", m.quantileMicros(1.0));
  }

  /** Returns the application of a job that waits. */
  private String waiting() {
    return driver.masters.stream().filter(master -> master.outstanding() > 0).findFirst()
        .orElseThrow(() -> new Violation("no application waits")).attempt.getApplicationId()
        .toString();
  }

  /** The client's thread. */
  private static final class Asking extends Thread {
    final ApiClient client;
    private final String waiting;
    private final long[][] nanos;
    private Exception problem;

    Asking(String address, String waiting, int requests) throws Exception {
      super("web-client");
      setDaemon(true);
      client = new ApiClient(address);
      this.waiting = waiting;
      nanos = new long[NAMES.length][requests];
    }

    @Override
    public void run() {
      String[] paths = {Question.JOBS.path, Question.QUEUES.path, "/heddle/v1/nodes",
          "/heddle/v1/explain/" + waiting};
      String[] queries = {Question.JOBS.query, Question.QUEUES.query, "from=0&max=100", ""};
      try {
        for (int n = 0; n < nanos[0].length; n++) {
          for (int q = 0; q < paths.length; q++) {
            long began = System.nanoTime();
            int status = client.ask(paths[q], queries[q], true);
            nanos[q][n] = System.nanoTime() - began;
            if (status != 200) {
              throw new IllegalStateException(paths[q] + " answers " + status);
            }
          }
        }
      } catch (Exception e) {
        problem = e;
      }
    }

    void describe(ObjectNode row) {
      if (problem != null) {
        throw new IllegalStateException("a request failed", problem);
      }
      for (int q = 0; q < NAMES.length; q++) {
        Arrays.sort(nanos[q]);
        row.put(NAMES[q] + "_p50_us", nanos[q][nanos[q].length / 2] / 1e3);
        row.put(NAMES[q] + "_max_us", nanos[q][nanos[q].length - 1] / 1e3);
      }
    }
  }
}
