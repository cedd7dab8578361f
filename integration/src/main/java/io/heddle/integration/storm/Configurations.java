/*
 * The heddle.json at the start of the storm, and its changes.
 */
package io.heddle.integration.storm;

import java.util.Random;

/** Texts of heddle.json. */
final class Configurations {
  private static final String[] BAD = {
      "", "{", "[]", "null", "{\"policy\": \"nosuch\"}", "{\"nosuch\": 1}",
      "{\"queues\": [{\"path\": \"root.q0\", \"weight\": -1}]}",
      "{\"queues\": [{\"path\": \"root..q0\"}]}",
      "{\"queues\": [{\"path\": \"root.q0\"}, {\"path\": \"root.q0\"}]}",
      "{\"queues\": [{\"path\": \"root.q0\", \"weight\": 1e400}]}",
      "{\"heartbeat_fill\": \"all\"}", "{\"placement\": [{\"rule\": \"nosuch\"}]}"};

  private Configurations() {}

  static String begin(String preset) {
    return text(preset, 2, 5, "");
  }

  static String good(String preset, Random random) {
    return text(preset, 1 + random.nextInt(9), 1 + random.nextInt(40),
        random.nextBoolean() ? "{\"path\": \"root.extra-" + random.nextInt(5) + "\"}," : "");
  }

  static String bad(String preset, Random random) {
    int which = random.nextInt(BAD.length + 1);
    String good = begin(preset);
    return which == BAD.length ? good.substring(0, good.length() / 2) : BAD[which];
  }

  private static String text(String preset, int weight, int jobs, String more) {
    return "{\"policy\": \"" + preset + "\", \"heartbeat_fill\": 1.0, \"queues\": [" + more
        + "{\"path\": \"root.default\", \"budget\": 1000000, \"spending_rate\": 1},"
        + "{\"path\": \"root.q0\", \"weight\": " + weight + ", \"max_am_share\": 1.0,"
        + " \"budget\": 1000000, \"spending_rate\": 2},"
        + "{\"path\": \"root.q1\", \"max_running_jobs\": " + jobs + "},"
        + "{\"path\": \"root.q2\", \"max_share\": {\"memory-mb\": 65536, \"vcores\": 64},"
        + " \"min_share\": {\"memory-mb\": 8192, \"vcores\": 8}, \"preempt_opaque\": true},"
        + "{\"path\": \"root.group.leaf\", \"max_am_share\": 0.3, \"preempt_opaque\": true}],"
        + " \"preemption\": {\"enabled\": true, \"min_share_timeout_ms\": 300,"
        + " \"fair_share_timeout_ms\": 500, \"grace_ms\": 100}}";
  }
}
