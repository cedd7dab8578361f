/*
 * Makes random fair-scheduler.xml files with applications that fit them. The queues and their
 * limits are chosen so that most scenarios fill the cluster and hit several limits.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** One random scenario for FairScheduler. */
final class FairScenario {
  private static final List<String> NAMES =
      List.of("dev", "ops", "staff", "data", "Prod", "etl_1", "ad-hoc", "alice", "bob", "x");
  private final long seed;
  private final Dice dice;
  private final Work work;
  /** Full names of the queues of the file, parents too. */
  private final List<String> queues = new ArrayList<>();
  private final List<String> leaves = new ArrayList<>();
  private final String defaultPolicy;

  private FairScenario(long seed) {
    this.seed = seed;
    this.dice = new Dice(seed);
    boolean dominant = dice.chance(0.3);
    this.work = new Work(dice, new Dice(seed + 3_000_000), dominant, 0);
    // Of all policies only drf may stand above all others.
    this.defaultPolicy = dominant ? "drf" : dice.of("fair", null, null);
  }

  static Scenario of(long seed) {
    return new FairScenario(seed).make();
  }

  private Scenario make() {
    Element file = file();
    List<String> targets = new ArrayList<>(targets());
    List<Step> steps = work.steps(targets, leaves);
    List<String> asked = new ArrayList<>(queues);
    asked.add("root");
    return new Scenario(seed, site(), file, steps, work.questions(asked));
  }

  private Map<String, String> site() {
    Map<String, String> site = new TreeMap<>(work.site());
    String fair = "yarn.scheduler.fair.";
    if (dice.chance(0.4)) {
      site.put(fair + "allow-undeclared-pools", "" + dice.chance(0.5));
    }
    if (dice.chance(0.4)) {
      site.put(fair + "user-as-default-queue", "" + dice.chance(0.5));
    }
    if (dice.chance(0.6)) {
      site.put(fair + "assignmultiple", "true");
      if (dice.chance(0.5)) {
        site.put(fair + "dynamic.max.assign", "false");
        if (dice.chance(0.5)) {
          site.put(fair + "max.assign", "" + dice.between(1, 5));
        }
      }
    }
    if (dice.chance(0.1)) {
      site.put(fair + "sizebasedweight", "true");
    }
    // Dice of their own: files of earlier versions keep their seeds.
    Dice priorities = new Dice(~seed);
    if (priorities.chance(0.7)) {
      site.put("yarn.cluster.max-application-priority", "" + priorities.between(1, 5));
    }
    site.put("yarn.scheduler.increment-allocation-mb", "" + work.stepMb());
    site.put("yarn.scheduler.increment-allocation-vcores", "1");
    return site;
  }

  // ---- The file.

  private Element file() {
    List<Element> top = new ArrayList<>();
    List<Element> below = new ArrayList<>();
    int children = dice.between(2, 4);
    for (String name : dice.some(children, NAMES)) {
      below.add(queue("root." + name, name, 1, policyOfRoot()));
    }
    if (dice.chance(0.4)) {
      List<Element> root = new ArrayList<>(below);
      acls(root, 0.8);
      if (dice.chance(0.2)) {
        root.add(Element.text("maxRunningApps", dice.between(3, 8)));
      }
      if (dice.chance(0.1)) {
        root.add(Element.text("maxChildResources", amount(20, 60)));
      }
      top.add(Element.of("queue", "name=\"root\"", root));
    } else {
      top.addAll(below);
    }
    defaults(top);
    if (dice.chance(0.6)) {
      top.add(placement());
    }
    return Element.of("allocations", "", top);
  }

  private String policyOfRoot() {
    return defaultPolicy == null ? "fair" : defaultPolicy;
  }

