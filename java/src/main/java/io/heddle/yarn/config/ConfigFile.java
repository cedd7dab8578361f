package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineConfig;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueGauges;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.slf4j.Logger;

/**
 * Finds and reads heddle.json: the file that {@code heddle.config.file} names, else
 * {@code heddle.json} on the class path, else none, which means all defaults. Reads a stock
 * scheduler's files below it, if yarn-site.xml says so. The library parses the texts and lays one
 * over the other; the engine checks the result.
 */
public final class ConfigFile {
  /** Property of yarn-site.xml with the path of the file. */
  public static final String FILE_PROPERTY = "heddle.config.file";
  /** Names the candidate that a second engine runs with, beside the live one. */
  static final String SHADOW_PROPERTY = "heddle.shadow";
  /** The property that named the allocations file to the original Fair Scheduler. */
  private static final String ALLOCATIONS_PROPERTY = "mapred.fairscheduler.allocation.file";

  private static final int WARNINGS_MAX = 100;
  private static final int WARNING_CHARS_MAX = 500;

  private static final String RESOURCE = "heddle.json";
  /** The cluster's smallest and largest container. */
  private static final String[] CONTAINERS = {
      "yarn.scheduler.minimum-allocation-mb", "yarn.scheduler.maximum-allocation-mb",
      "yarn.scheduler.minimum-allocation-vcores", "yarn.scheduler.maximum-allocation-vcores"};

  // The texts: the library reads all of them again when one has changed.
  private final ObjectNode found;
  private final JsonNode answer;
  private final FollowedFile fair;

  private ConfigFile(ObjectNode found, FollowedFile fair) throws IOException {
    this.found = found;
    this.fair = fair;
    answer = SetupJson.ask("config", found);
    if (answer.has("wrong")) {
      throw new IOException(answer.path("wrong").asText());
    }
  }

  /** Returns where the configuration came from, for messages. */
  public String source() {
    return answer.path("source").asText();
  }

  /** Returns the configuration, an object: heddle.json over what a stock file says. */
  public JsonNode content() {
    return answer.path("config");
  }

  /** Returns the name of heddle.json; null if there is none, or none that is a file. */
  String json() {
    String name = found.path("json").path("name").textValue();
    return name != null && Files.isRegularFile(Paths.get(name)) ? name : null;
  }

  /** Returns what pages and clients are shown of a stock scheduler's file. */
  JsonNode shown() {
    return answer.path("shown");
  }

  /** Returns whether rules of placement ask for groups or the name of an application. */
  boolean placesByFacts() {
    return answer.path("places_by_facts").asBoolean();
  }

  /** Returns whether the right to submit is checked also while {@code yarn.acl.enable} is off. */
  public boolean alwaysChecksSubmissions() {
    return answer.path("submit_acls").asBoolean();
  }

  /** Returns whether queues come from a stock scheduler's file. */
  public boolean isStock() {
    return found.has("stock");
  }

  /** Makes the metrics of queues, as the scheduler does whose file is used. */
  public QueueGauges gauges(Configuration conf, Names names) {
    String from = found.path("from").asText();
    return new QueueGauges(conf, from.equals(StockSource.CAPACITY),
        StockSource.metersUsers(from, found.path("stock").path("properties")), names);
  }

  /** Returns the stock scheduler's file that heddle.json lies over, as it was read; else null. */
  ObjectNode below() {
    if (!isStock()) {
      return null;
    }
    ObjectNode below = found.deepCopy();
    below.remove("json");
    return below;
  }

  /** Returns the configuration for an engine, without an allocations file. */
  EngineConfig forEngine(Names names) {
    return EngineConfig.of(content(), answer.path("users"), answer.path("labels"), names);
  }

  /** Returns the allocations file that the configuration names, or null; it need not be there. */
  FollowedFile allocations() {
    String path = answer.path("allocations_file").textValue();
    return path == null ? null : FollowedFile.allocations(path);
  }

  /** Returns the Fair Scheduler's file, or null if there is none. */
  FollowedFile fair() {
    return fair;
  }

  /** Returns the same configuration over another text of {@link #fair}, or null for the same. */
  ConfigFile withFair(String text) throws IOException {
    if (text.equals(found.path("stock").path("text").textValue())) {
      return null;
    }
    ObjectNode next = found.deepCopy();
    ((ObjectNode) next.get("stock")).put("text", text);
    return new ConfigFile(next, fair);
  }

  /** Returns what a stock file says and nothing does, as much as a page shows. */
  List<String> warnings() {
    List<String> warnings = new ArrayList<>();
    for (JsonNode line : answer.path("warnings")) {
      if (warnings.size() < WARNINGS_MAX) {
        warnings.add(SetupJson.text(line.asText(), WARNING_CHARS_MAX));
      }
    }
    return warnings;
  }

  /** Writes what the library says about the files to a log. */
  void log(Logger to) {
    for (JsonNode line : answer.path("log")) {
      Engine.log(to, line.path(0).asInt(), line.path(1).asText());
    }
  }

