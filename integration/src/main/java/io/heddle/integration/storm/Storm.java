/*
 * Entry point of `./x storm`: runs one scheduler for each preset under everything that users, nodes
 * and operators can do to it, from many threads, with the audit on.
 *
 * Violations are: an exception out of the scheduler, a lost engine, books that differ, metrics
 * below zero, leftovers after the last application, and heartbeats whose slowest percent takes more
 * than five times as long as in the calm. Heartbeats are compared by the CPU time of their thread,
 * because wall time depends on the machine's other work. Both are printed. Heartbeats are also
 * compared over all presets, because a short run has too few under one preset.
 */
package io.heddle.integration.storm;

import io.heddle.integration.Policies;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.fs.FileUtil;
import org.apache.log4j.FileAppender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;

/** Runs the storm. */
public final class Storm {
  /** The presets of the engine. */
  public static final List<String> PRESETS = Collections.unmodifiableList(Policies.presets());
  private static final String USAGE =
      "usage: ./x storm [--minutes M] [--seed S] [--preset NAME]";

  private final PrintStream out;
  private final long seed;

  /** Prepares a storm of operations that this seed determines. */
  public Storm(long seed, PrintStream out) {
    this.seed = seed;
    this.out = out;
  }

  /** Runs the storm; see the usage. */
  public static void main(String[] args) throws Exception {
    double minutes = 10;
    long seed = System.nanoTime();
    List<String> presets = PRESETS;
    for (int n = 0; n < args.length; n += 2) {
      String value = n + 1 < args.length ? args[n + 1] : "";
      if (args[n].equals("--minutes") && value.matches("[0-9]+(\\.[0-9]+)?")) {
        minutes = Double.parseDouble(value);
      } else if (args[n].equals("--seed") && value.matches("-?[0-9]{1,18}")) {
        seed = Long.parseLong(value);
      } else if (args[n].equals("--preset") && PRESETS.contains(value)) {
        presets = Collections.singletonList(value);
      } else {
        System.err.println(USAGE + "; presets are " + String.join(", ", PRESETS));
        System.exit(2);
      }
    }
    System.out.printf("%s, ./x storm --minutes %s --seed %d%n",
        ZonedDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.SECONDS), minutes, seed);
    boolean calm = new Storm(seed, System.out).run(presets, (long) (minutes * 60_000)).isEmpty();
    // A thread that hangs must not keep the JVM alive.
    System.exit(calm ? 0 : 1);
  }

  /** Runs all presets for {@code ms} in total; returns the violations. */
  public String run(List<String> presets, long ms) throws Exception {
    Logger.getRootLogger().removeAllAppenders();
    Logger.getRootLogger().addAppender(
        new FileAppender(new PatternLayout("%d [%t] %p %c{1}: %m%n"), "storm.log", false));
    Logger.getRootLogger().setLevel(Level.OFF);
    Logger.getLogger("io.heddle").setLevel(Level.ERROR);
    out.println("Seed " + seed + ", " + ms / 1000 + " s for " + presets.size() + " presets");
    if (!Operation.FAULT_KNOWN.isEmpty()) {
      out.println("Left out because of known faults: " + Operation.FAULT_KNOWN);
    }
    out.println("| preset           | operation | hb. calm | hb. storm"
        + "| p99 us  | storm   | ratio |  wall | bad |");
    StringBuilder violated = new StringBuilder();
    Map<Operation, Long> counts = new EnumMap<>(Operation.class);
    HeartbeatTimes calm = new HeartbeatTimes();
    HeartbeatTimes storm = new HeartbeatTimes();
    for (String preset : presets) {
      StormRun run = new StormRun(preset, seed);
      Path folder = Files.createTempDirectory("heddle-storm");
      try {
        run.run(ms / presets.size(), folder);
      } finally {
        FileUtil.fullyDelete(folder.toFile());
      }
      out.println(run.line());
      run.history.counts().forEach((kind, count) -> counts.merge(kind, count, Long::sum));
      calm.addAll(run.calm);
      storm.addAll(run.storm);
      for (String violation : run.history.violations()) {
        violated.append(String.format(
            Locale.ROOT, "%nVIOLATION under %s, seed %d: %s%n", preset, seed, violation));
      }
    }
    String slower = calm.slowerIn(storm);
    if (!slower.isEmpty()) {
      violated.append(String.format("%nVIOLATION over all presets: %s%n", slower));
    }
    out.println("Operations: " + counts);
    out.print(violated);
    return violated.toString();
  }
}
