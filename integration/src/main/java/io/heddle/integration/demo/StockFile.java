/*
 * A stock scheduler's file for the demo: which scheduler's it is, and how a cluster uses it. Reads
 * nothing of it but its root element.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.MiniCluster;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.cli.ParseException;

/** A file of the Fair or of the Capacity Scheduler. */
final class StockFile {
  private static final String PACKAGE =
      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.";
  private static final Pattern ROOT = Pattern.compile("<(allocations|configuration)\\b");

  private final Path path;
  private final String text;
  private final boolean fair;

  private StockFile(Path path, String text, boolean fair) {
    this.path = path;
    this.text = text;
    this.fair = fair;
  }

  /**
   * Reads a file.
   *
   * @param folder to which a relative path is relative
   * @throws ParseException if it is no stock scheduler's file
   */
  static StockFile read(Path folder, String named) throws ParseException {
    try {
      Path path = folder.resolve(Paths.get(named)).toAbsolutePath();
      String text = new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
      Matcher root = ROOT.matcher(text);
      if (!root.find()) {
        throw new ParseException("--stock-file: " + path
            + ": expected <allocations> of the Fair Scheduler or <configuration> of the Capacity"
            + " Scheduler");
      }
      return new StockFile(path, text, root.group(1).equals("allocations"));
    } catch (IOException | InvalidPathException e) {
      throw new ParseException("--stock-file: cannot read " + named + ": " + e);
    }
  }

  /** Returns the value of heddle.queues.from. */
  String kind() {
    return fair ? "fair" : "capacity";
  }

  /** Returns the name of the file without its folder. */
  String name() {
    return path.getFileName().toString();
  }

  /** Returns the name of the scheduler whose file it is. */
  String scheduler() {
    return fair ? "Fair" : "Capacity";
  }

  /** Returns the class of the scheduler whose file it is. */
  String schedulerClass() {
    return PACKAGE + (fair ? "fair.FairScheduler" : "capacity.CapacityScheduler");
  }

  /** Lets a cluster find the file where its scheduler would. */
  void install(MiniCluster.Builder cluster) {
    if (fair) {
      cluster.set("yarn.scheduler.fair.allocation.file", path.toString());
    } else {
      cluster.file("capacity-scheduler.xml", text);
    }
  }
}
