/*
 * The command line of the bench. Parses and checks; runs nothing.
 */
package io.heddle.integration.bench;

import static io.heddle.integration.Arguments.number;
import static io.heddle.integration.Arguments.valued;
import static io.heddle.integration.Arguments.wholeNumber;

import io.heddle.integration.Policies;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.GnuParser;
import org.apache.commons.cli.HelpFormatter;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The options of one bench. */
final class BenchOptions {
  private static final String ALL = "stub,fair,capacity,heddle";
  /** The workload that shows the policy with accounts, which the API is about. */
  private static final String API_WORKLOAD = "bids";

  final boolean help;
  final boolean quick;
  final List<SchedulerKind> schedulers = new ArrayList<>();
  /** Heddle's policy. */
  final HeddlePolicy policy;
  final List<Workload> workloads;
  final int rounds;
  final long seed;
  /** Count CPU time of the calling thread instead of real time. */
  final boolean cpuClock;
  /** Number of clients of the API in every other round; 0 for the usual bench. */
  final int apiClients;
  /** Requests per second of all of them together; 0 for no limit. */
  final int apiRate;
  /** Numbers of nodes of {@code --scale}; empty for the usual bench. */
  final List<Integer> scale;
  /** Policies of {@code --scale}. */
  final List<HeddlePolicy> policies;
  /** The folder for raw results, or null. */
  final Path out;
  final String commandLine;

  private BenchOptions(CommandLine line, String[] args) throws ParseException {
    help = line.hasOption("help");
    quick = line.hasOption("quick");
    apiClients = line.hasOption("api-load") ? number(line, "api-load", 0, 1) : 0;
    apiRate = line.hasOption("api-rate") ? number(line, "api-rate", 0, 1) : 0;
    boolean api = apiClients > 0;
    if (apiRate > 0 && !api) {
      throw new ParseException("--api-rate needs --api-load N, the number of clients");
    }
    if (api && line.hasOption("schedulers")) {
      throw new ParseException("--api-load measures Heddle alone; leave --schedulers out");
    }
    String all = api ? SchedulerKind.HEDDLE_API.label : ALL;
    for (String label : line.getOptionValue("schedulers", all).split(",")) {
      schedulers.add(SchedulerKind.byLabel(label.trim()));
    }
    scale = sizes(line);
    if (!scale.isEmpty() && (api || line.hasOption("schedulers") || line.hasOption("workloads"))) {
      throw new ParseException("--scale has its own load, and measures Heddle alone; leave"
          + " --api-load, --schedulers and --workloads out");
    }
    String usual = api ? Policies.shownBy(API_WORKLOAD) : HeddlePolicy.DEFAULT.label;
    policy = HeddlePolicy.byLabel(line.getOptionValue("policy", usual).trim());
    policies = line.hasOption("policy")
        ? Collections.singletonList(policy) : HeddlePolicy.all();
    workloads = workloads(line);
    rounds = number(line, "rounds", quick ? 1 : 3, 1);
    seed = number(line, "seed", 1, 0);
    String clock = line.getOptionValue("clock", "wall");
    if (!clock.equals("wall") && !clock.equals("cpu")) {
      throw new ParseException("--clock must be wall or cpu, not '" + clock + "'");
    }
    cpuClock = clock.equals("cpu");
    out = line.hasOption("out") ? Paths.get(line.getOptionValue("out")) : null;
    commandLine = "./x bench" + (args.length == 0 ? "" : " " + String.join(" ", args));
  }

