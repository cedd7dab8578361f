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
 * Writes the JSON of the control plane: the setup for {@link Native#open} and the requests. Binary
 * frames carry frequent events; JSON carries the rest.
 */
public final class SetupJson {
  private static final ObjectMapper JSON = new ObjectMapper();

  private SetupJson() {}

  /**
   * Writes the setup of an engine.
   *
   * @param minimum YARN's smallest container
   * @param journal where inputs are recorded, or null
   * @param debug whether the engine writes lines at debug level
   */
  static String open(Resource minimum, Journal journal, EngineConfig config, boolean debug) {
    ObjectNode setup = common(minimum, journal);
    if (journal != null) {
      journal.putRenewalInto(setup);
    }
    setup.put("log_level", debug ? "debug" : "info");
    config.putInto(setup);
    return setup.toString();
  }

  /**
   * Writes the setup of a journal under another scheduler.
   *
   * @param scheduler the name of the one that decides
   */
  static String foreign(Resource minimum, Journal journal, String scheduler) {
    return common(minimum, journal).put("decided_by", scheduler).toString();
  }

  private static ObjectNode common(Resource minimum, Journal journal) {
    ObjectNode setup = JSON.createObjectNode();
    setup.set("resource_types", resourceTypes());
    ObjectNode smallest = setup.putObject("minimum_allocation");
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      smallest.put(type.getName(), minimum.getResourceValue(type.getName()));
    }
    if (journal != null) {
      journal.putInto(setup);
    }
    putEpoch(setup);
    return setup;
  }

  private static ArrayNode resourceTypes() {
    ArrayNode names = JSON.createArrayNode();
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      names.add(type.getName());
    }
    return names;
  }

  /** Returns what an engine would refuse a configuration for, without its files; else null. */
  public static String fault(JsonNode config) {
    return ask("check", "config", config, "resource_types", resourceTypes())
        .path("wrong").textValue();
  }

  /**
   * Writes the setup of the service beside the engine.
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

  /** Writes a request; {@code arguments} alternate names and values. */
  public static String request(String op, Object... arguments) {
    ObjectNode request = JSON.createObjectNode().put("op", op);
    for (int i = 0; i < arguments.length; i += 2) {
      request.set((String) arguments[i], JSON.<JsonNode>valueToTree(arguments[i + 1]));
    }
    return request.toString();
  }

  /** Asks for another configuration. */
  static String reload(EngineConfig config) {
    ObjectNode request = JSON.createObjectNode().put("op", "reload");
    config.putInto(request);
    putEpoch(request);
    return request.toString();
  }

  /**
   * Asks for a shadow, or for none.
   *
   * @param name of the file, for reports
   * @param candidate its configuration; null ends a shadow
   * @param wrong why there is no candidate although a file is named; else null
   */
  static String shadow(String name, EngineConfig candidate, String wrong) {
    ObjectNode request = JSON.createObjectNode().put("op", "castShadow");
    if (wrong != null) {
      request.putObject("shadow").put("name", name).put("wrong", wrong);
    } else if (candidate != null) {
      candidate.putInto(request.putObject("shadow").put("name", name));
    }
    return request.toString();
  }

  /** Returns an empty object. */
  public static ObjectNode object() {
    return JSON.createObjectNode();
  }

  /** Returns an empty list. */
  public static ArrayNode array() {
    return JSON.createArrayNode();
  }

  /** Adds the wall time of the monotonic clock's 0, because configurations have times of day. */
  private static void putEpoch(ObjectNode request) {
    request.put("epoch_ms", -EngineClock.toMonotonic(0));
  }

  /** Returns the start of a text; replaces half a character at its end, which breaks a request. */
  public static String text(String text, int most) {
    String start = text.substring(0, Math.min(text.length(), most));
    return new String(start.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  /** Asks the library what needs no engine; see {@link Native#ask} and {@link #request}. */
  public static JsonNode ask(String op, Object... arguments) {
    return answer(request(op, arguments));
  }

  /** Asks the library as above, with an object of arguments. */
  public static JsonNode ask(String op, ObjectNode arguments) {
    return answer(JSON.createObjectNode().put("op", op).setAll(arguments).toString());
  }

  private static JsonNode answer(String question) {
    return read(new String(Native.ask(question), StandardCharsets.UTF_8));
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
