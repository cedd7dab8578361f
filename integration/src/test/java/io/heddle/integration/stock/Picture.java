/*
 * What one scheduler answered and showed during a scenario, in a form that does not depend on the
 * scheduler's classes. Two pictures of the same scenario are compared line by line.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** The answers of one scheduler, and its state at every look. */
final class Picture {
  /** Refusal of a submission or an ask; of the words after it, {@link #PERMISSION} may count. */
  static final String REFUSED = "refused";

  /**
   * Whom stock tells this must hear nothing else. The other way round is no difference: YARN tells
   * anybody that the queue that is named by default does not exist.
   */
  private static final String PERMISSION = "permission";

  /** Answers to submissions, asks and questions, by what was asked. */
  final Map<String, String> answers = new LinkedHashMap<>();
  final List<View> views = new ArrayList<>();
  /** Set if the scheduler did not even start, or threw. */
  String failure;

  /** The state in which nothing changes any more. */
  static final class View {
    final String title;
    /** Use by queue, ancestors included. */
    final Map<String, Amount> queues = new TreeMap<>();
    /** Use by leaf and user. */
    final Map<String, Amount> users = new TreeMap<>();
    /** Applications with at least one container, by queue and by user. */
    final Map<String, Integer> running = new TreeMap<>();
    /** What the AMs are told to be free, by application. */
    final Map<String, Amount> headroom = new TreeMap<>();
    /** The containers that applications still ask for, one of each. */
    final Map<String, Amount> asks = new TreeMap<>();
    /** How many applications have no container. */
    int waiting;
    /** How many of those ask for nothing: none is wanted, or the ask was refused. */
    int silent;
    /** What is free on each node. */
    final List<Amount> rooms = new ArrayList<>();
    /** What the nodes have. */
    Amount capacity = Amount.NONE;

    View(String title) {
      this.title = title;
    }
  }

  /** An amount of memory and virtual cores. */
  static final class Amount {
    static final Amount NONE = new Amount(0, 0);
    final long memoryMb;
    final long vcores;

    Amount(long memoryMb, long vcores) {
      this.memoryMb = memoryMb;
      this.vcores = vcores;
    }

    Amount plus(Amount other) {
      return new Amount(memoryMb + other.memoryMb, vcores + other.vcores);
    }

    Amount minus(Amount other) {
      return new Amount(memoryMb - other.memoryMb, vcores - other.vcores);
    }

    Amount least(Amount other) {
      return new Amount(Math.min(memoryMb, other.memoryMb), Math.min(vcores, other.vcores));
    }

    Amount most(Amount other) {
      return new Amount(Math.max(memoryMb, other.memoryMb), Math.max(vcores, other.vcores));
    }

    boolean holds(Amount other) {
      return memoryMb >= other.memoryMb && vcores >= other.vcores;
    }

    /** Returns whether the other is within one container or 2 % of this, whichever is larger. */
    boolean near(Amount other, Step.Size container) {
      return near(memoryMb, other.memoryMb, container.memoryMb())
          && near(vcores, other.vcores, container.vcores());
    }

    private static boolean near(long here, long there, long container) {
      return Math.abs(here - there) <= Math.max(container, Math.abs(here) / 50);
    }

    @Override
    public String toString() {
      return memoryMb + " MB " + vcores + " vc";
    }
  }

  /** One point in which two pictures differ. */
  record Difference(String where, String what, Object stock, Object other, View stockView,
      View otherView) {
    Difference(String where, String what, Object stock, Object other) {
      this(where, what, stock, other, null, null);
    }

    /** Returns the kind of difference, for counting: without names of queues and users. */
    String kind() {
      if (where.equals("answer")) {
        return what.split("[ \\[]")[0] + ": " + word(stock) + ", not " + word(other);
      }
      return where.contains(":") ? where.substring(where.indexOf(':') + 2) : where;
    }

    /** Returns the point: where it is, and what. */
    String point() {
      return where + ' ' + what;
    }

    private static String word(Object answer) {
      return answer.toString().startsWith("root") ? "a queue" : bare(answer.toString());
    }

    @Override
    public String toString() {
      return String.format("%-22s %-52s stock: %-22s other: %s", where, what, stock, other);
    }
  }

