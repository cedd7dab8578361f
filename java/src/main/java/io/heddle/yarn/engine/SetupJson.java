package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * Writes the JSON that the control plane takes: what {@link Native#open} needs and the requests.
 * The binary frames carry everything that is frequent; this carries what is not.
 */
public final class SetupJson {
  private static final ObjectMapper JSON = new ObjectMapper();

  private SetupJson() {}

  /**
   * Writes what an engine is opened with.
   *
   * @param minimum YARN's smallest container
   * @param journal file to record input frames in, or null
   * @param config content of heddle.json
   * @param pools of the allocations file, or null
   * @param debug whether the engine's lines at debug level are wanted
   */
  static String open(Resource minimum, String journal, JsonNode config, Allocations pools,
      boolean debug) {
    ObjectNode setup = JSON.createObjectNode();
    ArrayNode names = setup.putArray("resource_types");
    ObjectNode smallest = setup.putObject("minimum_allocation");
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      names.add(type.getName());
      smallest.put(type.getName(), minimum.getResourceValue(type.getName()));
    }
    setup.put("journal", journal);
    putEpoch(setup);
    setup.put("log_level", debug ? "debug" : "info");
    put(setup, config, pools);
    return setup.toString();
  }

  /**
   * Writes what runs beside the engine is made with.
   *
   * @param config content of heddle.json
   * @param startedMs milliseconds since 1970
   */
  public static String service(JsonNode config, long startedMs) {
    ObjectNode settings = JSON.createObjectNode().put("started_ms", startedMs);
    settings.set("api", config.get("api"));
    settings.set("store", config.get("store"));
    return settings.toString();
  }

  /** A request with its arguments: the name of each, then its value. */
  public static String request(String op, Object... arguments) {
    ObjectNode request = JSON.createObjectNode().put("op", op);
    for (int i = 0; i < arguments.length; i += 2) {
      request.set((String) arguments[i], JSON.<JsonNode>valueToTree(arguments[i + 1]));
    }
    return request.toString();
  }

  /** Asks what is known of the {@code job} or {@code node} of this number. */
  public static String about(String what, int number) {
    return request(what, what, number);
  }

  /** Asks for another configuration; the allocations may be null. */
  static String reload(JsonNode config, Allocations pools) {
    ObjectNode request = JSON.createObjectNode().put("op", "reload");
    put(request, config, pools);
    putEpoch(request);
    return request.toString();
  }

  private static void put(ObjectNode request, JsonNode config, Allocations pools) {
    request.set("config", config);
    if (pools != null) {
      pools.putInto(request);
    }
  }

  /** An object without anything in it. */
  public static ObjectNode object() {
    return JSON.createObjectNode();
  }

  /** The engine's clock is the monotonic one; times of day in a configuration are not. */
  private static void putEpoch(ObjectNode request) {
    request.put("epoch_ms", -EngineClock.toMonotonic(0));
  }

  /** The start of a text from outside. Half a character at its end would spoil a request. */
  public static String text(String text, int most) {
    String start = text.substring(0, Math.min(text.length(), most));
    return new String(start.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  /** Reads a reply. */
  public static JsonNode read(String reply) {
    try {
      return JSON.readTree(reply);
    } catch (java.io.IOException e) {
      throw new IllegalStateException("the engine's reply is not JSON: " + e.getMessage(), e);
    }
  }
}
