/*
 * What Heddle may decide by in the bench: the composition that its goals were set for, or one of
 * its presets, with what each of these needs in heddle.json to have something to decide.
 *
 * Not here: what only jobs can tell. Asks carry no sizes, traffic or completion goals, in the bench
 * as on a real cluster; HFSP, ShuffleWatcher and Reverse-Adaptive work with what they see.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.StringJoiner;

/** Heddle's policy under measurement. */
enum HeddlePolicy {
  /**
   * The default: fair between queues, first come first served inside, as close as Heddle comes to
   * how the stock schedulers are set up. No preset: with it the figures stay comparable.
   */
  FAIR_FIFO("fair-fifo", true) {
    @Override
    void choose(ObjectNode root, Shape shape) {
      root.putObject("policy").put("share", "fair").put("order", "fifo")
          .put("place", shape.localityDelay ? "delay" : "local-first");
    }
  },

  FAIR("fair", true),

  FAIR_ORIGINAL("fair-original", false),

  /** Queues that all bid the same and never run out of credits. */
  DYNAMIC_PRIORITY("dynamic-priority", true) {
    @Override
    void choose(ObjectNode root, Shape shape) {
      super.choose(root, shape);
      // A workload is over in seconds: with the default of 20 s it would see one auction.
      root.putObject("dynamic_priority").put("allocation_interval_ms", SHORT_PERIOD_MS);
    }

    @Override
    void equip(ObjectNode queue) {
      queue.put("budget", 1e9).put("spending_rate", 1.0);
    }
  },

  SHUFFLEWATCHER("shufflewatcher", true),

  FIFO("fifo", false),

  HFSP("hfsp", false),

  REVERSE_ADAPTIVE("reverse-adaptive", false) {
    @Override
    void choose(ObjectNode root, Shape shape) {
      super.choose(root, shape);
      root.putObject("reverse_adaptive").put("control_period_ms", SHORT_PERIOD_MS);
    }
  };

  /** The least that Dynamic Priority takes. Rounds, a second each in YARN, take ms here. */
  private static final int SHORT_PERIOD_MS = 500;

  final String label;
  /** Whether queues have shares of their own, and with them limits. */
  final boolean keepsQueues;

  HeddlePolicy(String label, boolean keepsQueues) {
    this.label = label;
    this.keepsQueues = keepsQueues;
  }

  /** Writes what chooses and tunes the policy into heddle.json. */
  void choose(ObjectNode root, Shape shape) {
    root.put("policy", label);
  }

  /** Adds to a queue what the policy needs. */
  void equip(ObjectNode queue) {}

  /** The names, separated by commas. */
  static String labels() {
    StringJoiner known = new StringJoiner(", ");
    for (HeddlePolicy policy : values()) {
      known.add(policy.label);
    }
    return known.toString();
  }

  static HeddlePolicy byLabel(String label) {
    for (HeddlePolicy policy : values()) {
      if (policy.label.equals(label)) {
        return policy;
      }
    }
    throw new IllegalArgumentException("--policy: there is no policy '" + label + "'; known are "
        + labels());
  }
}
