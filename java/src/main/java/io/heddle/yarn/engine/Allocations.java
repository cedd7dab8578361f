package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The text of a valid allocations file, and the numbers of the users that it names, which the
 * engine knows by number only. Immutable.
 */
public final class Allocations {
  private final String text;
  private final ObjectNode users;
  private final int pools;
  private final List<String> warnings;

  /**
   * Reads the engine's reply about a text.
   *
   * @param reply the reply to the request {@code allocations}
   * @param names gives every named user a number
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

  /** Returns the number of pools. */
  public int pools() {
    return pools;
  }

  /** Returns a warning for each part that was ignored, with its line. */
  public List<String> warnings() {
    return warnings;
  }

  /** Returns the number of each user that has a limit of their own. */
  ObjectNode users() {
    return users;
  }
}
