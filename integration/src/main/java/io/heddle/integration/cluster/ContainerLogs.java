/*
 * Reads the ends of container logs, for the message of a failed test.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** Finds container logs below the work folder of a cluster. */
public final class ContainerLogs {
  private static final int LINES_PER_FILE = 15;
  private static final int FILES_MAX = 12;

  private ContainerLogs() {}

  /** Returns the last lines of an application's logs, ApplicationMaster first. */
  public static String tail(File workFolder, ApplicationId id) throws IOException {
    List<Path> files;
    try (Stream<Path> all = Files.walk(workFolder.toPath())) {
      files =
          // A restarted NodeManager appends a suffix to its old folders.
          all.filter(path -> path.toString().contains("/log/" + id))
              .filter(path -> path.endsWith("syslog") || path.endsWith("stderr"))
              .filter(Files::isRegularFile)
              .sorted((a, b) -> a.getParent().getFileName().compareTo(b.getParent().getFileName()))
              .limit(FILES_MAX)
              .collect(Collectors.toList());
    }
    StringBuilder text = new StringBuilder();
    for (Path file : files) {
      String[] lines = new String(Files.readAllBytes(file), StandardCharsets.UTF_8).split("\n");
      text.append("--- ").append(file.getParent().getFileName()).append(' ');
      text.append(file.getFileName()).append('\n');
      for (int i = Math.max(0, lines.length - LINES_PER_FILE); i < lines.length; i++) {
        text.append(lines[i]).append('\n');
      }
    }
    return text.toString();
  }
}
