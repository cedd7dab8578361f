package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;

/**
 * The allocations file of the original Fair Scheduler: where it is, and what the library found at
 * its last look. The library tells whether it has changed and settled; the engine reads its text.
 *
 * <p>Used by one thread at a time.
 */
final class AllocationsFile {
  /** Key of heddle.json with the path; goes before the property. */
  static final String KEY = "allocations_file";
  /** The property that named the file to the original scheduler. */
  static final String PROPERTY = "mapred.fairscheduler.allocation.file";

  private final Path path;
  // What the library found at its last look; null before the first.
  private JsonNode state;

  AllocationsFile(Path path) {
    this.path = path;
  }

  /**
   * Returns the file that a configuration names, or null; it need not be there.
   *
   * @throws IOException if what is named can be no file
   */
  static AllocationsFile named(ConfigFile config, Configuration conf) throws IOException {
    String key = config.content().path(KEY).asText("");
    String name = key.isEmpty() ? conf.getTrimmed(PROPERTY, "") : key;
    try {
      return name.isEmpty() ? null : new AllocationsFile(config.resolve(name));
    } catch (InvalidPathException e) {
      String where = key.isEmpty() ? PROPERTY : config.source() + ": key `" + KEY + "`";
      throw new IOException(where + ": expected a path, found " + name, e);
    }
  }

  Path path() {
    return path;
  }

  /**
   * Returns the text, settled or not.
   *
   * @throws IOException if there is no such file or it cannot be read
   */
  String read() throws IOException {
    return look(null);
  }

  /**
   * Returns the text if it has changed since it was last read and is not being changed, else null.
   *
   * @param nowMs wall clock
   * @throws IOException as {@link #read}
   */
  String readIfChanged(long nowMs) throws IOException {
    return look(nowMs);
  }

  private String look(Long nowMs) throws IOException {
    JsonNode answer = SetupJson.ask(
        "file", "path", path.toString(), "now_ms", nowMs, "state", state);
    state = answer.path("state");
    if (answer.has("wrong")) {
      throw new IOException(answer.path("wrong").asText());
    }
    return answer.path("text").textValue();
  }

  /** The text that was read last was not used: it counts as changed. */
  void again() {
    ((ObjectNode) state).remove("read");
  }
}
