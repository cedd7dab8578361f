/*
 * Nodes, applications and their order: what a scenario has besides the stock file. Sizes are such
 * that the stock scheduler itself mostly gives the same answer whatever the order of heartbeats:
 * every node holds a whole number of the smallest containers, and nearly every application wants
 * more than its share. In a third of the scenarios the tasks of one queue have several sizes. Where
 * virtual cores can run out first, and containers differ in them, there is one node: what is left
 * over on several is a matter of their order. Nodes may have few virtual cores for their memory.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The random work of one scenario. */
final class Work {
  private final Dice dice;
  /** Dice of its own: what was drawn before there were several sizes stays what it was. */
  private final Dice sizes;
  private final boolean manySizes;
  private final boolean dominant;
  private final Step.Size size;
  private final int stepMb;
  private final List<Step.Join> nodes = new ArrayList<>();

  /**
   * @param sizes where the sizes of tasks come from
   * @param dominant whether virtual cores can run out before memory
   * @param perGb virtual cores of a node for each GB of its memory; 0 for enough of them
   */
  Work(Dice dice, Dice sizes, boolean dominant, double perGb) {
    this.dice = dice;
    this.sizes = sizes;
    this.manySizes = sizes.chance(0.33);
    this.dominant = dominant;
    this.stepMb = dice.of(256, 512, 1024);
    this.size = new Step.Size(stepMb * dice.between(1, 4), 1);
    int count = dominant ? 1 : dice.between(2, 5);
    for (int n = 0; n < count; n++) {
      int holds = dominant ? dice.between(40, 80) : dice.between(10, 30);
      int vcores = dominant ? holds + dice.between(0, holds) : 20 * holds;
      if (perGb > 0) {
        vcores = Math.max(1, (int) (perGb * holds * size.memoryMb() / 1024));
      }
      // Where they count, some containers of each application fit.
      vcores = dominant ? Math.max(holds / 2, vcores) : vcores;
      nodes.add(new Step.Join("10.0.0." + (n + 1), holds * size.memoryMb(), vcores));
    }
  }

  boolean dominant() {
    return dominant;
  }

  Step.Size size() {
    return size;
  }

  int stepMb() {
    return stepMb;
  }

  /** Returns the memory of all nodes. */
  int memoryMb() {
    return nodes.stream().mapToInt(Step.Join::memoryMb).sum();
  }

  /** Returns the virtual cores of all nodes. */
  int vcores() {
    return nodes.stream().mapToInt(Step.Join::vcores).sum();
  }

  Map<String, String> site() {
    Map<String, String> site = new TreeMap<>();
    site.put("yarn.scheduler.minimum-allocation-mb", "" + stepMb);
    site.put("yarn.scheduler.maximum-allocation-mb", "" + 16 * size.memoryMb());
    site.put("yarn.scheduler.maximum-allocation-vcores", "16");
    site.put("yarn.acl.enable", "" + dice.chance(0.5));
    return site;
  }

  /**
   * @param targets queues to submit into
   * @param leaves queues that are likely to accept applications
   */
  List<Step> steps(List<String> targets, List<String> leaves) {
    List<Step> steps = new ArrayList<>(nodes);
    if (dice.chance(0.2)) {
      steps.add(new Step.Join("10.0.1.1", 8 * size.memoryMb(), dominant ? 8 : 160));
      steps.add(new Step.Lose("10.0.1.1"));
    }
    boolean unmanaged = dice.chance(0.2);
    int apps = 0;
    int first = dice.between(4, 10);
    if (!unmanaged) {
      steps.add(new Step.Pause());
    }
    for (int a = 0; a < first; a++) {
      steps.add(submit(++apps, dice.chance(0.4) ? targets : leaves, targets, unmanaged));
    }
    if (!unmanaged) {
      steps.add(new Step.Resume());
    }
    steps.add(new Step.Look("at first"));
    if (dice.chance(0.5)) {
      steps.add(new Step.Pause());
      for (int a = dice.between(1, 2); a > 0; a--) {
        steps.add(submit(++apps, leaves, targets, unmanaged));
      }
      steps.add(new Step.Resume());
      steps.add(new Step.Look("after more came"));
    }
    if (dice.chance(0.5)) {
      steps.add(new Step.Pause());
      for (int a = dice.between(1, 3); a > 0; a--) {
        steps.add(new Step.End(dice.between(1, apps)));
      }
      steps.add(new Step.Resume());
      steps.add(new Step.Look("after some ended"));
    }
    if (unmanaged) {
      // Only without AMs: which of them die with a node depends on where they are.
      Step.Join gone = dice.of(nodes);
      // Nobody asks meanwhile: a scheduler that fills a node in one heartbeat would give it to
      // those who still asked, before the others have heard of their loss.
      steps.add(new Step.Pause());
      steps.add(new Step.Lose(gone.host()));
      steps.add(gone);
      steps.add(new Step.Resume());
      steps.add(new Step.Look("after a node came back"));
    }
    return steps;
  }

  private Step submit(int app, List<String> from, List<String> targets, boolean unmanaged) {
    Step.Size task = dominant && dice.chance(0.7)
        ? new Step.Size(size.memoryMb(), dice.between(1, 3)) : size;
    if (manySizes) {
      task = new Step.Size(task.memoryMb() * sizes.of(1, 1, 2, 3, 4), task.vcores());
    }
    // Asked a little smaller, it is rounded up to the same.
    if (dice.chance(0.2)) {
      task = new Step.Size(task.memoryMb() - dice.between(1, stepMb - 1), task.vcores());
    }
    if (dice.chance(0.03)) {
      // More than any node or maximum: a refusal.
      task = new Step.Size(1000 * size.memoryMb(), 1);
    }
    int holds = memoryMb() / size.memoryMb();
    int count = dice.chance(0.85) ? holds : dice.between(0, holds / 6);
    return new Step.Submit(app, dice.of(People.USERS),
        dice.of(from.isEmpty() ? targets : from), dice.of("job", "etl", "report"), unmanaged,
        size, task, count, dice.chance(0.3) ? dice.between(0, 5) : 0);
  }

  List<Scenario.Question> questions(List<String> queues) {
    List<Scenario.Question> questions = new ArrayList<>();
    for (int q = 0; q < 12; q++) {
      questions.add(new Scenario.Question(dice.of(People.USERS), dice.chance(0.5),
          dice.of(queues)));
    }
    return questions;
  }
}
