package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.SetupJson;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairSchedulerConfiguration;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * Finds the configuration that a stock scheduler would read, in the same place: the Fair
 * Scheduler's file, or the properties of the Capacity Scheduler. The library translates it.
 */
public final class StockSource {
  /** Which scheduler's file queues come from: {@code heddle}, {@code fair}, {@code capacity}. */
  static final String FROM = "heddle.queues.from";
  /** Elements of a stock file that may be lost, separated by commas. */
  static final String TOLERATE = "heddle.queues.tolerate";

  static final String HEDDLE = "heddle";
  static final String FAIR = "fair";
  static final String CAPACITY = "capacity";
  private static final String USER_METRICS = "yarn.scheduler.capacity.user-metrics.enable";
  private static final String FAIR_FILE = "yarn.scheduler.fair.allocation.file";
  private static final String FAIR_FILE_DEFAULT = "fair-scheduler.xml";

  private StockSource() {}

  /**
   * Returns the Fair Scheduler's file, or null if it is named for the class path and not there.
   *
   * @throws IOException if the property names no file that the Fair Scheduler would read
   */
  static FollowedFile fairFile(Configuration conf) throws IOException {
    String named = conf.get(FAIR_FILE, FAIR_FILE_DEFAULT);
    JsonNode place = SetupJson.ask("fair_file", "named", named);
    if (place.has("path")) {
      return FollowedFile.stock(place.path("path").asText());
    }
    if (place.has("uri")) {
      return FollowedFile.stock(place.path("uri").asText(), conf);
    }
    if (place.has("wrong")) {
      throw new IOException(FAIR_FILE + " in yarn-site.xml: " + place.path("wrong").asText());
    }
    URL url = Thread.currentThread().getContextClassLoader()
        .getResource(place.path("resource").asText());
    try {
      return url == null ? null : FollowedFile.stock(new File(url.toURI()).getPath());
    } catch (URISyntaxException | IllegalArgumentException e) {
      throw new IOException(FAIR_FILE + " in yarn-site.xml: " + named + " is found at " + url
          + ", which is not a file on this machine", e);
    }
  }

  /**
   * Returns the increment; asks are rounded up to multiples of it. It is the Fair Scheduler's with
   * that scheduler's file, else the smallest container, as with the Capacity Scheduler.
   */
  public static Resource increment(Configuration conf, Resource minimum) {
    return FAIR.equals(from(conf))
        ? new FairSchedulerConfiguration(conf).getIncrementAllocation() : minimum;
  }

  /** Returns whether queues have metrics per user: with Fair always, with Capacity if it is set. */
  static boolean metersUsers(String from, JsonNode properties) {
    return FAIR.equals(from) || properties.path(USER_METRICS).asBoolean();
  }

  /** Returns whether queues come from the properties of the Capacity Scheduler. */
  static boolean isCapacity(Configuration conf) {
    return CAPACITY.equals(from(conf));
  }

  /** Returns which scheduler's file the queues come from. */
  static String from(Configuration conf) {
    return conf.getTrimmed(FROM, HEDDLE);
  }

  /**
   * Returns the part of the question that a stock configuration answers.
   *
   * @param file the Fair Scheduler's, or null
   * @param capacity the Capacity Scheduler's properties
   * @throws IOException if a file cannot be read
   */
  static ObjectNode describe(String from, FollowedFile file, Configuration conf,
      CapacitySource capacity) throws IOException {
    ObjectNode stock = SetupJson.object();
    ArrayNode files = stock.putArray("files");
    Configuration all = conf;
    if (CAPACITY.equals(from)) {
      all = capacity.over(conf, files);
      stock.put("name", capacity.name());
    } else if (file != null) {
      stock.put("name", file.name()).put("text", file.read());
    }
    addFile(YarnConfiguration.YARN_SITE_CONFIGURATION_FILE, conf.getConfResourceAsInputStream(
        YarnConfiguration.YARN_SITE_CONFIGURATION_FILE), files);
    stock.set("properties", properties(all));
    stock.put("tolerate", conf.get(TOLERATE, ""));
    return stock;
  }

  /** Notes the name and the text of a file, if there is one; returns the text. */
  static byte[] addFile(String name, InputStream stream, ArrayNode files)
      throws IOException {
    if (stream == null) {
      return null;
    }
    try (InputStream in = stream) {
      byte[] text = ByteStreams.toByteArray(in);
      files.addArray().add(name).add(new String(text, StandardCharsets.UTF_8));
      return text;
    }
  }

  /** Returns YARN's properties that no file of defaults sets, with their variables replaced. */
  private static ObjectNode properties(Configuration conf) throws IOException {
    ObjectNode properties = SetupJson.object();
    try {
      for (Map.Entry<String, String> entry : conf) {
        String name = entry.getKey();
        if (name.startsWith("yarn.") && !isDefault(conf.getPropertySources(name))) {
          properties.put(name, conf.get(name));
        }
      }
    } catch (RuntimeException e) {
      // Hadoop's reader met a file that is no XML; it names the file and the line.
      throw new IOException(e.getMessage(), e);
    }
    // YARN reads them from a file of their own, resource-types.xml.
    properties.put(YarnConfiguration.RESOURCE_TYPES,
        Arrays.stream(ResourceUtils.getResourceTypesArray()).skip(2)
            .map(ResourceInformation::getName).collect(Collectors.joining(",")));
    return properties;
  }

  private static boolean isDefault(String[] sources) {
    return sources != null && Arrays.stream(sources).allMatch(
        source -> source.endsWith("-default.xml"));
  }
}