  /** Returns the differences of another scheduler's picture from this one. */
  List<Difference> compare(Picture other, Step.Size container, boolean byUser) {
    List<Difference> found = new ArrayList<>();
    if (failure != null || other.failure != null) {
      if (failure == null || other.failure == null) {
        found.add(new Difference("start", "", shown(failure), shown(other.failure)));
      }
      return found;
    }
    for (Map.Entry<String, String> answer : answers.entrySet()) {
      String there = other.answers.getOrDefault(answer.getKey(), "nothing");
      boolean allowed = answer.getValue().startsWith(REFUSED) && there.startsWith(REFUSED)
          && there.contains(PERMISSION);
      if (!allowed && !bare(answer.getValue()).equals(bare(there))) {
        int v = firstOtherRunning(other);
        found.add(new Difference("answer", answer.getKey(), answer.getValue(), there,
            v < 0 ? null : views.get(v), v < 0 ? null : other.views.get(v)));
      }
    }
    for (int v = 0; v < Math.min(views.size(), other.views.size()); v++) {
      View here = views.get(v);
      View there = other.views.get(v);
      List<Difference> seen = new ArrayList<>();
      amounts(here.title + ": use", here.queues, there.queues, container, seen);
      if (byUser) {
        amounts(here.title + ": user", here.users, there.users, container, seen);
      }
      for (String key : keys(here.running, there.running)) {
        int a = here.running.getOrDefault(key, 0);
        int b = there.running.getOrDefault(key, 0);
        if (a != b) {
          seen.add(new Difference(here.title + ": running", key, "" + a, "" + b));
        }
      }
      amounts(here.title + ": headroom", here.headroom, there.headroom, container, seen);
      for (Difference each : seen) {
        found.add(new Difference(each.where, each.what, each.stock, each.other, here, there));
      }
    }
    return found;
  }

  /** Returns the first look at which other applications run; -1 if there is none. */
  private int firstOtherRunning(Picture other) {
    for (int v = 0; v < Math.min(views.size(), other.views.size()); v++) {
      if (!views.get(v).running.equals(other.views.get(v).running)) {
        return v;
      }
    }
    return -1;
  }

  private static String shown(String failure) {
    return failure == null ? "started" : failure;
  }

  private static String bare(String answer) {
    return !answer.startsWith(REFUSED) ? answer
        : answer.contains(PERMISSION) ? REFUSED + " for want of " + PERMISSION : REFUSED;
  }

  private static void amounts(String where, Map<String, Amount> here, Map<String, Amount> there,
      Step.Size container, List<Difference> into) {
    for (String key : keys(here, there)) {
      Amount a = here.getOrDefault(key, Amount.NONE);
      Amount b = there.getOrDefault(key, Amount.NONE);
      if (!a.near(b, container)) {
        into.add(new Difference(where, key, a, b));
      }
    }
  }

  private static <V> TreeSet<String> keys(Map<String, V> here, Map<String, V> there) {
    TreeSet<String> keys = new TreeSet<>(here.keySet());
    keys.addAll(there.keySet());
    return keys;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    if (failure != null) {
      text.append("  failed: ").append(failure).append('\n');
    }
    answers.forEach((asked, answer) ->
        text.append("  ").append(asked).append(" -> ").append(answer).append('\n'));
    for (View view : views) {
      text.append("  ").append(view.title).append('\n');
      view.queues.forEach((queue, use) -> text.append(String.format("    %-40s %s%n", queue, use)));
      view.users.forEach((user, use) -> text.append(String.format("    %-40s %s%n", user, use)));
      text.append("    running ").append(view.running).append('\n');
      text.append("    headroom ").append(view.headroom).append('\n');
    }
    return text.toString();
  }
}
