package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Map;

/** Tells whether a change of the scheduler's configuration could be taken over. */
public interface ConfigurationCheck {
  /**
   * Checks a change, and makes none.
   *
   * @param change as the library read it
   * @return the properties after the change
   * @throws IOException saying what is wrong, where, and what to do
   */
  Map<String, String> check(JsonNode change) throws IOException;
}
