package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * Writes the JSON that the control plane takes: what {@link Native#open} needs and the requests.
 * The binary frames carry everything that is frequent; this carries what is not.
 */
final class SetupJson {
  private static final ObjectMapper JSON = new ObjectMapper();

  private SetupJson() {}

  /**
   * Writes what an engine is opened with.
   *
   * @param minimum YARN's smallest container
   * @param journal file to record input frames in, or null
   * @param config content of heddle.json
   */
  static String open(Resource minimum, String journal, JsonNode config) {
    ObjectNode setup = JSON.createObjectNode();
    ArrayNode names = setup.putArray("resource_types");
    ObjectNode smallest = setup.putObject("minimum_allocation");
    for (ResourceInformation type : ResourceUtils.getResourceTypesArray()) {
      names.add(type.getName());
      smallest.put(type.getName(), minimum.getResourceValue(type.getName()));
    }
    setup.put("journal", journal);
    setup.set("config", config);
    return setup.toString();
  }

  /** A request without arguments. */
  static String request(String op) {
    return JSON.createObjectNode().put("op", op).toString();
  }

  /** Asks what is known of the {@code job} or {@code node} of this number. */
  static String about(String what, int number) {
    return JSON.createObjectNode().put("op", what).put(what, number).toString();
  }

  /** Asks for another configuration. */
  static String reload(JsonNode config) {
    ObjectNode request = JSON.createObjectNode().put("op", "reload");
    request.set("config", config);
    return request.toString();
  }

  /**
   * Asks for the queue of a new job.
   *
   * @param queue what the submission names, or null
   * @param recovering whether the job ran before the ResourceManager started, so that it must
   *     find a queue whatever the configuration now says
   */
  static String place(String user, String queue, boolean recovering) {
    ObjectNode request = JSON.createObjectNode().put("op", "place").put("user", user);
    request.put("queue", queue);
    request.put("recovering", recovering);
    return request.toString();
  }

  /** Reads a reply. */
  static JsonNode read(String reply) {
    try {
      return JSON.readTree(reply);
    } catch (java.io.IOException e) {
      throw new IllegalStateException("the engine's reply is not JSON: " + e.getMessage(), e);
    }
  }
}
