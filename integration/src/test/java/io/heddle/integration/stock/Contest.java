/*
 * Plays scenarios on the stock scheduler and on Heddle and compares the pictures. A failure prints
 * the seed, the differences and a smaller scenario with one of them. HEDDLE_AGAINST=stock plays the
 * stock scheduler against itself, with other heartbeats: what differs then depends on the order of
 * heartbeats, and no test can ask it of Heddle.
 */
package io.heddle.integration.stock;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The comparison of one kind of scheduler over a range of seeds. */
final class Contest {
  /** Kinds of differences of which one scenario each is reported. */
  private static final int SHOWN = 8;
  /** The name of a property in a message that says that Heddle cannot do what it asks. */
  private static final Pattern REFUSED = Pattern.compile("([A-Za-z0-9_.-]+): refused");
  private static final int SHRINKING_MS = 10_000;
  /**
   * How many other orders of heartbeats stock is played with where tasks have several sizes. What
   * Heddle gives must be what stock gives in one of them, within a container.
   */
  private static final int OTHER_ORDERS = 3;

  private final Kind kind;
  private final Path folder;
  private final Seeds seeds = Seeds.asked(300, 3000);
  private final boolean againstStock = "stock".equals(System.getenv("HEDDLE_AGAINST"));
  /** Scenarios by named difference. */
  private final Map<String, Integer> known = new TreeMap<>();
  /** Differences by kind, and the seeds that have them. */
  private final Map<String, List<Long>> unknown = new TreeMap<>();
  private final Set<String> shown = new TreeSet<>();
  private final StringBuilder report = new StringBuilder();
  private int played;
  private int failed;
  /** Scenarios whose file the stock scheduler refused, or that it failed to play. */
  private int unplayed;
  /** Whether the last scenario was such. */
  private boolean refused;
  private boolean counting;
  /** What the stock scheduler answered, in numbers: a test that refuses all would show nothing. */
  private final Map<String, Integer> tally = new TreeMap<>();

  Contest(Kind kind, Path folder) {
    this.kind = kind;
    this.folder = folder;
  }

  /** Plays all seeds; returns a report of the failures, empty if there are none. */
  String play() throws IOException {
    long began = System.nanoTime();
    for (long seed = seeds.first(); seed <= seeds.last(); seed++) {
      play(kind.scenario(seed));
    }
    System.out.printf("%s: %d scenarios in %d s, %d refused by stock, %d with differences%n",
        kind, played, (System.nanoTime() - began) / 1_000_000_000L, unplayed, failed);
    System.out.println("  " + tally);
    known.forEach((name, count) ->
        System.out.println("  known difference, " + name + ": " + count + " scenarios"));
    unknown.forEach((name, found) ->
        System.out.println("  unknown difference, " + name + ": " + found.size() + " scenarios, "
            + found.subList(0, Math.min(50, found.size()))));
    return report.toString();
  }

  private void play(Scenario scenario) throws IOException {
    played++;
    Scenario understood = understood(scenario);
    counting = true;
    List<Picture.Difference> differences = differences(understood, null);
    counting = false;
    for (Picture.Difference fault; (fault = stockFault(understood, differences)) != null; ) {
      known.merge(KnownDifferences.fault(kind, understood, fault), 1, Integer::sum);
      understood = understood.without(Integer.parseInt(fault.what().split(" ")[1]));
      differences = differences(understood, null);
    }
    unplayed += refused ? 1 : 0;
    for (String name : named(understood, differences)) {
      known.merge(name, 1, Integer::sum);
    }
    if (differences.isEmpty()) {
      return;
    }
    failed++;
    Set<String> kinds = new TreeSet<>();
    differences.forEach(difference -> kinds.add(difference.kind()));
    kinds.forEach(name ->
        unknown.computeIfAbsent(name, n -> new ArrayList<>()).add(scenario.seed));
    kinds.removeAll(shown);
    if (!kinds.isEmpty() && shown.size() < SHOWN) {
      String wanted = kinds.iterator().next();
      shown.add(wanted);
      report.append("\nHEDDLE_SEEDS=").append(scenario.seed).append(' ').append(kind).append(", ")
          .append(wanted).append('\n');
      tell(understood, differences);
      Scenario small = shrink(understood, wanted);
      report.append("smaller:\n");
      tell(small, differences(small, null));
    }
  }

