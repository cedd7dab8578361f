package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * All that configures an engine: heddle.json over a stock scheduler's file, the numbers of the
 * users and node labels that both name, and the allocations file. Kept for the engine that
 * replaces a lost one. Immutable.
 */
public final class EngineConfig {
  private final JsonNode content;
  private final ObjectNode users;
  private final ObjectNode labels;
  private final Allocations pools;
  // Paths of queues that stay stopped though the file does not say so.
  private final ArrayNode stopped;

  private EngineConfig(
      JsonNode content, ObjectNode users, ObjectNode labels, Allocations pools,
      ArrayNode stopped) {
    this.content = content;
    this.users = users;
    this.labels = labels;
    this.pools = pools;
    this.stopped = stopped;
  }

  /**
   * Makes a configuration without an allocations file.
   *
   * @param users the users that it names, as texts
   * @param labels the node labels that it names
   * @param names gives each of them a number
   */
  public static EngineConfig of(JsonNode content, Iterable<JsonNode> users,
      Iterable<JsonNode> labels, Names names) {
    return new EngineConfig(
        content, numbered(users, names.users), numbered(labels, names.partitions), null,
        SetupJson.object().putArray("stopped"));
  }

  private static ObjectNode numbered(Iterable<JsonNode> names, Interner numbers) {
    ObjectNode numbered = SetupJson.object();
    for (JsonNode name : names) {
      numbered.put(name.asText(), numbers.intern(name.asText()));
    }
    return numbered;
  }

  /** Returns this configuration with another allocations file, or without one. */
  public EngineConfig with(Allocations other) {
    return new EngineConfig(content, users, labels, other, stopped);
  }

  /** Returns this configuration with other queues that stay stopped. */
  EngineConfig stopping(ArrayNode paths) {
    return new EngineConfig(content, users, labels, pools, paths);
  }

  /** Returns the allocations file, or null. */
  public Allocations allocations() {
    return pools;
  }

  /** Returns whether other types than memory limit no node. */
  boolean isMemoryOnly() {
    return content.path("share").path("memory_only").asBoolean();
  }

  /** Adds the configuration to a request that opens or reloads an engine. */
  void putInto(ObjectNode request) {
    ObjectNode numbers = users.deepCopy();
    request.set("config", content);
    if (pools != null) {
      request.put("allocations", pools.text());
      numbers.setAll(pools.users());
    }
    request.set("users", numbers);
    request.set("labels", labels);
    request.set("stopped", stopped);
  }
}
