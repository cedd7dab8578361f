/*
 * Makes random capacity-scheduler.xml files with applications that fit them. Capacities of children
 * always sum as stock demands it.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.TreeMap;

/** One random scenario for CapacityScheduler. */
final class CapacityScenario {
  private static final String PREFIX = "yarn.scheduler.capacity.";
  private static final List<String> NAMES =
      List.of("dev", "ops", "staff", "data", "Prod", "etl_1", "ad-hoc", "alice", "bob", "x");

  /** How the children of one parent say what they get. */
  private enum Mode { PERCENT, WEIGHT, ABSOLUTE }

  private final long seed;
  private final Dice dice;
  private final Work work;
  private final CapacityPlacement placement;
  private final Map<String, String> properties = new TreeMap<>();
  private final List<String> queues = new ArrayList<>();
  private final List<String> leaves = new ArrayList<>();
  /** Names already given; mostly they are not given again, since short names resolve then. */
  private final List<String> names = new ArrayList<>(NAMES);

  private CapacityScenario(long seed) {
    this.seed = seed;
    this.dice = new Dice(seed + 1_000_000);
    // Dice of its own: other scenarios stay what they are.
    Dice cores = new Dice(seed + 2_000_000);
    this.work = new Work(dice, new Dice(seed + 4_000_000), dice.chance(0.3),
        cores.chance(0.6) ? cores.of(0.5, 0.5, 0.5, 1.0, 2.0, 4.0, 8.0) : 0);
    this.placement = new CapacityPlacement(dice);
  }

  static Scenario of(long seed) {
    return new CapacityScenario(seed).make();
  }

  private Scenario make() {
    cluster();
    children("root", 1, dice.of(Mode.values()), 100, work.memoryMb(), work.vcores());
    set("root", "acl_submit_applications", dice.chance(0.35) ? " " : null);
    set("root", "acl_administer_queue", dice.chance(0.5) ? " " : null);
    properties.putAll(placement.properties(queues, leaves));
    List<Element> children = new ArrayList<>();
    properties.forEach((name, value) -> children.add(Element.property(name, value)));
    List<Step> steps = work.steps(targets(), leaves);
    List<String> asked = new ArrayList<>(queues);
    asked.add("root");
    return new Scenario(seed, site(), Element.of("configuration", "", children), steps,
        work.questions(asked));
  }

  private Map<String, String> site() {
    Map<String, String> site = new TreeMap<>(work.site());
    if (dice.chance(0.5)) {
      site.put("yarn.cluster.max-application-priority", "" + dice.of(2, 10));
    }
    return site;
  }

  /** Sets a property of a queue, or does nothing for null. */
  private void set(String queue, String name, String value) {
    if (value != null) {
      properties.put(PREFIX + queue + "." + name, value);
    }
  }

  private void cluster() {
    String calculator = "org.apache.hadoop.yarn.util.resource.";
    if (work.dominant()) {
      properties.put(PREFIX + "resource-calculator", calculator + "DominantResourceCalculator");
    } else if (dice.chance(0.5)) {
      properties.put(PREFIX + "resource-calculator", calculator + "DefaultResourceCalculator");
    }
    properties.put(PREFIX + "maximum-am-resource-percent", dice.of("0.5", "0.8", "1.0", "0.3"));
    if (dice.chance(0.5)) {
      properties.put(PREFIX + "per-node-heartbeat.maximum-offswitch-assignments",
          "" + dice.of(1, 3, 100));
    }
    if (dice.chance(0.2)) {
      properties.put(PREFIX + "maximum-applications", "" + dice.of(4, 10, 100));
    }
    if (dice.chance(0.15)) {
      properties.put(PREFIX + "user.max-parallel-apps", "" + dice.between(1, 3));
    }
    if (dice.chance(0.15)) {
      properties.put(PREFIX + "user." + dice.of("alice", "bob", "frank") + ".max-parallel-apps",
          "" + dice.between(1, 2));
    }
    if (dice.chance(0.15)) {
      properties.put(PREFIX + "user-limit-factor", dice.of("2", "4", "0.5"));
    }
    if (dice.chance(0.15)) {
      properties.put(PREFIX + "minimum-user-limit-percent", dice.of("25", "33.3", "50"));
    }
    if (dice.chance(0.1)) {
      properties.put(PREFIX + "legacy-queue-mode.enabled", "false");
    }
  }

  // ---- Queues.

  /**
   * @param share the parent's absolute percentage, so that none is too small for a container
   * @param memoryMb the parent's minimum in absolute mode
   */
  private void children(String path, int depth, Mode mode, double share, int memoryMb,
      int vcores) {
    int count = dice.between(2, share > 40 ? 4 : 2);
    List<String> chosen = dice.some(count, names.size() >= count ? names : NAMES);
    StringJoiner listed = new StringJoiner(dice.of(",", ", "));
    chosen.forEach(listed::add);
    set(path, "queues", listed.toString());
    if (!dice.chance(0.1)) {
      names.removeAll(new ArrayList<>(chosen));
    }
    if (dice.chance(0.3)) {
      set(path, "ordering-policy", dice.of("utilization", "priority-utilization"));
    }
    int left = 100;
    for (int c = 0; c < chosen.size(); c++) {
      int others = chosen.size() - c - 1;
      int percent = others == 0 ? left
          : Math.max(10, dice.between(left / (others + 3), left * 2 / (others + 2)));
      left -= percent;
      String child = path + "." + chosen.get(c);
      queues.add(child);
      int childMemory = memoryMb / 100 * percent;
      int childVcores = Math.max(1, vcores * percent / 100);
      capacity(child, mode, percent, childMemory, childVcores);
      queue(child, depth, mode, share * percent / 100, childMemory, childVcores);
    }
  }