  /**
   * Returns the scenario without the properties that Heddle is known to refuse, so that the rest is
   * played.
   */
  private Scenario understood(Scenario scenario) throws IOException {
    Scenario less = scenario;
    Set<String> names = new TreeSet<>();
    for (boolean refuses = !againstStock; refuses; ) {
      refuses = false;
      String wrong = kind.refusal(less, folder);
      Matcher named = REFUSED.matcher(wrong == null ? "" : wrong);
      while (named.find()) {
        String name = KnownDifferences.refused(named.group(1));
        if (name != null) {
          names.add(name);
          less = less.without(named.group(1));
          refuses = true;
        }
      }
    }
    names.forEach(name -> known.merge(name, 1, Integer::sum));
    return less;
  }

  /** Returns the first submission that stock refuses by a known fault of its own; null if none. */
  private Picture.Difference stockFault(Scenario scenario, List<Picture.Difference> differences) {
    return differences.stream()
        .filter(difference -> KnownDifferences.fault(kind, scenario, difference) != null)
        .findFirst().orElse(null);
  }

  /** Takes the known differences out of a list and returns their names. */
  private Set<String> named(Scenario scenario, List<Picture.Difference> differences) {
    Set<String> names = new TreeSet<>();
    for (Iterator<Picture.Difference> each = differences.iterator(); each.hasNext(); ) {
      String name = KnownDifferences.name(kind, scenario, each.next());
      if (name != null) {
        names.add(name);
        each.remove();
      }
    }
    return names;
  }

  private void tell(Scenario scenario, List<Picture.Difference> differences) throws IOException {
    StringBuilder pictures = new StringBuilder();
    differences(scenario, pictures);
    report.append(scenario).append(pictures);
    differences.forEach(difference -> report.append(difference).append('\n'));
  }

  private List<Picture.Difference> differences(Scenario scenario, StringBuilder pictures)
      throws IOException {
    Picture stock = kind.stock(scenario, folder, scenario.seed);
    Picture other = againstStock ? kind.stock(scenario, folder, scenario.seed + 1)
        : kind.heddle(scenario, folder, scenario.seed);
    if (pictures != null) {
      pictures.append("stock\n").append(stock).append("other\n").append(other);
    }
    refused = stock.failure != null;
    if (counting) {
      count(stock);
    }
    List<Picture.Difference> found =
        stock.compare(other, scenario.largest(), kind.sharesByUser());
    int others = scenario.hasManySizes() ? OTHER_ORDERS : 0;
    for (int more = 1; more <= others && !found.isEmpty(); more++) {
      Picture again = kind.stock(scenario, folder, scenario.seed + more);
      Set<String> still = again.compare(other, scenario.largest(), kind.sharesByUser()).stream()
          .map(Picture.Difference::point).collect(Collectors.toSet());
      found.removeIf(difference -> !still.contains(difference.point()));
    }
    return found;
  }

  private void count(Picture stock) {
    stock.answers.forEach((asked, answer) -> tally.merge(
        asked.substring(0, asked.startsWith("Q") ? 8 : 6) + ' '
            + (asked.startsWith("submit") && !answer.startsWith(Picture.REFUSED) ? "accepted"
                : answer.startsWith(Picture.REFUSED) ? Picture.REFUSED : answer), 1, Integer::sum));
    tally.merge("looks", stock.views.size(), Integer::sum);
    for (Picture.View view : stock.views) {
      tally.merge("queues with containers", view.queues.size(), Integer::sum);
      tally.merge("applications with containers", view.headroom.size(), Integer::sum);
      tally.merge("memory used", (int) view.queues.getOrDefault(
          "root", Picture.Amount.NONE).memoryMb / 1024, Integer::sum);
    }
  }

  /** Returns the smallest scenario found in some seconds that has a difference of this kind. */
  private Scenario shrink(Scenario scenario, String wanted) throws IOException {
    long end = System.nanoTime() + SHRINKING_MS * 1_000_000L;
    Scenario smallest = scenario;
    boolean found = true;
    while (found) {
      found = false;
      for (Scenario candidate : smallest.smaller()) {
        if (System.nanoTime() > end) {
          return smallest;
        }
        List<Picture.Difference> differences = differences(candidate, null);
        named(candidate, differences);
        if (differences.stream().anyMatch(d -> d.kind().equals(wanted))) {
          smallest = candidate;
          found = true;
          break;
        }
      }
    }
    return smallest;
  }
}
