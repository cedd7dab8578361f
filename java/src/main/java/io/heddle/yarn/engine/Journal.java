package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/** Where an engine's inputs and answers are recorded. The library writes the files. */
public final class Journal {
  /** What the names of the files begin with; no journal without it. */
  public static final String PATH_PROPERTY = "heddle.journal.path";
  /** The bound of all files of the journal, in bytes; {@code 4g} and the like are understood. */
  public static final String BYTES_PROPERTY = "heddle.journal.bytes-max";

  static final long BYTES_MAX = 1L << 30;
  private static final String STATUS = SetupJson.request("journal");

  private final String path;
  private final long bytesMax;

  private Journal(String path, long bytesMax) {
    this.path = path;
    this.bytesMax = bytesMax;
  }

  /**
   * Reads the properties; null without a journal.
   *
   * @throws YarnRuntimeException if the bound is no size, with its name
   */
  public static Journal of(Configuration configuration) {
    String path = configuration.getTrimmed(PATH_PROPERTY, "");
    if (path.isEmpty()) {
      return null;
    }
    try {
      long bytesMax = configuration.getLongBytes(BYTES_PROPERTY, BYTES_MAX);
      if (bytesMax > 0) {
        return new Journal(path, bytesMax);
      }
    } catch (IllegalArgumentException e) {
      // Said below.
    }
    throw new YarnRuntimeException(BYTES_PROPERTY + " in yarn-site.xml is "
        + configuration.get(BYTES_PROPERTY) + "; expected a size above 0, such as 4g");
  }

  void putInto(ObjectNode setup) {
    setup.putObject("journal").put("path", path).put("bytes_max", bytesMax);
  }

  /** Asks the library how the journal of an engine is doing; empty without one. */
  public static JsonNode status(Engine engine) {
    return engine.peek(STATUS);
  }
}