  private void defaults(List<Element> into) {
    if (defaultPolicy != null) {
      into.add(Element.text(dice.of("defaultQueueSchedulingPolicy", "defaultQueueSchedulingMode"),
          dice.chance(0.2) ? defaultPolicy.toUpperCase(Locale.ROOT) : defaultPolicy));
    }
    if (dice.chance(0.25)) {
      into.add(Element.text("userMaxAppsDefault", dice.between(1, 4)));
    }
    for (String user : dice.some(dice.between(0, 2), People.USERS)) {
      into.add(Element.of("user", "name=\"" + user + "\"",
          List.of(Element.text("maxRunningApps", dice.between(0, 4)))));
    }
    if (dice.chance(0.15)) {
      into.add(Element.text("queueMaxAppsDefault", dice.between(2, 8)));
    }
    if (dice.chance(0.2)) {
      into.add(Element.text("queueMaxAMShareDefault", dice.of("0.2", "0.7", "-1.0", "1.5")));
    }
    if (dice.chance(0.1)) {
      into.add(Element.text("queueMaxResourcesDefault", amount(50, 90)));
    }
    if (dice.chance(0.2)) {
      into.add(Element.text("defaultMinSharePreemptionTimeout", dice.between(10, 600)));
    }
    if (dice.chance(0.2)) {
      into.add(Element.text("defaultFairSharePreemptionTimeout", dice.between(10, 600)));
      into.add(Element.text("defaultFairSharePreemptionThreshold", dice.of("0.5", "0.9", "2")));
    }
  }

  private Element queue(String path, String name, int depth, String policyAbove) {
    List<Element> inside = new ArrayList<>();
    queues.add(path);
    int children = depth < 3 && dice.chance(depth == 1 ? 0.5 : 0.25) ? dice.between(1, 3) : 0;
    boolean parent = children > 0 || dice.chance(0.1);
    String policy = defaultPolicy == null ? "fair" : defaultPolicy;
    if (dice.chance(0.35)) {
      policy = policyAbove.equals("drf") ? dice.of("fair", "drf", "fifo") : dice.of("fair", "fifo");
      if (parent && policy.equals("fifo")) {
        policy = policyAbove.equals("drf") ? "drf" : "fair";
      }
      inside.add(Element.text(dice.of("schedulingPolicy", "schedulingPolicy", "schedulingMode"),
          policy));
    } else if (policyAbove.equals("fair") && policy.equals("drf")) {
      policy = "fair";
      inside.add(Element.text("schedulingPolicy", policy));
    }
    List<String> names = dice.some(children, NAMES);
    for (String child : names) {
      inside.add(queue(path + "." + child, child, depth + 1, policy));
    }
    limits(inside, parent);
    acls(inside, 0.35);
    if (!parent) {
      leaves.add(path);
    }
    String attributes = "name=\"" + name + "\""
        + (parent && (children == 0 || dice.chance(0.2)) ? " type=\"parent\"" : "");
    return Element.of(dice.of("queue", "queue", "pool"), attributes, inside);
  }

  private void limits(List<Element> into, boolean parent) {
    if (dice.chance(0.6)) {
      into.add(Element.text("weight", dice.of("1.5", "2", "3.0", "0.7", "2.6", "1")));
    }
    if (dice.chance(0.3)) {
      into.add(Element.text("minResources", dice.chance(0.1)
          ? dice.between(10, 30) + "%" : absolute(5, 35, false)));
    }
    if (dice.chance(0.3)) {
      into.add(Element.text("maxResources", amount(20, 80)));
    }
    if (dice.chance(0.25)) {
      into.add(Element.text("maxRunningApps", dice.between(parent ? 2 : 0, 5)));
    }
    if (parent && dice.chance(0.3)) {
      into.add(Element.text("maxChildResources", amount(10, 50)));
    }
    if (!parent && dice.chance(0.2)) {
      into.add(Element.text("maxAMShare", dice.of("0.1", "0.25", "0.4", "-1.0", "0.8", "1.0")));
    }
    if (dice.chance(0.1)) {
      into.add(Element.text("maxContainerAllocation",
          work.size().memoryMb() * dice.of(1, 2, 8) / 2 + " mb, " + dice.between(1, 8)
              + " vcores"));
    }
    if (dice.chance(0.1)) {
      into.add(Element.text("allowPreemptionFrom", dice.of("true", "false", "FALSE")));
    }
    if (dice.chance(0.1)) {
      into.add(Element.text(dice.of("minSharePreemptionTimeout", "fairSharePreemptionTimeout"),
          dice.between(1, 500)));
    }
    if (dice.chance(0.05)) {
      into.add(Element.text("fairSharePreemptionThreshold", dice.of("0.1", "0.8", "-3")));
    }
  }

