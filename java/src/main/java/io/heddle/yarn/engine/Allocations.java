package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The text of an allocations file that the engine has read without a fault, and what has to go with
 * it: the engine knows users by number only. Immutable.
 */
public final class Allocations {
  private final String text;
  private final ObjectNode users;
  private final int pools;
  private final List<String> warnings;

  /**
   * Takes what the engine said of a text.
   *
   * @param reply to the request {@code allocations}
   * @param names gives every user that is named a number
   */
  public Allocations(String text, JsonNode reply, Interner names) {
    this.text = text;
    users = SetupJson.object();
    for (JsonNode user : reply.path("users")) {
      users.put(user.asText(), names.intern(user.asText()));
    }
    pools = reply.path("pools").asInt();
    List<String> said = new ArrayList<>();
    reply.path("warnings").forEach(warning -> said.add(warning.asText()));
    warnings = Collections.unmodifiableList(said);
  }

  public String text() {
    return text;
  }

  /** Returns how many pools are named. */
  public int pools() {
    return pools;
  }

  /** Returns what was left out, each with its line. */
  public List<String> warnings() {
    return warnings;
  }

  /** Adds the text and the numbers to what an engine is opened or reloaded with. */
  void putInto(ObjectNode request) {
    request.put("allocations", text);
    request.set("users", users);
  }
}