  private void capacity(String child, Mode mode, int percent, int memoryMb, int vcores) {
    switch (mode) {
      case PERCENT:
        set(child, "capacity", percent + (dice.chance(0.2) ? ".0" : ""));
        if (dice.chance(0.5)) {
          set(child, "maximum-capacity", "" + dice.between(percent, 100));
        }
        break;
      case WEIGHT:
        set(child, "capacity", percent / 10.0 + "w");
        if (dice.chance(0.4)) {
          set(child, "maximum-capacity", "" + dice.between(40, 100));
        }
        break;
      default:
        set(child, "capacity", "[memory=" + memoryMb + ",vcores=" + vcores + "]");
        if (dice.chance(0.3)) {
          set(child, "maximum-capacity", "[memory=" + memoryMb * 3 / 2 + ",vcores="
              + vcores * 3 / 2 + "]");
        }
    }
  }

  private void queue(String path, int depth, Mode mode, double share, int memoryMb, int vcores) {
    boolean parent = depth < 3 && share > 25 && dice.chance(0.35);
    if (dice.chance(0.35)) {
      set(path, "acl_submit_applications", People.acl(dice));
    }
    if (dice.chance(0.35)) {
      set(path, "acl_administer_queue", People.acl(dice));
    }
    if (dice.chance(0.05)) {
      set(path, "state", "STOPPED");
    }
    if (dice.chance(0.2)) {
      set(path, "priority", "" + dice.between(0, 5));
    }
    if (dice.chance(0.15)) {
      set(path, "max-parallel-apps", "" + dice.between(1, 4));
    }
    if (dice.chance(0.1)) {
      set(path, "user-settings." + dice.of("alice", "bob", "carol") + ".weight", "0.5");
    }
    if (dice.chance(0.1)) {
      set(path, "disable_preemption", "" + dice.chance(0.5));
    }
    if (share > 20 && mode != Mode.ABSOLUTE && dice.chance(0.15)) {
      creating(path);
    } else if (parent) {
      Mode below = mode == Mode.ABSOLUTE ? mode : dice.of(Mode.PERCENT, Mode.WEIGHT);
      children(path, depth + 1, below, share, memoryMb, vcores);
    } else {
      leaves.add(path);
      leaf(path);
    }
  }

  /** A parent without children, below which queues are created on demand. */
  private void creating(String path) {
    if (dice.chance(0.5)) {
      set(path, "auto-create-child-queue.enabled", "true");
      set(path, "leaf-queue-template.capacity", "" + dice.of(50, 33, 25));
      set(path, "leaf-queue-template.maximum-capacity", dice.of("100", null));
      set(path, "leaf-queue-template.user-limit-factor", dice.of("10", null));
      set(path, "leaf-queue-template.acl_submit_applications", dice.of("*", null));
    } else {
      set(path, "auto-queue-creation-v2.enabled", "true");
      String kind = dice.of("template", "leaf-template");
      set(path, "auto-queue-creation-v2." + kind + ".capacity", dice.of("3w", "0.5w", null));
      set(path, "auto-queue-creation-v2." + kind + ".user-limit-factor", dice.of("2", null));
      set(path, "auto-queue-creation-v2." + kind + ".acl_submit_applications",
          dice.of("*", null));
    }
    placement.creates(path);
  }

  private void leaf(String path) {
    if (dice.chance(0.5)) {
      set(path, "user-limit-factor", dice.of("1", "2", "10", "0.5", "-1", "100", "100"));
    }
    if (dice.chance(0.4)) {
      set(path, "minimum-user-limit-percent", dice.of("100", "50", "33", "25", "20"));
    } else if (dice.chance(0.15)) {
      set(path, "minimum-user-limit-percent", "25");
      set(path, "user-settings." + dice.of("alice", "bob", "carol") + ".weight",
          dice.of("2", "1.5", "3"));
    }
    if (dice.chance(0.3)) {
      set(path, "ordering-policy", dice.of("fifo", "fair"));
    }
    if (dice.chance(0.15)) {
      set(path, "maximum-applications", "" + dice.between(1, 4));
    }
    if (dice.chance(0.2)) {
      set(path, "maximum-am-resource-percent", dice.of("0.1", "0.25", "1.0", "0.6"));
    }
    if (dice.chance(0.1)) {
      set(path, "default-application-priority", "" + dice.between(0, 3));
    }
    if (dice.chance(0.1)) {
      set(path, "maximum-allocation-mb", "" + work.size().memoryMb() * dice.of(1, 2, 8) / 2);
    }
    if (dice.chance(0.05)) {
      set(path, "maximum-application-lifetime", "" + dice.between(1000, 5000));
    }
  }

  /** Returns names under which applications are submitted. */
  private List<String> targets() {
    List<String> targets = new ArrayList<>();
    for (String queue : queues) {
      targets.add(dice.chance(0.5) ? queue : queue.substring(queue.lastIndexOf('.') + 1));
    }
    targets.addAll(placement.targets());
    targets.add(null);
    targets.addAll(leaves);
    targets.add(dice.of("default", "root.default", "root", "unknown", "root.unknown",
        dice.of(queues) + ".below", "a.", "alice", "dev"));
    return targets;
  }
}
