package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Random placement for capacity-scheduler.xml: mappings, JSON rules, queues that are created. */
final class CapacityPlacement {
  private static final String PREFIX = "yarn.scheduler.capacity.";
  private final Dice dice;
  private final Map<String, String> properties = new TreeMap<>();
  private final List<String> creating = new ArrayList<>();
  private final List<String> targets = new ArrayList<>();

  CapacityPlacement(Dice dice) {
    this.dice = dice;
  }

  /** Returns properties; some of them are of the given queues. */
  Map<String, String> properties(List<String> queues, List<String> leaves) {
    if (leaves.isEmpty()) {
      return properties;
    }
    double share = creating.isEmpty() ? 0.35 : 0.5;
    if (dice.chance(share)) {
      mappings(leaves);
    } else if (dice.chance(share)) {
      rules(queues, leaves);
    }
    if (dice.chance(0.4)) {
      properties.put(PREFIX + "queue-mappings-override.enable", "" + dice.chance(0.6));
    }
    return properties;
  }

  /** Tells of a parent below which queues are created on demand. */
  void creates(String parent) {
    creating.add(parent);
    for (String name : List.of("alice", "dev", "new")) {
      targets.add(parent + "." + name);
    }
  }

  /** Returns more names to submit into. */
  List<String> targets() {
    return targets;
  }

  private void mappings(List<String> leaves) {
    List<String> mappings = new ArrayList<>();
    for (int m = dice.between(1, 4); m > 0; m--) {
      String leaf = dice.of(leaves);
      String target = dice.chance(0.7) ? leaf : leaf.substring(leaf.lastIndexOf('.') + 1);
      if (!creating.isEmpty() && dice.chance(0.5)) {
        mappings.add("u:%user:" + dice.of(creating) + dice.of(".%user", ".%primary_group"));
        continue;
      }
      mappings.add(dice.of("u:" + dice.of(People.USERS) + ":" + target,
          "g:" + dice.of(People.GROUPS) + ":" + target, "u:%user:%primary_group", "u:%user:%user",
          "u:%user:%secondary_group", "u:" + dice.of(People.USERS) + ":%primary_group"));
    }
    properties.put(PREFIX + "queue-mappings", String.join(dice.of(",", ", "), mappings));
  }

  private void rules(List<String> queues, List<String> leaves) {
    List<String> rules = new ArrayList<>();
    for (int r = dice.between(1, 4); r > 0; r--) {
      rules.add(rule(queues, leaves));
    }
    properties.put(PREFIX + "mapping-rule-format", "json");
    properties.put(PREFIX + "mapping-rule-json",
        "{\"rules\":[" + String.join(",", rules) + "]}");
  }

  private String rule(List<String> queues, List<String> leaves) {
    String type = dice.of("user", "group", "application");
    String matches = type.equals("user") ? dice.of("*", "*", dice.of(People.USERS))
        : type.equals("group") ? dice.of(People.GROUPS) : dice.of("job", "etl");
    String policy = dice.of("specified", "user", "primaryGroup", "secondaryGroup", "custom",
        "applicationName", "defaultQueue", "setDefaultQueue", "reject");
    StringBuilder rule = new StringBuilder("{\"type\":\"" + type + "\",\"matches\":\"" + matches
        + "\",\"policy\":\"" + policy + "\"");
    if (policy.equals("custom")) {
      rule.append(",\"customPlacement\":\"")
          .append(dice.of(dice.of(leaves), "%default", "%specified")).append('"');
    } else if (policy.equals("setDefaultQueue")) {
      rule.append(",\"value\":\"").append(dice.of(leaves)).append('"');
    } else if (dice.chance(0.3) && !policy.equals("reject")) {
      List<String> parents = new ArrayList<>(queues);
      parents.removeAll(leaves);
      parents.add("root");
      for (int times = 0; times < 4; times++) {
        parents.addAll(creating);
      }
      rule.append(",\"parentQueue\":\"").append(dice.of(parents)).append('"');
    }
    if (dice.chance(0.5)) {
      rule.append(",\"fallbackResult\":\"")
          .append(dice.of("skip", "reject", "placeDefault")).append('"');
    }
    if (dice.chance(0.3)) {
      rule.append(",\"create\":").append(dice.chance(0.5));
    }
    return rule.append('}').toString();
  }
}
