/*
 * `./x bench --scale LIST`: Heddle on clusters of several sizes, under every policy. Shows whether
 * a heartbeat stays cheap, how long anything holds the scheduler's lock, what nodes, applications,
 * queues and asks cost in memory, and how a failover compares with the stock schedulers'.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Runs all sizes and prints a table for each policy. */
final class ScaleBench {
  private static final int WARM_UP_NODES = 100;
  private static final int FAILOVER_NODES_MIN = 1_000;
  private static final int FAILOVER_APPLICATIONS = 5_000;
  private static final List<SchedulerKind> FAILING_OVER =
      Arrays.asList(SchedulerKind.FAIR, SchedulerKind.CAPACITY, SchedulerKind.HEDDLE);
  private static final String TIMES = "_us";

  private final BenchOptions options;
  private final PrintStream out;

  ScaleBench(BenchOptions options, PrintStream out) {
    this.options = options;
    this.out = out;
  }

  int run() throws Exception {
    ZonedDateTime began = ZonedDateTime.now(ZoneOffset.UTC);
    long start = System.nanoTime();
    ObjectMapper json = new ObjectMapper();
    ObjectNode root = json.createObjectNode();
    ArrayNode runs = root.putArray("runs");
    ArrayNode runsOfFailover = root.putArray("failover");
    for (HeddlePolicy policy : options.policies) {
      new ScaleRun(WARM_UP_NODES, policy, options, json.createObjectNode()).run();
      ArrayNode rows = json.createArrayNode();
      for (int nodes : options.scale) {
        ObjectNode row = rows.addObject();
        try {
          new ScaleRun(nodes, policy, options, row).run();
        } catch (Violation e) {
          out.printf("VIOLATION under %s, %d nodes, seed %d: %s%n", policy.label, nodes,
              options.seed, e.getMessage());
          rows.remove(rows.size() - 1);
          runs.addAll(rows);
          write(root, began, start);
          return 1;
        }
      }
      out.println("Policy " + policy.label);
      print(rows);
      runs.addAll(rows);
      // Each policy takes minutes: what was measured is kept if a later one is interrupted.
      write(root, began, start);
    }
    int most = Math.max(FAILOVER_NODES_MIN, Collections.max(options.scale));
    boolean recovered = failover(most, FAILOVER_APPLICATIONS, runsOfFailover);
    Path path = write(root, began, start);
    if (path != null) {
      out.println("Raw results: " + path + " and .csv");
    }
    out.printf(Locale.ROOT, "Took %.0f s.%n", (System.nanoTime() - start) / 1e9);
    return recovered ? 0 : 1;
  }

  /** Writes the results so far over the former file; returns null without {@code --out}. */
  private Path write(ObjectNode root, ZonedDateTime began, long start) throws IOException {
    RawResults.heading(root, options, began, (System.nanoTime() - start) / 1e9);
    return options.out == null ? null : RawResults.write(root, options.out, "scale", began);
  }

  /**
   * Lets every scheduler become active, in turns; prints the medians. Returns false once one breaks
   * a rule.
   */
  boolean failover(int nodes, int applications, ArrayNode runs) throws Exception {
    Map<SchedulerKind, List<ObjectNode>> byKind = new EnumMap<>(SchedulerKind.class);
    for (int round = 0; round <= options.rounds; round++) {
      for (SchedulerKind kind : FAILING_OVER) {
        ObjectNode row = JsonNodeFactory.instance.objectNode();
        try {
          new FailoverRun(kind, options, nodes, applications).run(row);
        } catch (Violation e) {
          out.printf("VIOLATION by %s in a failover, %d nodes, round %d: %s%n", kind.label, nodes,
              round, e.getMessage());
          return false;
        }
        // The first round warms up.
        if (round > 0) {
          runs.add(row.put("round", round));
          byKind.computeIfAbsent(kind, k -> new ArrayList<>()).add(row);
        }
      }
    }
    ArrayNode medians = JsonNodeFactory.instance.arrayNode();
    byKind.forEach((kind, rows) -> {
      ObjectNode median = medians.addObject();
      rows.get(0).fieldNames().forEachRemaining(name -> median.put(name, Results.median(
          rows.stream().mapToDouble(row -> row.path(name).asDouble()).toArray())));
    });
    out.println("Failover under " + byKind.keySet());
    print(medians);
    return true;
  }

  /** Prints a line for each figure and a column for each row. */
  private void print(ArrayNode rows) {
    rows.path(0).fieldNames().forEachRemaining(name -> {
      if (name.equals("policy") || name.equals("scheduler")) {
        return;
      }
      boolean time = name.endsWith(TIMES);
      String label = name.replace('_', ' ');
      StringBuilder line = new StringBuilder(String.format(Locale.ROOT, "    %-28s",
          time ? label.replace(" us", ", us") : label));
      for (JsonNode row : rows) {
        line.append(String.format(Locale.ROOT, time ? "%,14.1f" : "%,14.0f",
            row.path(name).asDouble()));
      }
      out.println(line);
    });
  }
}
