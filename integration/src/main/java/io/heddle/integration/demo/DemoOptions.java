/*
 * The demo's command line. Checks only the form of a policy; the engine knows the names, and its
 * message lists them when one is wrong.
 */
package io.heddle.integration.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.heddle.integration.Policies;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.GnuParser;
import org.apache.commons.cli.HelpFormatter;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The options of one demo. */
final class DemoOptions {
  private static final int HELP_WIDTH = 80;

  private final CommandLine line;
  private final JsonNode json;
  // Null without one.
  private final StockFile file;

  private DemoOptions(CommandLine line) throws ParseException {
    this.line = line;
    if (!line.getArgList().isEmpty()) {
      throw new ParseException("unexpected argument '" + line.getArgList().get(0) + "'");
    }
    if (line.hasOption("stock") && line.hasOption("no-comparison")) {
      throw new ParseException("--stock and --no-comparison: one of the two");
    }
    json = json(policy());
    String named = line.getOptionValue("stock-file");
    if (named == null && line.hasOption("queues")) {
      throw new ParseException("--queues: expected --stock-file with it");
    }
    // The demo runs in a folder of its own; x tells where it was called.
    Path caller = Paths.get(System.getenv().getOrDefault("HEDDLE_CALLER", ""));
    file = named == null ? null : StockFile.read(caller, named);
  }

  /**
   * Reads the arguments.
   *
   * @throws ParseException with a message for the user if they are wrong
   */
  static DemoOptions parse(String[] arguments) throws ParseException {
    try {
      return new DemoOptions(new GnuParser().parse(known(), arguments));
    } catch (ParseException e) {
      throw new ParseException(e.getMessage() + "; see ./x demo --help");
    }
  }

  private static Options known() {
    Options options = new Options();
    Option policy =
        new Option(
            "p",
            "policy",
            true,
            "the composition: a preset's name (" + String.join(", ", Policies.presets())
                + ") or stages, such as " + example() + ". For an unknown name Heddle lists the"
                + " known ones. Default: " + Policies.presets().get(0));
    policy.setArgName("POLICY");
    options.addOption(policy);
    options.addOption(null, "no-comparison", false, "run the workload under the policy alone");
    options.addOption(
        null, "stock", false, "compare with Hadoop's own Capacity scheduler instead of "
            + Workload.OPPONENT);
    Option stockFile = new Option(null, "stock-file", true,
        "run over this fair-scheduler.xml or capacity-scheduler.xml, with its own orders unless"
            + " --policy is given, and compare with the scheduler whose file it is");
    stockFile.setArgName("FILE");
    options.addOption(stockFile);
    Option queues = new Option(null, "queues", true,
        "with --stock-file: queues that the jobs name in turn, such as root.a,root.b; without it"
            + " the file's rules place them");
    queues.setArgName("QUEUES");
    options.addOption(queues);
    options.addOption(null, "plain", false, "print lines instead of a live picture");
    options.addOption(null, "keep", false, "keep the work folders with all logs");
    options.addOption("h", "help", false, "print this text");
    return options;
  }

  static void printHelp(PrintWriter out) {
    new HelpFormatter()
        .printHelp(
            out,
            HELP_WIDTH,
            "./x demo [--hadoop V]",
            "\nStarts HDFS and YARN with four nodes on two racks in this process, and lets users"
                + " run real MapReduce jobs of the kind that the policy was made for. Then runs the"
                + " same jobs under " + Workload.OPPONENT + " and prints what the policy changed."
                + " Takes a few minutes.\n\n",
            known(),
            2,
            4,
            "\nExit code: 0 if all jobs succeeded, 1 if not, 2 for wrong arguments.",
            true);
    out.flush();
  }

  boolean help() {
    return line.hasOption("help");
  }

  boolean plain() {
    return line.hasOption("plain");
  }

  boolean keep() {
    return line.hasOption("keep");
  }

  /** Returns the chosen contender. */
  Contender candidate() {
    return file == null ? Contender.heddle(policy(), json)
        : Contender.over(file, policy(), line.hasOption("policy") ? json : null);
  }

  /** Returns the contender to compare with, if any. */
  Optional<Contender> opponent() {
    if (line.hasOption("stock")) {
      return Optional.of(Contender.capacity());
    }
    if (file != null) {
      return line.hasOption("no-comparison")
          ? Optional.empty() : Optional.of(Contender.of(file));
    }
    boolean alone = line.hasOption("no-comparison") || policy().equals(Workload.OPPONENT);
    return alone ? Optional.empty() : Optional.of(Contender.simplest());
  }

  /** Returns the workload that both run. */
  Workload workload() {
    if (file != null) {
      return Workload.inQueues(queues());
    }
    return json.isObject()
        ? Workload.forStages(stage("share"), stage("order"), stage("place"))
        : Workload.forPreset(policy());
  }

  private List<String> queues() {
    String named = line.getOptionValue("queues");
    return named == null ? Collections.emptyList() : Arrays.asList(named.split(","));
  }

  /** Returns the policy for a stage; the default's if none is named. */
  private String stage(String name) {
    return json.path(name).asText(Policies.stage(Policies.presets().get(0), name));
  }

  /** Returns the last policy of every stage. */
  private static String example() {
    StringJoiner stages = new StringJoiner(",");
    for (String stage : Policies.STAGES) {
      List<String> names = Policies.names(stage);
      stages.add(stage + "=" + names.get(names.size() - 1));
    }
    return stages.toString();
  }

  private String policy() {
    return line.getOptionValue("policy", Policies.presets().get(0));
  }

  /** Returns the policy in the form of heddle.json. */
  private static JsonNode json(String policy) throws ParseException {
    if (!policy.contains("=")) {
      return TextNode.valueOf(policy);
    }
    ObjectNode stages = JsonNodeFactory.instance.objectNode();
    for (String part : policy.split(",")) {
      String[] stage = part.split("=", 2);
      boolean known = Policies.STAGES.contains(stage[0].trim());
      if (stage.length != 2 || !known || stage[1].trim().isEmpty()) {
        throw new ParseException(
            "--policy: '" + part + "' is not a stage; expected share=NAME, order=NAME or"
                + " place=NAME, separated by commas");
      }
      stages.put(stage[0].trim(), stage[1].trim());
    }
    return stages;
  }
}
