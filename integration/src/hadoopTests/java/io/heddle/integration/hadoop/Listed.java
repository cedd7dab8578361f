package io.heddle.integration.hadoop;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The tests that are expected to fail, each with its reason: lines of four columns separated by
 * tabs, {@code scheduler kind Class.method reason}. Kind {@code *} is any.
 */
final class Listed {
  private final Map<String, String> reasons = new LinkedHashMap<>();

  /** Reads the lines about one scheduler and one class. */
  static Listed read(Path file, String scheduler, String testClass) throws IOException {
    Listed listed = new Listed();
    for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
      if (line.isEmpty() || line.startsWith("#")) {
        continue;
      }
      String[] columns = line.split("\t");
      if (columns.length != 4) {
        throw new IOException(file + ": expected four columns in: " + line);
      }
      if (columns[0].equals(scheduler) && columns[2].startsWith(testClass + ".")) {
        listed.reasons.put(columns[1] + " " + columns[2], columns[3]);
      }
    }
    return listed;
  }

  /** Returns why a test is expected to fail, or null if it is not. */
  String reason(String kind, String test) {
    String reason = reasons.get(kind + " " + test);
    return reason != null ? reason : reasons.get("* " + test);
  }

  /** Returns the reason of one of {@link #entries}. */
  String reason(String entry) {
    return reasons.get(entry);
  }

  /** Returns whether a test may also pass: it is a race, with the stock schedulers as well. */
  static boolean isFlaky(String reason) {
    return reason.startsWith("flaky:");
  }

  /** Returns the lines, {@code kind Class.method}, for tests that this class may not have. */
  Iterable<String> entries() {
    return reasons.keySet();
  }
}
