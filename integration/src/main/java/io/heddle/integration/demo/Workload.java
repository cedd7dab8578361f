/*
 * What the users of the demo submit, and when: a workload for each policy, of the kind that the
 * policy was made for, and the figures that show what it does. Runs nothing.
 */
package io.heddle.integration.demo;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Jobs, the settings of {@code heddle.json} that they need, and figures. Each fits a minute or so
 * on two processors: every container is a JVM that takes seconds of them to start.
 */
final class Workload {
  private static final Map<String, Supplier<Workload>> PRESETS = presets();
  private static final String LARGE = "large count";

  private final String story;
  private final List<JobPlan> jobs = new ArrayList<>();
  private final List<Figure> figures = new ArrayList<>();
  private final ObjectNode settings = JsonNodeFactory.instance.objectNode();

  private Workload(String story) {
    this.story = story;
    // Tasks take seconds: with waits of 3 s, the default, a task that insists on its node for
    // that long misses a whole round of slots.
    settings.putObject("delay").put("node_wait_ms", 500).put("rack_wait_ms", 500);
  }

  private static Map<String, Supplier<Workload>> presets() {
    Map<String, Supplier<Workload>> presets = new LinkedHashMap<>();
    presets.put("fair", Workload::users);
    presets.put("fair-original", Workload::users);
    presets.put("dynamic-priority", Workload::bids);
    presets.put("shufflewatcher", Workload::shuffles);
    presets.put("fifo", Workload::users);
    presets.put("hfsp", Workload::sizes);
    presets.put("reverse-adaptive", Workload::goals);
    return presets;
  }

  /** The presets that there is a workload for. */
  static Set<String> names() {
    return Collections.unmodifiableSet(PRESETS.keySet());
  }

  /** For a preset. One that is not known here is the engine's to refuse; it gets the first. */
  static Workload forPreset(String name) {
    return PRESETS.getOrDefault(name, Workload::users).get();
  }

  /** For a composition: one workload with something for each stage, and a figure for each. */
  static Workload forStages(String share, String order, String place) {
    return mixed(share, order, place);
  }

  /** In a sentence or two, of no more than 80 columns each. */
  String story() {
    return story;
  }

  List<JobPlan> jobs() {
    return Collections.unmodifiableList(jobs);
  }

  List<Figure> figures() {
    return Collections.unmodifiableList(figures);
  }

  /** Whether goals are to be set by how fast the machine is. */
  boolean hasGoals() {
    return jobs.stream().anyMatch(JobPlan::hasGoal);
  }

  /** The sections of {@code heddle.json} beside the policy. */
  ObjectNode settings() {
    return settings.deepCopy();
  }

  private Workload add(JobPlan... plans) {
    jobs.addAll(Arrays.asList(plans));
    return this;
  }

  private Workload show(Figure figure) {
    figures.add(figure);
    return this;
  }

  /** A user with more than the cluster can run, and two with little. */
  private static Workload users() {
    return new Workload(
            "alice counts words with more tasks than the cluster can run; bob and carol\n"
                + "have small jobs. Each user has a queue of the same weight.")
        .add(
            JobPlan.of("alice", LARGE).tasks(16, 1),
            JobPlan.of("bob", "small count").tasks(2, 1).after(8),
            JobPlan.of("carol", "small upper").tasks(2, 0).after(10))
        .show(new Figure.Waiting("bob's and carol's jobs", "small count", "small upper"));
  }

  /** Small jobs behind a large one, in one line. */
  private static Workload sizes() {
    return new Workload(
            "A large job comes first, then smaller ones. Nobody says how long they are: up\n"
                + "to five tasks of each are run first to learn it.")
        .add(
            JobPlan.of("alice", LARGE).tasks(20, 1),
            JobPlan.of("bob", "medium upper").tasks(6, 0).after(7),
            JobPlan.of("carol", "small upper").tasks(2, 0).after(9))
        .show(new Figure.Waiting("the smaller jobs", "medium upper", "small upper"));
  }

