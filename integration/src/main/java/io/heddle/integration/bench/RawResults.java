/*
 * Writes every measurement of an invocation as JSON (with machine and options) and as CSV (one line
 * per run). File names have date and time, so that runs are kept side by side.
 */
package io.heddle.integration.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.util.VersionInfo;

/** Writes raw results. */
final class RawResults {
  private final ObjectNode root = new ObjectMapper().createObjectNode();

  RawResults(BenchOptions options, Results results, List<String> missed, ZonedDateTime began,
      double seconds) {
    heading(root, options, began, seconds);
    missed.forEach(root.putArray("goals_missed")::add);
    ArrayNode runs = root.putArray("runs");
    for (Workload workload : results.workloads()) {
      for (SchedulerKind kind : options.schedulers) {
        int round = 0;
        for (Measurement measurement : results.rounds(workload, kind)) {
          ObjectNode run = runs.addObject();
          run.put("workload", workload.name()).put("scheduler", kind.label);
          run.put("policy", kind.heddle() ? options.policy.label : "");
          describe(run.put("round", ++round), measurement);
        }
      }
    }
  }

  /** Writes the machine and the options. */
  static void heading(ObjectNode root, BenchOptions options, ZonedDateTime began, double seconds) {
    root.put("date", began.withZoneSameInstant(ZoneOffset.UTC)
        .format(DateTimeFormatter.ISO_OFFSET_DATE_TIME));
    root.put("command", options.commandLine);
    root.put("seconds", Math.round(seconds));
    root.put("policy", options.policy.label);
    root.put("seed", options.seed);
    root.put("clock", options.cpuClock ? "cpu" : "wall");
    root.put("hadoop", VersionInfo.getVersion());
    root.put("java", System.getProperty("java.vm.name") + " "
        + System.getProperty("java.vm.version"));
    root.put("os", System.getProperty("os.name") + " " + System.getProperty("os.version") + " "
        + System.getProperty("os.arch"));
    root.put("cores", Runtime.getRuntime().availableProcessors());
    root.put("heap_mb", Runtime.getRuntime().maxMemory() >> 20);
  }

  private static void describe(ObjectNode run, Measurement m) {
    run.put("heartbeats", m.heartbeats).put("heartbeat_ns", m.heartbeatNanos);
    run.put("heartbeat_p50_us", m.quantileMicros(0.50));
    run.put("heartbeat_p99_us", m.quantileMicros(0.99));
    run.put("heartbeat_max_us", m.quantileMicros(1.0));
    run.put("allocate_calls", m.allocateCalls).put("allocate_ns", m.allocateNanos);
    run.put("other_events", m.otherEvents).put("other_event_ns", m.otherEventNanos);
    run.put("updates", m.updates).put("update_ns", m.updateNanos);
    run.put("placing_thread_ns", m.placingThreadNanos);
    run.put("containers", m.containers);
    run.put("maps_node_local", m.maps[0]).put("maps_rack_local", m.maps[1]);
    run.put("maps_off_switch", m.maps[2]);
    run.put("wall_ns", m.wallNanos).put("background_cpu_ns", m.backgroundCpuNanos);
    run.put("collector_ms", m.collectorMillis);
  }

  /** Writes both files into {@code folder}; returns the path of the JSON. */
  Path write(Path folder, ZonedDateTime began) throws IOException {
    return write(root, folder, "bench", began);
  }

  /** Writes both files of an object whose lists of objects become the lines of the CSV. */
  static Path write(ObjectNode root, Path folder, String name, ZonedDateTime began)
      throws IOException {
    Files.createDirectories(folder);
    String stem = name + "-" + began.withZoneSameInstant(ZoneOffset.UTC)
        .format(DateTimeFormatter.ofPattern("yyyy-MM-dd-HHmmss"));
    Path file = folder.resolve(stem + ".json");
    ObjectMapper json = new ObjectMapper();
    replace(file, json.writerWithDefaultPrettyPrinter().writeValueAsBytes(root));
    replace(folder.resolve(stem + ".csv"), csv(root).getBytes(StandardCharsets.UTF_8));
    return file;
  }

  /** Writes a file; whoever ends the bench meanwhile leaves the former one whole. */
  private static void replace(Path file, byte[] content) throws IOException {
    Path written = file.resolveSibling(file.getFileName() + ".part");
    Files.write(written, content);
    Files.move(
        written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  private static String csv(ObjectNode root) {
    List<JsonNode> rows = new ArrayList<>();
    root.forEach(list -> list.forEach(row -> {
      if (row.isObject()) {
        rows.add(row);
      }
    }));
    Set<String> names = new LinkedHashSet<>();
    rows.forEach(row -> row.fieldNames().forEachRemaining(names::add));
    StringBuilder text = new StringBuilder(String.join(",", names)).append('\n');
    for (JsonNode row : rows) {
      // A run of another kind, such as a failover, has other fields.
      text.append(names.stream().map(name -> row.path(name).asText())
          .collect(Collectors.joining(","))).append('\n');
    }
    return text.toString();
  }
}
