/*
 * What the users of the demo submit, and when: a workload for each policy, of the kind that the
 * policy was made for, and the figures that show what it does. Runs nothing.
 */
package io.heddle.integration.demo;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.Policies;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Jobs, the settings of {@code heddle.json} that they need, and figures. Each fits a minute or so
 * on two processors: every container is a JVM that takes seconds of them to start.
 */
final class Workload {
  private static final ObjectNode FILE = Policies.resource(Workload.class, "demo.json");
  /** The policy that the others are compared with. */
  static final String OPPONENT = FILE.path("opponent").asText();

  private static final String BIDS = "bids";
  private static final String GOALS = "goals";
  private static final String SHUFFLES = "shuffles";
  private static final Map<String, Supplier<Workload>> ALL = all();
  private static final String LARGE = "large count";

  private final String story;
  private final List<JobPlan> jobs = new ArrayList<>();
  private final List<Figure> figures = new ArrayList<>();
  // Defaults are for clusters where tasks take minutes. Here they take seconds: a task that
  // insists on its node for 3 s misses a whole round of slots, and an interval of 20 s between
  // auctions would be a third of the demo. Strict fairness takes every slot at once, and leaves no
  // choice of racks: as in the paper's runs with relaxed fairness, queues may be passed over.
  private final ObjectNode settings = ((ObjectNode) FILE.get("settings")).deepCopy();

  private Workload(String story) {
    this.story = story;
  }

  private static Map<String, Supplier<Workload>> all() {
    Map<String, Supplier<Workload>> all = new HashMap<>();
    all.put("users", Workload::users);
    all.put(BIDS, Workload::bids);
    all.put(SHUFFLES, Workload::shuffles);
    all.put("sizes", Workload::sizes);
    all.put(GOALS, Workload::goals);
    return all;
  }

  /** The names by which the engine says which of them shows a policy. */
  static Set<String> names() {
    return Collections.unmodifiableSet(ALL.keySet());
  }

  /** For a preset. One that is not known is the engine's to refuse; it gets the first. */
  static Workload forPreset(String name) {
    return ALL.getOrDefault(Policies.workload(name), Workload::users).get();
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
    return this;
  }

  /** Jobs that shuffle more than they read, each with its input on both racks. */
  private static Workload shuffles() {
    return new Workload(
                "alice's and bob's jobs send more through the shuffle than they read; the input\n"
                    + "of both is on both racks.")
            .add(
                JobPlan.of("alice", "shuffling 1").tasks(6, 2).shufflesAll(),
                JobPlan.of("bob", "shuffling 2").tasks(6, 2).shufflesAll().after(1))
            .show(new Figure.CrossRack());
  }

  /** The later a job comes, the nearer its goal. */
  private static Workload goals() {
    return new Workload(
                "All jobs say when they should have ended. The large one, which comes first,\n"
                    + "has time; the others have not.")
            .add(
                JobPlan.of("alice", "count").tasks(20, 1).goal(20),
                JobPlan.of("bob", "upper 1").tasks(2, 0).goal(2.5).after(7),
                JobPlan.of("carol", "upper 2").tasks(2, 0).goal(2.5).after(8))
            .show(new Figure.GoalsMet());
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
    workload.bid("root.alice", 1).bid("root.bob", 3);
    boolean goals = Policies.isShownBy(GOALS, "order", order);
    if (!goals) {
      workload.jobs.forEach(job -> job.goal(0));
    }
    if (differs("share", share)) {
      workload.show(new Figure.Waiting("bob's job", "count"));
    }
    if (goals) {
      workload.show(new Figure.GoalsMet());
    } else if (differs("order", order)) {
      workload.show(new Figure.Waiting("alice's small job", "small"));
    }
    if (Policies.isShownBy(SHUFFLES, "place", place)) {
      workload.show(new Figure.CrossRack());
    } else if (differs("place", place)) {
      workload.show(new Figure.NodeLocal());
    }
    return workload;
  }

  /** Whether a stage is another than that of the policy to compare with. */
  private static boolean differs(String stage, String name) {
    return !Policies.stage(OPPONENT, stage).equals(name);
  }
}