  private void acls(List<Element> into, double share) {
    if (dice.chance(share)) {
      into.add(Element.text("aclSubmitApps", People.acl(dice)));
    }
    if (dice.chance(share)) {
      into.add(Element.text("aclAdministerApps", People.acl(dice)));
    }
  }

  /** Returns a resource in one of the syntaxes, between these percentages of the cluster. */
  private String amount(int least, int most) {
    int memory = dice.between(least, most);
    int vcores = dice.between(least, most);
    switch (dice.between(0, 5)) {
      case 0:
        return memory + "%";
      case 1:
        return dice.of(memory + "% memory, " + vcores + "% cpu",
            vcores + ".5 % cpu," + memory + "%memory");
      case 2:
        return dice.of("memory-mb=" + memory + "%", "vcores=" + vcores + "%, memory-mb=" + memory
            + ".5%");
      default:
        return absolute(least, most, true);
    }
  }

  private String absolute(int least, int most, boolean wide) {
    long memoryMb = (long) work.memoryMb() * dice.between(least, most) / 100;
    // Each dimension would hide the other; under memory-only policies memory is to decide.
    long vcores = (long) work.vcores() * dice.between(least, most) / 100;
    if (!work.dominant()) {
      vcores = wide ? work.vcores() : 0;
    }
    return dice.of(memoryMb + " mb, " + vcores + " vcores", vcores + "vcores," + memoryMb + "mb",
        memoryMb + ".5 MB, " + vcores + " vCores", "memory-mb=" + memoryMb + ",vcores=" + vcores,
        "vcores=" + vcores + ", memory-mb=" + memoryMb);
  }

  // ---- Placement.

  private Element placement() {
    List<Element> rules = new ArrayList<>();
    if (dice.chance(0.85)) {
      rules.add(rule("specified", create(dice.of("", "true", "false", "False"))));
    }
    for (String name : dice.some(dice.between(0, 2),
        List.of("user", "primaryGroup", "secondaryGroupExistingQueue", "nested"))) {
      switch (name) {
        case "nested":
          rules.add(nested(false));
          break;
        case "secondaryGroupExistingQueue":
          rules.add(rule(name, ""));
          break;
        default:
          rules.add(rule(name, create("false")));
      }
    }
    rules.add(last());
    return Element.of("queuePlacementPolicy", "", rules);
  }

  private Element last() {
    String queue = dice.of("", " queue=\"" + dice.of(queues) + "\"",
        " queue=\"" + dice.of(queues).substring(5) + "\"", " queue=\"root.fallback.low\"");
    return dice.of(rule("reject", ""), rule("default", queue), rule("default", ""),
        rule("user", create(dice.of("", "true"))), rule("primaryGroup", ""), nested(true));
  }

  private Element nested(boolean last) {
    Element inner = dice.of(rule("primaryGroup", create(last ? "" : dice.of("", "false"))),
        rule("default", " queue=\"" + dice.of(queues) + "\"" + (last ? "" : create("true"))),
        last ? rule("default", "") : rule("secondaryGroupExistingQueue", ""));
    return Element.of("rule", "name=\"nestedUserQueue\"" + create(last ? "" : "false"),
        List.of(inner));
  }

  private static String create(String value) {
    return value.isEmpty() ? "" : " create=\"" + value + "\"";
  }

  private static Element rule(String name, String attributes) {
    return Element.of("rule", "name=\"" + name + "\"" + attributes, List.of());
  }

  /** Returns names under which applications are submitted. */
  private List<String> targets() {
    List<String> targets = new ArrayList<>();
    for (String queue : queues) {
      targets.add(dice.chance(0.5) ? queue : queue.substring(5));
    }
    for (int i = 0; i < 3; i++) {
      targets.add(dice.of(leaves.isEmpty() ? queues : leaves));
    }
    targets.add(null);
    targets.add(dice.of("default", "root.default", "root", "root.new", "new.below.it",
        dice.of(queues) + ".below", ".a", "a.", "alice", "dev"));
    return targets;
  }
}
