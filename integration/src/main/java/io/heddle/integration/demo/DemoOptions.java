/*
 * The demo's command line. Knows the shape of a policy, not the names of policies: those are the
 * engine's, whose own message lists them when a name is wrong.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.MiniCluster;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.GnuParser;
import org.apache.commons.cli.HelpFormatter;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** What the demo was asked to do. */
final class DemoOptions {
  private static final int HELP_WIDTH = 80;
  private static final List<String> STAGES = Arrays.asList("share", "order", "place");

  private final CommandLine line;

  private DemoOptions(CommandLine line) {
    this.line = line;
  }

  /**
   * Reads the arguments.
   *
   * @throws ParseException with a text for the user if they are wrong
   */
  static DemoOptions parse(String[] arguments) throws ParseException {
    DemoOptions options;
    try {
      options = new DemoOptions(new GnuParser().parse(known(), arguments));
    } catch (ParseException e) {
      throw new ParseException(e.getMessage() + "; see ./x demo --help");
    }
    if (!options.line.getArgList().isEmpty()) {
      throw new ParseException(
          "unexpected argument '" + options.line.getArgList().get(0) + "'; see ./x demo --help");
    }
    options.engineConfiguration();
    return options;
  }

  private static Options known() {
    Options options = new Options();
    Option policy =
        new Option(
            "p",
            "policy",
            true,
            "the composition: a preset's name (fair, fifo) or stages, such as"
                + " share=fair,order=fifo,place=delay. With a name that it does not know, Heddle"
                + " lists those that it knows. Default: fair");
    policy.setArgName("POLICY");
    options.addOption(policy);
    options.addOption(null, "stock", false, "run Hadoop's own Capacity scheduler, to compare");
    options.addOption(null, "plain", false, "print lines instead of a live picture");
    options.addOption(null, "keep", false, "keep the work folder with all logs");
    options.addOption("h", "help", false, "print this text");
    return options;
  }

  static void printHelp(PrintWriter out) {
    new HelpFormatter()
        .printHelp(
            out,
            HELP_WIDTH,
            "./x demo [--hadoop V]",
            "\nStarts HDFS and YARN with four nodes on two racks in this process, and lets three"
                + " users run real MapReduce jobs: alice a large one, bob two of medium size, carol"
                + " three small ones while the others run. Takes a minute or two.\n\n",
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

  /** The scheduler class to run. */
  String schedulerClass() {
    return line.hasOption("stock")
        ? "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler"
        : MiniCluster.HEDDLE;
  }

  /** The composition in words, for the headline. */
  String title() {
    return line.hasOption("stock") ? "stock Capacity scheduler" : "Heddle, policy " + policy();
  }

  private String policy() {
    return line.getOptionValue("policy", "fair");
  }

  /** The text of heddle.json. */
  String engineConfiguration() throws ParseException {
    String policy = policy();
    if (!policy.contains("=")) {
      return "{\"policy\": " + quote(policy) + "}";
    }
    StringBuilder json = new StringBuilder();
    for (String part : policy.split(",")) {
      String[] stage = part.split("=", 2);
      if (stage.length != 2 || !STAGES.contains(stage[0].trim()) || stage[1].trim().isEmpty()) {
        throw new ParseException(
            "--policy: '" + part + "' is not a stage; expected share=NAME, order=NAME or"
                + " place=NAME, separated by commas");
      }
      json.append(json.length() == 0 ? "" : ", ");
      json.append(quote(stage[0].trim())).append(": ").append(quote(stage[1].trim()));
    }
    return "{\"policy\": {" + json + "}}";
  }

  /** As a JSON string; quotes and backslashes are all that a shell argument may need escaped. */
  private static String quote(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