  /** Returns the workloads asked for, or else all that the policy can run. */
  private List<Workload> workloads(CommandLine line) throws ParseException {
    String names = line.getOptionValue("workloads");
    List<Workload> chosen = apiClients > 0 && names == null
        ? Catalogue.underApiLoad(quick) : Catalogue.select(quick, names);
    boolean heddle = schedulers.stream().anyMatch(SchedulerKind::heddle);
    boolean limitless = heddle && !policy.keepsQueues;
    List<Workload> limited = new ArrayList<>();
    for (Workload workload : chosen) {
      if (limitless && workload.shape().isLimited()) {
        limited.add(workload);
      }
    }
    if (names != null && !limited.isEmpty()) {
      throw new ParseException("--workloads: " + limited.get(0).name() + " needs limits of queues, "
          + "and policy " + policy.label + " has one line for all jobs; leave it out");
    }
    chosen.removeAll(limited);
    return chosen;
  }

  private static List<Integer> sizes(CommandLine line) throws ParseException {
    List<Integer> sizes = new ArrayList<>();
    if (!line.hasOption("scale")) {
      return sizes;
    }
    for (String text : line.getOptionValue("scale").split(",", -1)) {
      sizes.add(wholeNumber("scale", text.trim(), ScaleRun.NODES_MIN));
    }
    return sizes;
  }

  private static Options options() {
    Options options = new Options();
    options.addOption(null, "quick", false, "small workloads, one round: about a minute");
    options.addOption(valued("schedulers", "LIST", "of stub, fair, fair-rec, capacity, "
        + "capacity-rec, capacity-async, heddle, heddle-reports, heddle-untraced, "
        + "heddle-journal, heddle-shadow, heddle-api; -rec and -journal record; default " + ALL));
    options.addOption(valued("policy", "NAME", "Heddle's policy, of " + HeddlePolicy.labels()
        + "; default " + HeddlePolicy.DEFAULT.label + ", which is fair between queues and first "
        + "come first served inside. A policy with one line for all jobs runs no workload of the "
        + "family limited"));
    options.addOption(valued("workloads", "LIST", "names, or families of names: steady, "
        + "mapreduce, churn, fit, limited, full, large; default all"));
    options.addOption(valued("rounds", "N", "measured rounds of each; default 3, quick 1"));
    options.addOption(valued("seed", "N", "seed of every random choice; default 1"));
    options.addOption(valued("clock", "CLOCK", "wall (default), or cpu: the calling thread's CPU "
        + "time, for machines that others use too"));
    options.addOption(valued("api-load", "N", "Heddle alone, alternately without and with N "
        + "clients of its API over HTTP, each as fast as it is answered: requests per second, "
        + "their latency, and that of heartbeats. Defaults: policy "
        + Policies.shownBy(API_WORKLOAD) + ", workload steady-300"));
    options.addOption(valued("api-rate", "N", "with --api-load: requests per second of all clients "
        + "together; default no limit"));
    options.addOption(valued("scale", "LIST", "Heddle alone, on clusters of these numbers of "
        + "nodes, each with two applications for a node and a queue for two, with labels and "
        + "users' own queues: times of all calls that hold the scheduler's lock, of requests over "
        + "HTTP, and memory. Under --policy, else under every policy. Then a failover, beside the "
        + "stock schedulers"));
    options.addOption(valued("out", "DIR", "write raw results as JSON and CSV into DIR"));
    options.addOption("h", "help", false, "print this");
    return options;
  }

  /** Parses the command line; the exception has a message for the user. */
  static BenchOptions parse(String[] args) throws ParseException {
    CommandLine line = new GnuParser().parse(options(), args);
    if (!line.getArgList().isEmpty()) {
      throw new ParseException("unexpected argument " + Arrays.toString(line.getArgs()));
    }
    try {
      return new BenchOptions(line, args);
    } catch (IllegalArgumentException e) {
      throw new ParseException(e.getMessage());
    }
  }

  static void printHelp(PrintWriter to) {
    new HelpFormatter().printHelp(to, 100, "./x bench [options]",
        "Measures schedulers side by side in one JVM, driven by the same events.", options(), 2, 2,
        "Exit code: 0 = done, 1 = a scheduler broke a rule, 2 = bad command line.");
    to.flush();
  }
}
