/*
 * ./x grants: measures how long asks and small jobs take on mini clusters, under Heddle with and
 * without immediate grants and under the stock schedulers, round by round in turn. Prints medians
 * and 99th percentiles, and keeps every reading.
 */
package io.heddle.integration.grants;

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
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.hadoop.util.VersionInfo;

/** The measurement's main class. */
public final class Grants {
  private static final String[] LOADS = {"idle", "half-full"};
  private static final String[] FIGURES = {Reading.GRANT, Reading.START, Reading.JOB};

  private final List<Contender> contenders = new ArrayList<>();
  private final int rounds;
  private final int asks;
  private final int jobs;
  private final long seed;
  private final Map<Contender, List<Reading>> readings = new LinkedHashMap<>();
  private final StringBuilder raw = new StringBuilder("scheduler,round,load,figure,ms\n");

  private Grants(CommandLine line) throws ParseException {
    for (String label : line.getOptionValue("schedulers", Contender.labels()).split(",")) {
      contenders.add(Contender.byLabel(label.trim()));
    }
    rounds = number(line, "rounds", 2);
    asks = number(line, "asks", 20);
    jobs = number(line, "jobs", 4);
    seed = number(line, "seed", 1);
  }

  private static int number(CommandLine line, String name, int otherwise) throws ParseException {
    String text = line.getOptionValue(name, String.valueOf(otherwise));
    if (!text.matches("[1-9][0-9]{0,5}")) {
      throw new ParseException("--" + name + " must be a whole number from 1 to 999999, not '"
          + text + "'");
    }
    return Integer.parseInt(text);
  }

  private static Options options() {
    Options options = new Options();
    options.addOption(valued("schedulers", "LIST", "of " + Contender.labels() + "; default all"));
    options.addOption(valued("rounds", "N", "clusters for each scheduler; default 2"));
    options.addOption(valued("asks", "N", "single asks on each cluster and load; default 20"));
    options.addOption(valued("jobs", "N", "jobs on each cluster and load; default 4"));
    options.addOption(valued("seed", "N", "seed of the pauses; default 1"));
    options.addOption(valued("out", "DIR", "write all readings as CSV into DIR"));
    options.addOption("h", "help", false, "print this");
    return options;
  }

  private static Option valued(String name, String value, String description) {
    Option option = new Option(null, name, true, description);
    option.setArgName(value);
    return option;
  }

  /** Measures and ends the process. */
  public static void main(String[] args) {
    int code = 1;
    try {
      CommandLine line = new GnuParser().parse(options(), args);
      if (!line.getArgList().isEmpty()) {
        throw new ParseException("unexpected argument " + line.getArgList());
      }
      if (line.hasOption("help")) {
        PrintWriter out = new PrintWriter(System.out);
        new HelpFormatter().printHelp(out, 100, "./x grants [options]",
            "Measures asks and small jobs on mini clusters.", options(), 2, 2, "");
        out.flush();
        System.exit(0);
      }
      Grants grants = new Grants(line);
      ClusterLog.quiet();
      grants.run();
      if (line.hasOption("out")) {
        System.out.println("All readings: "
            + grants.write(Paths.get(System.getenv("HEDDLE_CALLER"))
                .resolve(line.getOptionValue("out")), String.join(" ", args)));
      }
      code = 0;
    } catch (ParseException | IllegalArgumentException e) {
      System.err.println("grants: " + e.getMessage() + "\nTry --help.");
      code = 2;
    } catch (Exception | Error e) {
      e.printStackTrace();
    }
    // Some of Hadoop's threads are no daemons.
    System.exit(code);
  }

  private void run() throws Exception {
    for (int round = 1; round <= rounds; round++) {
      for (Contender contender : contenders) {
        List<Reading> got = new ClusterRun(contender, asks, jobs, seed + round).run();
        readings.computeIfAbsent(contender, any -> new ArrayList<>()).addAll(got);
        for (Reading one : got) {
          raw.append(String.format(Locale.ROOT, "%s,%d,%s,%s,%.1f%n", contender.label, round,
              one.load, one.figure, one.ms));
        }
        System.out.printf("round %d of %d, %s: %d readings%n", round, rounds, contender.label,
            got.size());
      }
    }
    print();
  }

  private void print() {
    for (String load : LOADS) {
      System.out.printf("%n%s cluster, Hadoop %s; ms, median and 99th percentile%n", load,
          VersionInfo.getVersion());
      System.out.printf("  %-16s", "");
      Arrays.stream(FIGURES).forEach(figure -> System.out.printf("%26s", figure));
      System.out.println();
      for (Contender contender : contenders) {
        System.out.printf("  %-16s", contender.label);
        for (String figure : FIGURES) {
          double[] ms = readings.get(contender).stream()
              .filter(one -> one.load.equals(load) && one.figure.equals(figure))
              .mapToDouble(one -> one.ms).sorted().toArray();
          System.out.printf(Locale.ROOT, "%14.1f%12.1f", quantile(ms, 0.5), quantile(ms, 0.99));
        }
        System.out.println();
      }
    }
  }

  private static double quantile(double[] sorted, double q) {
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  }

  private Path write(Path folder, String options) throws IOException {
    ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
    Files.createDirectories(folder);
    Path file = folder.resolve(
        "grants-" + now.format(DateTimeFormatter.ofPattern("yyyy-MM-dd-HHmmss")) + ".csv");
    String heading = String.format("# %s, ./x grants %s; Hadoop %s, Java %s, %d processors%n",
        now.truncatedTo(ChronoUnit.SECONDS), options, VersionInfo.getVersion(),
        System.getProperty("java.version"), Runtime.getRuntime().availableProcessors());
    Files.write(file, (heading + raw).getBytes(StandardCharsets.UTF_8));
    return file;
  }
}
