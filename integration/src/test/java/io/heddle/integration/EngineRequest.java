/*
 * Requests to the engine's control plane, such as bids and accounts, as an administrator's tool
 * would send them to the ResourceManager.
 */
package io.heddle.integration;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.yarn.HeddleScheduler;
import java.io.IOException;

/** Reads the replies as JSON; the scheduler hands them over as text. */
final class EngineRequest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private EngineRequest() {}

  /** Sends one request, such as {@code {"op": "price"}}, to the engine of this scheduler. */
  static JsonNode send(HeddleScheduler scheduler, String json) throws IOException {
    return JSON.readTree(scheduler.inspection().request(json));
  }
}
