/*
 * What one seed stands for. A scenario prints as the files and events that a person needs to repeat
 * it, and can list its smaller neighbours, of which Shrinking picks those that still fail.
 */
package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Settings, the stock file, events and questions about rights. */
final class Scenario {
  final long seed;
  /** Properties of yarn-site.xml. */
  final Map<String, String> site;
  /** The stock scheduler's own file. */
  final Element file;
  final List<Step> steps;
  final List<Question> questions;

  /** Asks whether a user has a right in a queue. */
  record Question(String user, boolean administer, String queue) {}

  Scenario(long seed, Map<String, String> site, Element file, List<Step> steps,
      List<Question> questions) {
    this.seed = seed;
    this.site = Collections.unmodifiableMap(new TreeMap<>(site));
    this.file = file;
    this.steps = List.copyOf(steps);
    this.questions = List.copyOf(questions);
  }

  /** Returns whether vcores limit nothing: the Capacity Scheduler's default calculator. */
  boolean countsMemoryOnly() {
    String text = file.toString();
    return text.contains("yarn.scheduler.capacity.")
        && !text.contains("DominantResourceCalculator");
  }

  /** Returns the size of a container, the largest that is not refused if they differ. */
  Step.Size largest() {
    int most = Integer.parseInt(
        site.getOrDefault(YarnConfiguration.RM_SCHEDULER_MAXIMUM_ALLOCATION_MB, "0"));
    int memoryMb = 0;
    int vcores = 0;
    for (Step.Submit submit : submissions()) {
      int taskMb = submit.task().memoryMb() > most ? 0 : submit.task().memoryMb();
      memoryMb = Math.max(memoryMb, Math.max(taskMb, submit.am().memoryMb()));
      vcores = Math.max(vcores, Math.max(submit.task().vcores(), submit.am().vcores()));
    }
    return new Step.Size(memoryMb, vcores);
  }

  /**
   * Returns whether tasks have several sizes, so that what is left over depends on the order of
   * heartbeats.
   */
  boolean hasManySizes() {
    int amMb = submissions().stream().mapToInt(submit -> submit.am().memoryMb()).max().orElse(0);
    return largest().memoryMb() > amMb;
  }

  /** Returns whether Heddle grants at once, as by default, or when nodes report, as stock does. */
  boolean grantsAtOnce() {
    return seed % 2 == 1;
  }

  private List<Step.Submit> submissions() {
    return steps.stream().filter(Step.Submit.class::isInstance).map(Step.Submit.class::cast)
        .collect(Collectors.toList());
  }

  /** Returns this scenario without a property of the stock file. */
  Scenario without(String property) {
    List<Element> fewer = new ArrayList<>(file.children);
    fewer.removeIf(child -> child.name.equals("property")
        && child.children.get(0).text.equals(property));
    return new Scenario(seed, site, Element.of(file.name, file.attributes, fewer), steps,
        questions);
  }

  /** Returns this scenario without an application. */
  Scenario without(int app) {
    List<Step> fewer = new ArrayList<>(steps);
    fewer.removeIf(step -> step instanceof Step.Submit && ((Step.Submit) step).app() == app);
    return new Scenario(seed, site, file, fewer, questions);
  }

  /** Returns scenarios with one part less, large parts first. */
  List<Scenario> smaller() {
    List<Scenario> found = new ArrayList<>();
    for (Element less : file.smaller()) {
      found.add(new Scenario(seed, site, less, steps, questions));
    }
    for (int length = Math.max(1, steps.size() / 2); length > 0; length /= 2) {
      for (int from = 0; from + length <= steps.size(); from += length) {
        List<Step> fewer = new ArrayList<>(steps);
        fewer.subList(from, from + length).clear();
        found.add(new Scenario(seed, site, file, fewer, questions));
      }
    }
    for (String key : site.keySet()) {
      Map<String, String> fewer = new TreeMap<>(site);
      fewer.remove(key);
      found.add(new Scenario(seed, fewer, file, steps, questions));
    }
    if (!questions.isEmpty()) {
      int half = questions.size() / 2;
      found.add(new Scenario(seed, site, file, steps, questions.subList(0, half)));
      found.add(new Scenario(seed, site, file, steps,
          questions.subList(half + (half == 0 ? 1 : 0), questions.size())));
    }
    return found;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    site.forEach((key, value) -> text.append(key).append('=').append(value).append('\n'));
    text.append(file);
    steps.forEach(step -> text.append(step).append('\n'));
    questions.forEach(question -> text.append(question).append('\n'));
    return text.toString();
  }
}
