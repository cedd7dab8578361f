package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;

/** Where an engine's inputs and answers are recorded. The library writes the files. */
public final class Journal {
  /** The beginning of the files' names; no journal without it. */
  public static final String PATH_PROPERTY = "heddle.journal.path";
  /** The bound of all files of the journal, in bytes; {@code 4g} and the like are understood. */
  public static final String BYTES_PROPERTY = "heddle.journal.bytes-max";

  /**
   * The shortest life of an engine, in ms, after which a new one replaces it when its recording is
   * full, so that another recording begins; 0 or none: never.
   */
  public static final String RENEW_PROPERTY = "heddle.journal.renew-interval-ms";

  static final long BYTES_MAX = 1L << 30;
  private static final String STATUS = SetupJson.request("journal");

  private final String path;
  private final long bytesMax;
  private final long renewMs;

  private Journal(String path, long bytesMax, long renewMs) {
    this.path = path;
    this.bytesMax = bytesMax;
    this.renewMs = renewMs;
  }

  /**
   * Reads the properties; null without a journal.
   *
   * @throws YarnRuntimeException if a property is no size or no time, with its name
   */
  public static Journal of(Configuration configuration) {
    String path = configuration.getTrimmed(PATH_PROPERTY, "");
    if (path.isEmpty()) {
      return null;
    }
    long renewMs = number(configuration, RENEW_PROPERTY, 0, 0, "a number of milliseconds");
    return new Journal(path,
        number(configuration, BYTES_PROPERTY, BYTES_MAX, 1, "a size above 0, such as 4g"), renewMs);
  }

  private static long number(
      Configuration configuration, String property, long otherwise, long least, String expected) {
    try {
      long value = configuration.getLongBytes(property, otherwise);
      if (value >= least) {
        return value;
      }
    } catch (IllegalArgumentException e) {
      // Reported below.
    }
    throw new YarnRuntimeException(property + " in yarn-site.xml is "
        + configuration.get(property) + "; expected " + expected);
  }

  void putInto(ObjectNode setup) {
    setup.putObject("journal").put("path", path).put("bytes_max", bytesMax);
  }

  /** Adds {@link #RENEW_PROPERTY}, for an engine only: a foreign journal cannot be renewed. */
  void putRenewalInto(ObjectNode setup) {
    if (renewMs > 0) {
      setup.with("journal").put("renew_ms", renewMs);
    }
  }

  /** Returns whether a new engine should replace this one, so that another recording begins. */
  boolean wantsEngine(Engine engine) {
    return renewMs > 0 && status(engine).path("wants_engine").asBoolean();
  }

  /** Asks the library how the journal of an engine is doing; empty without one. */
  public static JsonNode status(Engine engine) {
    return engine.peek(STATUS);
  }
}
