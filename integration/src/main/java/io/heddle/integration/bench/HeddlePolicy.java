/*
 * Heddle's policies in the bench: the composition for which its goals were set, or a preset.
 * `bench.json` has that composition, and settings of heddle.json for runs of seconds: short
 * intervals, and the same bid and ample credits for every queue.
 *
 * Hints of jobs are left out. Asks carry no sizes, traffic or completion goals, in the bench as on
 * a real cluster; policies work with what they see.
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
   * Fair between queues, first come first served inside: Heddle's closest match to the setup of the
   * stock schedulers. It is no preset; figures stay comparable because it stays the same.
   */
  static final HeddlePolicy DEFAULT = new HeddlePolicy(FILE.path("name").asText(), true, false);

  final String label;
  /** Whether queues have shares of their own, and so limits. */
  final boolean keepsQueues;
  /** Whether queues have accounts, without which a queue that a submission makes gets nothing. */
  final boolean keepsAccounts;

  private HeddlePolicy(String label, boolean keepsQueues, boolean keepsAccounts) {
    this.label = label;
    this.keepsQueues = keepsQueues;
    this.keepsAccounts = keepsAccounts;
  }

  /** Returns the default and every preset. */
  static List<HeddlePolicy> all() {
    List<HeddlePolicy> all = new ArrayList<>();
    all.add(DEFAULT);
    for (String preset : Policies.presets()) {
      String share = Policies.stage(preset, "share");
      all.add(new HeddlePolicy(preset, Policies.keepsQueues(share),
          Policies.isShownBy("bids", "share", share)));
    }
    return all;
  }

  /** Writes the policy and its settings into heddle.json. */
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

  /** Adds the settings that policies need to a queue. */
  void equip(ObjectNode queue) {
    queue.setAll((ObjectNode) FILE.get("queue"));
  }

  /** Returns the names, separated by commas. */
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
