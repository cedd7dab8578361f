package io.heddle.yarn.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/**
 * Finds and reads heddle.json: the file that {@code heddle.config.file} names, else
 * {@code heddle.json} on the class path, else none, which means all defaults. Checks that it is a
 * JSON object; the engine checks its content.
 */
public final class ConfigFile {
  /** Property of yarn-site.xml with the path of the file. */
  public static final String FILE_PROPERTY = "heddle.config.file";

  private static final String RESOURCE = "heddle.json";
  // Strict: a second `queues`, or what follows a closing brace too many, would be lost unnoticed.
  private static final ObjectMapper JSON = new ObjectMapper()
      .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
      .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);

  private final String source;
  private final JsonNode content;
  private final Path folder;

  private ConfigFile(String source, JsonNode content, Path folder) {
    this.source = source;
    this.content = content;
    this.folder = folder;
  }

  /** Returns where the configuration came from, for messages. */
  public String source() {
    return source;
  }

  /** Returns the configuration, an object. */
  public JsonNode content() {
    return content;
  }

  /** Returns the path of a file that is named in the configuration: beside it, if relative. */
  Path resolve(String path) {
    return folder.resolve(path);
  }

  /**
   * Reads the configuration.
   *
   * @throws IOException saying which file, where in it, what was expected and what to do
   */
  public static ConfigFile read(Configuration conf) throws IOException {
    String path = conf.getTrimmed(FILE_PROPERTY, "");
    if (!path.isEmpty()) {
      Path file = Paths.get(path).toAbsolutePath();
      if (!Files.isReadable(file) || Files.isDirectory(file)) {
        throw new IOException(
            FILE_PROPERTY + " in yarn-site.xml names " + file + ", which is not a readable file."
                + " Correct the path, or remove the property to run with the defaults");
      }
      return parse(file.toString(), Files.readAllBytes(file), file.getParent());
    }
    // The configuration's class loader sees the RM's conf folder.
    URL resource = conf.getResource(RESOURCE);
    if (resource == null) {
      return new ConfigFile("defaults (no heddle.json)", JSON.createObjectNode(), workingFolder());
    }
    try (InputStream in = resource.openStream()) {
      return parse(resource.toString(), ByteStreams.toByteArray(in), folderOf(resource));
    }
  }

  private static Path workingFolder() {
    return Paths.get("").toAbsolutePath();
  }

  private static Path folderOf(URL resource) {
    try {
      boolean isFile = "file".equals(resource.getProtocol());
      return isFile ? Paths.get(resource.toURI()).getParent() : workingFolder();
    } catch (URISyntaxException e) {
      return workingFolder();
    }
  }

  /** Reads the text of a configuration; {@code source} is only for messages. */
  static ConfigFile parse(String source, byte[] text, Path folder) throws IOException {
    JsonNode content;
    try {
      content = JSON.readTree(text);
    } catch (JsonProcessingException e) {
      String where = e.getLocation() == null ? "" : " line " + e.getLocation().getLineNr()
          + ", column " + e.getLocation().getColumnNr();
      throw new IOException(
          source + where + ": expected JSON: " + e.getOriginalMessage() + ". Correct the file", e);
    }
    if (content == null || !content.isObject()) {
      throw new IOException(source + ": expected a JSON object, like {\"policy\": \"fair\"}");
    }
    return new ConfigFile(source, content, folder);
  }

  /**
   * Reads a property of yarn-site.xml.
   *
   * @throws YarnRuntimeException if it is no number, with its name
   */
  public static long milliseconds(Configuration configuration, String property, long otherwise) {
    try {
      return configuration.getLong(property, otherwise);
    } catch (NumberFormatException e) {
      throw new YarnRuntimeException(property + " in yarn-site.xml is "
          + configuration.get(property) + "; expected a whole number of milliseconds", e);
    }
  }

  /**
   * As {@link #milliseconds}, of something that is done again and again.
   *
   * @throws YarnRuntimeException if it is no number above 0, with its name
   */
  public static long positiveMilliseconds(
      Configuration configuration, String property, long otherwise) {
    long value = milliseconds(configuration, property, otherwise);
    if (value <= 0) {
      throw new YarnRuntimeException(property + " in yarn-site.xml is " + value
          + "; expected a number of milliseconds above 0");
    }
    return value;
  }
}
