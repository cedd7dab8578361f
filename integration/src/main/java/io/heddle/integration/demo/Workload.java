/*
 * The workloads of the demo: for each policy jobs of the kind that it was made for, and the figures
 * that show its effect. Runs nothing.
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
 * Jobs, the settings of {@code heddle.json} that they need, and figures. Each takes about a minute
 * on two processors: every container is a JVM that needs seconds of processor time to start.
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
  // The defaults are for clusters where tasks take minutes. Here they take seconds: a task that
  // waits 3 s for its node misses a whole round of slots, and an interval of 20 s between auctions
  // would be a third of the demo. Strict fairness uses every slot at once and leaves no choice of
  // racks. So queues may be passed over, as in the paper's runs with relaxed fairness.
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

  /** Returns the names of all workloads; the engine names the one that shows a policy. */
  static Set<String> names() {
    return Collections.unmodifiableSet(ALL.keySet());
  }

  /** Returns the workload for a preset; the first for an unknown one, which the engine refuses. */
  static Workload forPreset(String name) {
    return ALL.getOrDefault(Policies.workload(name), Workload::users).get();
  }

  /** Returns the workload for a composition, with jobs and a figure for each stage. */
  static Workload forStages(String share, String order, String place) {
    return mixed(share, order, place);
  }

  /** Returns the jobs of users without settings; each names one of these queues in turn. */
  static Workload inQueues(List<String> queues) {
    Workload workload = users();
    for (int i = 0; i < workload.jobs.size() && !queues.isEmpty(); i++) {
      workload.jobs.get(i).queue(queues.get(i % queues.size()));
    }
    return workload;
  }

  /** Returns a description of a few lines of at most 80 columns. */
  String story() {
    return story;
  }

  List<JobPlan> jobs() {
    return Collections.unmodifiableList(jobs);
  }

  List<Figure> figures() {
    return Collections.unmodifiableList(figures);
  }

  /** Returns whether jobs have goals, which depend on the speed of the machine. */
  boolean hasGoals() {
    return jobs.stream().anyMatch(JobPlan::hasGoal);
  }

  /** Returns the sections of {@code heddle.json} besides the policy. */
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

  /** Small jobs that come after a large one. */
  private static Workload sizes() {
    return new Workload(
            "A large job comes first, then smaller ones. Their lengths are unknown: up to\n"
                + "five tasks of each run first to learn them.")
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

  /** Jobs with goals; later jobs have tighter ones. */
  private static Workload goals() {
    return new Workload(
                "All jobs have completion goals. The large one comes first and has time; the\n"
                    + "others are urgent.")
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

  /** Returns whether a stage differs from that of the opponent. */
  private static boolean differs(String stage, String name) {
    return !Policies.stage(OPPONENT, stage).equals(name);
  }
}
