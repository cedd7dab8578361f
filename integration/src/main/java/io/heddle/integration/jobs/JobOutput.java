/*
 * Reads a job's output from HDFS. Checks only that the folder is complete.
 */
package io.heddle.integration.jobs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** The output folder of a text job. */
public final class JobOutput {
  private JobOutput() {}

  /** Returns all lines of all parts, in the order of the parts' names. */
  public static List<String> lines(FileSystem fs, Path folder) throws IOException {
    if (!fs.exists(new Path(folder, "_SUCCESS"))) {
      throw new IOException(folder + " has no _SUCCESS file: its job was not committed");
    }
    List<String> lines = new ArrayList<>();
    for (FileStatus part : fs.globStatus(new Path(folder, "part-*"))) {
      try (BufferedReader reader =
          new BufferedReader(
              new InputStreamReader(fs.open(part.getPath()), StandardCharsets.UTF_8))) {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
          lines.add(line);
        }
      }
    }
    return lines;
  }

  /** Returns the counts of a word count; fails on a word that occurs twice. */
  public static Map<String, Long> counts(FileSystem fs, Path folder) throws IOException {
    Map<String, Long> counts = new TreeMap<>();
    for (String line : lines(fs, folder)) {
      String[] fields = line.split("\t");
      if (fields.length != 2 || counts.put(fields[0], Long.valueOf(fields[1])) != null) {
        throw new IOException(folder + ": bad or repeated line: " + line);
      }
    }
    return counts;
  }
}