  /**
   * Reads the first configuration.
   *
   * @param capacity where the Capacity Scheduler's properties are
   * @throws IOException saying which file, where in it, what was expected and what to do
   */
  public static ConfigFile read(Configuration conf, CapacitySource capacity)
      throws IOException {
    return read(conf, capacity, null);
  }

  /**
   * Reads the candidate of a shadow. It stands alone, over no stock scheduler's file.
   *
   * @throws IOException saying which file, where in it, what was expected and what to do
   */
  static ConfigFile shadow(String path) throws IOException {
    ObjectNode found = SetupJson.object();
    found.set("json", named(SHADOW_PROPERTY, path));
    found.put("from", StockSource.HEDDLE);
    return new ConfigFile(found, null);
  }

  /**
   * Reads the configuration again. The Fair Scheduler's file stays where it was found: at a
   * refresh YARN gives a configuration that knows no file systems.
   *
   * @throws IOException as {@link #read}, and if there was a file, Heddle's or stock's, and no file
   *     is named any more: a lost property must not put the defaults into force
   */
  ConfigFile again(Configuration conf, CapacitySource capacity) throws IOException {
    ConfigFile next = read(conf, capacity, fair);
    if (next.isDefault() && !isDefault()) {
      throw new IOException((isStock() ? StockSource.FROM : FILE_PROPERTY)
          + " is not set in yarn-site.xml any more, and " + source() + " is in force. Set the"
          + " property again; for the defaults, let " + FILE_PROPERTY + " name a file that holds"
          + " {}");
    }
    return next;
  }

  private boolean isDefault() {
    return !found.hasNonNull("json") && !isStock();
  }

  private static ConfigFile read(
      Configuration conf, CapacitySource capacity, FollowedFile before)
      throws IOException {
    ObjectNode found = SetupJson.object();
    found.set("json", json(conf));
    found.put("allocations", conf.get(ALLOCATIONS_PROPERTY));
    // A store that was opened at the start stays in use until the end.
    String from = capacity != null && capacity.store() != null
        ? StockSource.CAPACITY : StockSource.from(conf);
    found.put("from", from);
    ObjectNode containers = found.putObject("containers");
    for (String name : CONTAINERS) {
      if (conf.get(name) != null) {
        containers.put(name, conf.get(name));
      }
    }
    FollowedFile fair = !from.equals(StockSource.FAIR) ? null
        : before != null ? before : StockSource.fairFile(conf);
    if (!from.equals(StockSource.HEDDLE)) {
      found.set("stock", StockSource.describe(from, fair, conf, capacity));
    }
    return new ConfigFile(found, fair);
  }

  /** Returns heddle.json's name, text and folder; null if there is none. */
  private static ObjectNode json(Configuration conf) throws IOException {
    String path = conf.getTrimmed(FILE_PROPERTY, "");
    if (!path.isEmpty()) {
      return named(FILE_PROPERTY, path);
    }
    // The configuration's class loader sees the RM's conf folder.
    URL resource = conf.getResource(RESOURCE);
    if (resource == null) {
      return null;
    }
    try (InputStream in = resource.openStream()) {
      byte[] text = ByteStreams.toByteArray(in);
      Path file = fileOf(resource);
      return file == null ? json(resource.toString(), text, Paths.get("").toAbsolutePath())
          : json(file.toString(), text, file.getParent());
    }
  }

  private static ObjectNode named(String property, String path) throws IOException {
    Path file = Paths.get(path).toAbsolutePath();
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      throw new IOException(
          property + " in yarn-site.xml names " + file + ", which is not a readable file."
              + " Correct the path, or name a file that holds {} for the defaults");
    }
    return json(file.toString(), Files.readAllBytes(file), file.getParent());
  }

  private static ObjectNode json(String name, byte[] text, Path folder) {
    return SetupJson.object().put("name", name)
        .put("text", new String(text, StandardCharsets.UTF_8)).put("folder", folder.toString());
  }

  /** Returns the file of a resource; null if it is in a jar. */
  private static Path fileOf(URL resource) {
    try {
      return "file".equals(resource.getProtocol()) ? Paths.get(resource.toURI()) : null;
    } catch (URISyntaxException e) {
      return null;
    }
  }

  /**
   * Reads a property of yarn-site.xml.
   *
   * @throws YarnRuntimeException if it is no number, with its name
   */
  public static long milliseconds(Configuration configuration, String property, long otherwise) {
    try {
      return configuration.getLong(property, otherwise);
    } catch (NumberFormatException e) {
      throw new YarnRuntimeException(property + " in yarn-site.xml is "
          + configuration.get(property) + "; expected a whole number of milliseconds", e);
    }
  }

  /**
   * Reads an interval, like {@link #milliseconds}.
   *
   * @throws YarnRuntimeException if it is no number above 0, with its name
   */
  public static long positiveMilliseconds(
      Configuration configuration, String property, long otherwise) {
    long value = milliseconds(configuration, property, otherwise);
    if (value <= 0) {
      throw new YarnRuntimeException(property + " in yarn-site.xml is " + value
          + "; expected a number of milliseconds above 0");
    }
    return value;
  }
}
