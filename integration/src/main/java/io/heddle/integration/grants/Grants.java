/*
 * ./x grants: measures how long asks and small jobs take, under Heddle with and without immediate
 * grants and under the stock schedulers, round by round in turn. Prints medians and 99th
 * percentiles, and keeps every reading.
 */
package io.heddle.integration.grants;

import static io.heddle.integration.Arguments.number;
import static io.heddle.integration.Arguments.valued;

import io.heddle.integration.Quantiles;
import io.heddle.integration.cluster.ClusterLog;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.GnuParser;
import org.apache.commons.cli.HelpFormatter;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.hadoop.util.VersionInfo;

/** The measurement's main class. */
public final class Grants {
  private static final String[] LOADS = {"idle", "half-full"};

  private final List<Contender> contenders = new ArrayList<>();
  private final List<Kind> kinds = new ArrayList<>();
  private final boolean daemons;
  private final int rounds;
  private final int asks;
  private final int jobs;
  private final long seed;
  private final Map<Contender, List<Reading>> readings = new LinkedHashMap<>();
  private final StringBuilder raw = new StringBuilder();
  /** For all readings, or null. */
  private Path file;

  private Grants(CommandLine line) throws ParseException {
    for (String label : line.getOptionValue("schedulers", Contender.labels()).split(",")) {
      contenders.add(Contender.byLabel(label.trim()));
    }
    for (String label : line.getOptionValue("kinds", Kind.labels()).split(",")) {
      Kind kind = Kind.byLabel(label.trim());
      if (kind.missing() == null) {
        kinds.add(kind);
      } else if (line.hasOption("kinds")) {
        throw new ParseException(kind.missing());
      } else {
        System.out.println(kind.missing());
      }
    }
    daemons = line.hasOption("daemons");
    rounds = number(line, "rounds", 2, 1);
    asks = number(line, "asks", 20, 1);
    jobs = number(line, "jobs", 4, 1);
    seed = number(line, "seed", 1, 0);
  }

  private static Options options() {
    Options options = new Options();
    options.addOption(valued("schedulers", "LIST", "of " + Contender.labels() + "; default all"));
    options.addOption(null, "daemons", false,
        "on daemons in processes of their own, not on mini clusters in this one");
    options.addOption(valued("rounds", "N", "clusters for each scheduler; default 2"));
    options.addOption(valued("asks", "N", "single asks on each cluster and load; default 20"));
    options.addOption(valued("kinds", "LIST", "jobs to run, of " + Kind.labels()
        + "; default all that are installed"));
    options.addOption(valued("jobs", "N", "jobs of each kind on each cluster and load; default 4"));
    options.addOption(valued("seed", "N", "seed of the pauses; default 1"));
    options.addOption(valued("out", "DIR", "write all readings as CSV into DIR"));
    options.addOption("h", "help", false, "print this");
    return options;
  }

  /** Makes a measurement; the exception has a message for the user. */
  static Grants of(CommandLine line) throws ParseException {
    try {
      return new Grants(line);
    } catch (IllegalArgumentException e) {
      throw new ParseException(e.getMessage());
    }
  }

  static CommandLine parse(String... args) throws ParseException {
    CommandLine line = new GnuParser().parse(options(), args);
    if (!line.getArgList().isEmpty()) {
      throw new ParseException("unexpected argument " + line.getArgList());
    }
    return line;
  }

  /** Measures and ends the process. */
  public static void main(String[] args) {
    int code = 1;
    try {
      CommandLine line = parse(args);
      if (line.hasOption("help")) {
        PrintWriter out = new PrintWriter(System.out);
        new HelpFormatter().printHelp(out, 100, "./x grants [options]",
            "Measures asks and small jobs.", options(), 2, 2, "");
        out.flush();
        System.exit(0);
      }
      Grants grants = of(line);
      ClusterLog.quiet();
      if (line.hasOption("out")) {
        grants.keepIn(Paths.get(System.getenv("HEDDLE_CALLER"))
            .resolve(line.getOptionValue("out")), String.join(" ", args));
      }
      grants.run();
      grants.print();
      if (grants.file != null) {
        System.out.println("All readings: " + grants.file);
      }
      code = 0;
    } catch (ParseException e) {
      System.err.println("grants: " + e.getMessage() + "\nTry --help.");
      code = 2;
    } catch (Exception | Error e) {
      e.printStackTrace();
    }
    // Some of Hadoop's threads are no daemons.
    System.exit(code);
  }

  /** Measures, and returns what was read of each scheduler. */
  Map<Contender, List<Reading>> run() throws Exception {
    raw.append("scheduler,round,load,figure,ms\n");
    for (int round = 1; round <= rounds; round++) {
      for (Contender contender : contenders) {
        List<Reading> got =
            new ClusterRun(contender, daemons, asks, kinds, jobs, seed + round).run();
        readings.computeIfAbsent(contender, any -> new ArrayList<>()).addAll(got);
        keep(contender, round, got);
        System.out.printf("round %d of %d, %s: %d readings%n", round, rounds, contender.label,
            got.size());
      }
    }
    return readings;
  }

  private void print() {
    List<String> figures = new ArrayList<>(Arrays.asList(Reading.GRANT, Reading.START));
    for (Kind kind : kinds) {
      figures.add(kind.figure);
      figures.add(kind.waiting());
    }
    for (String load : LOADS) {
      System.out.printf("%n%s cluster, Hadoop %s%n", load, VersionInfo.getVersion());
      System.out.printf("  %-45s%12s%18s%8s%n", "ms", "median", "99th percentile", "of");
      for (String figure : figures) {
        contenders.forEach(contender -> print(load, figure, contender));
      }
    }
  }

  private void print(String load, String figure, Contender contender) {
    double[] ms = readings.get(contender).stream()
        .filter(one -> one.load.equals(load) && one.figure.equals(figure))
        .mapToDouble(one -> one.ms).sorted().toArray();
    System.out.printf(Locale.ROOT, "  %-29s%-16s%12.1f%18.1f%8d%n", figure, contender.label,
        quantile(ms, 0.5), quantile(ms, 0.99), ms.length);
  }

  private static double quantile(double[] sorted, double q) {
    return sorted[Quantiles.index(sorted.length, q)];
  }

  /** Names a file for all readings, which is written again after each cluster. */
  private void keepIn(Path folder, String options) throws IOException {
    ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
    Files.createDirectories(folder);
    file = folder.resolve(
        "grants-" + now.format(DateTimeFormatter.ofPattern("yyyy-MM-dd-HHmmss")) + ".csv");
    raw.append(String.format("# %s, ./x grants %s; Hadoop %s, Java %s, %d processors%n",
        now.truncatedTo(ChronoUnit.SECONDS), options, VersionInfo.getVersion(),
        System.getProperty("java.version"), Runtime.getRuntime().availableProcessors()));
  }

  private void keep(Contender contender, int round, List<Reading> got) throws IOException {
    for (Reading one : got) {
      raw.append(String.format(Locale.ROOT, "%s,%d,%s,%s,%.1f%n", contender.label, round,
          one.load, one.figure, one.ms));
    }
    if (file != null) {
      Files.write(file, raw.toString().getBytes(StandardCharsets.UTF_8));
    }
  }
}