  /** One user bids three times what the other does. */
  private static Workload bids() {
    Workload workload =
        new Workload(
                "alice comes first and bids 1 credit for a slot and interval, bob comes later\n"
                    + "and bids 3: three slots of four should be his.")
            .add(
                JobPlan.of("alice", LARGE).tasks(20, 1),
                JobPlan.of("bob", "urgent count").tasks(6, 1).after(7))
            .show(new Figure.Waiting("bob's job", "urgent count"));
    return workload.bid("root.alice", 1).bid("root.bob", 3);
  }

  private Workload bid(String queue, int rate) {
    settings
        .withArray("queues")
        .addObject()
        .put("path", queue)
        .put("budget", 1_000_000)
        .put("spending_rate", rate);
    // An interval of 20 s, the default, would be a third of the demo.
    settings.putObject("dynamic_priority").put("allocation_interval_ms", 4000);
    return this;
  }

  /** Jobs that shuffle more than they read, each with its input on both racks. */
  private static Workload shuffles() {
    Workload workload =
        new Workload(
                "alice's and bob's jobs send more through the shuffle than they read; the input\n"
                    + "of both is on both racks.")
            .add(
                JobPlan.of("alice", "shuffling 1").tasks(6, 2).shufflesAll(),
                JobPlan.of("bob", "shuffling 2").tasks(6, 2).shufflesAll().after(1))
            .show(new Figure.CrossRack());
    return workload.relaxed();
  }

  /** As in the paper's runs with relaxed fairness: strictly fair, every slot is taken at once. */
  private Workload relaxed() {
    settings.putObject("shuffle_watcher").put("relaxed_ms", 8000);
    return this;
  }

  /** The later a job comes, the nearer its goal. */
  private static Workload goals() {
    Workload workload =
        new Workload(
                "All jobs say when they should have ended. The large one, which comes first,\n"
                    + "has time; the others have not.")
            .add(
                JobPlan.of("alice", "count").tasks(20, 1).goal(20),
                JobPlan.of("bob", "upper 1").tasks(2, 0).goal(2.5).after(7),
                JobPlan.of("carol", "upper 2").tasks(2, 0).goal(2.5).after(8))
            .show(new Figure.GoalsMet());
    return workload.measured();
  }

  /** The defaults are of a cluster where tasks take minutes. */
  private Workload measured() {
    settings
        .putObject("reverse_adaptive")
        .put("control_period_ms", 4000)
        .put("default_task_ms", 7000);
    return this;
  }

  private static Workload mixed(String share, String order, String place) {
    Workload workload =
        new Workload(
                "alice has a large job and a small one behind it; bob's queue bids three times\n"
                    + "what hers does. The large job and bob's shuffle more than they read.")
            .add(
                JobPlan.of("alice", LARGE).tasks(21, 2).shufflesAll(),
                JobPlan.of("alice", "small").tasks(2, 0).goal(2.5).after(7),
                JobPlan.of("bob", "count").tasks(6, 2).shufflesAll().goal(5).after(7));
    workload.bid("root.alice", 1).bid("root.bob", 3).relaxed().measured();
    if (!order.equals("reverse-adaptive")) {
      workload.jobs.forEach(job -> job.goal(0));
    }
    if (!share.equals("single")) {
      workload.show(new Figure.Waiting("bob's job", "count"));
    }
    if (order.equals("reverse-adaptive")) {
      workload.show(new Figure.GoalsMet());
    } else if (!order.equals("fifo")) {
      workload.show(new Figure.Waiting("alice's small job", "small"));
    }
    if (place.equals("shuffle-watcher")) {
      workload.show(new Figure.CrossRack());
    } else if (!place.equals("local-first")) {
      workload.show(new Figure.NodeLocal());
    }
    return workload;
  }
}
