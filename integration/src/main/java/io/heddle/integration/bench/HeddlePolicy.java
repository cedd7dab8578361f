/*
 * What Heddle may decide by in the bench: the composition that its goals were set for, or one of
 * its presets. `bench.json` has that composition, and what runs of seconds need in heddle.json:
 * short intervals, and the same bid and endless credits for every queue.
 *
 * Not here: what only jobs can tell. Asks carry no sizes, traffic or completion goals, in the bench
 * as on a real cluster; policies work with what they see.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.Policies;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;

/** Heddle's policy under measurement. */
final class HeddlePolicy {
  private static final ObjectNode FILE = Policies.resource(HeddlePolicy.class, "bench.json");

  /**
   * Fair between queues, first come first served inside, as close as Heddle comes to how the stock
   * schedulers are set up. No preset: with it the figures stay comparable.
   */
  static final HeddlePolicy DEFAULT = new HeddlePolicy(FILE.path("name").asText(), true);

  final String label;
  /** Whether queues have shares of their own, and with them limits. */
  final boolean keepsQueues;

  private HeddlePolicy(String label, boolean keepsQueues) {
    this.label = label;
    this.keepsQueues = keepsQueues;
  }

  /** The default and every preset. */
  static List<HeddlePolicy> all() {
    List<HeddlePolicy> all = new ArrayList<>();
    all.add(DEFAULT);
    for (String preset : Policies.presets()) {
      String share = Policies.stage(preset, "share");
      all.add(new HeddlePolicy(preset, Policies.keepsQueues(share)));
    }
    return all;
  }

  /** Writes what chooses and tunes the policy into heddle.json. */
  void choose(ObjectNode root, Shape shape) {
    if (this == DEFAULT) {
      root.set("policy", FILE.get(shape.localityDelay ? "policy_with_delay" : "policy"));
    } else {
      root.put("policy", label);
    }
    root.setAll((ObjectNode) FILE.get("settings").deepCopy());
    if (shape.localityDelay) {
      FILE.get("waits").fields().forEachRemaining(section -> {
        ObjectNode waits = root.putObject(section.getKey());
        for (JsonNode key : section.getValue()) {
          waits.put(key.asText(), shape.roundMs);
        }
      });
    }
  }

  /** Adds to a queue what policies need. */
  void equip(ObjectNode queue) {
    queue.setAll((ObjectNode) FILE.get("queue"));
  }

  /** The names, separated by commas. */
  static String labels() {
    StringJoiner known = new StringJoiner(", ");
    all().forEach(policy -> known.add(policy.label));
    return known.toString();
  }

  static HeddlePolicy byLabel(String label) {
    for (HeddlePolicy policy : all()) {
      if (policy.label.equals(label)) {
        return policy;
      }
    }
    throw new IllegalArgumentException("--policy: there is no policy '" + label + "'; known are "
        + labels());
  }
}
