/*
 * The engine's description of its policies. Demo, bench and storm run each policy and know none by
 * name. Settings for short runs, such as short intervals, are in their own JSON files.
 */
package io.heddle.integration;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineConfig;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.NativeLibrary;
import io.heddle.yarn.engine.ResourceCodec;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;

/** The answer to the engine's request {@code policies}, which is sent once. */
public final class Policies {
  /** The stages of a composition, in the order in which presets list them. */
  public static final List<String> STAGES =
      Collections.unmodifiableList(Arrays.asList("share", "order", "place"));

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonNode ANSWER = ask();

  private Policies() {}

  private static JsonNode ask() {
    NativeLibrary.load(System.getProperty(NativeLibrary.PATH_PROPERTY));
    Engine engine = new Engine(new ResourceCodec(), Resource.newInstance(1024, 1), null);
    engine.open(EngineConfig.of(JsonNodeFactory.instance.objectNode(),
        Collections.emptyList(), Collections.emptyList(), new Names()));
    try {
      return JSON.readTree(engine.request("{\"op\": \"policies\"}"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      engine.close();
    }
  }

  /** Returns the names of all presets; the first is the default. */
  public static List<String> presets() {
    return names("presets");
  }

  /** Returns the names of all policies for a stage. */
  public static List<String> names(String stage) {
    List<String> names = new ArrayList<>();
    ANSWER.path(stage).forEach(entry -> names.add(entry.path("name").asText()));
    return names;
  }

  /** Returns the policy for a stage in a preset; empty if there is no such preset. */
  public static String stage(String preset, String stage) {
    return preset(preset).path("stages").path(STAGES.indexOf(stage)).asText();
  }

  /** Returns the name of the workload that shows a preset; empty if there is no such preset. */
  public static String workload(String preset) {
    return preset(preset).path("workload").asText();
  }

  /** Returns a preset that this workload shows. */
  public static String shownBy(String workload) {
    return presets().stream().filter(preset -> workload(preset).equals(workload)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no preset is shown by " + workload));
  }

  /** Returns whether this workload shows a preset with this policy for a stage. */
  public static boolean isShownBy(String workload, String stage, String name) {
    return presets().stream().anyMatch(
        preset -> workload(preset).equals(workload) && stage(preset, stage).equals(name));
  }

  /** Returns whether queues have shares of their own under a share policy. */
  public static boolean keepsQueues(String share) {
    for (JsonNode entry : ANSWER.path("share")) {
      if (entry.path("name").asText().equals(share)) {
        return entry.path("keeps_queues").asBoolean();
      }
    }
    return false;
  }

  private static JsonNode preset(String name) {
    for (JsonNode preset : ANSWER.path("presets")) {
      if (preset.path("name").asText().equals(name)) {
        return preset;
      }
    }
    return JsonNodeFactory.instance.objectNode();
  }

  /** Reads an object from a JSON file beside a class. */
  public static ObjectNode resource(Class<?> beside, String name) {
    try (InputStream in = beside.getResourceAsStream(name)) {
      return (ObjectNode) JSON.readTree(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
