package io.heddle.integration;

import io.heddle.integration.cluster.SiteFiles;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;

/**
 * A folder for a framework's client that runs in a process of its own: Hadoop's site files of a
 * cluster, and what the client prints.
 */
final class ClientFiles {
  private static final String LOG_LEVELS =
      "log4j.rootLogger=INFO, console\n"
          + "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
          + "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
          + "log4j.appender.console.layout.ConversionPattern=%p %c{2}: %m%n\n";

  private final Path folder;
  private final Path conf;

  /** Writes this cluster's settings; the defaults are those of the client's own Hadoop. */
  ClientFiles(ClusterRule cluster, String name) throws Exception {
    Path work = cluster.cluster().workFolder().toPath();
    folder = Files.createTempDirectory(work, name + "-");
    conf = folder.resolve("conf");
    Configuration set = cluster.configuration();
    // The class is one of Hadoop's tests.
    set.unset("net.topology.node.switch.mapping.impl");
    SiteFiles.write(set, conf);
    Files.write(conf.resolve("log4j.properties"), LOG_LEVELS.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the folder, for more files. */
  Path folder() {
    return folder;
  }

  /** Returns the folder with the site files. */
  Path conf() {
    return conf;
  }

  /** Runs a client to its end and returns what it printed; fails if it does not end. */
  String run(ProcessBuilder client) throws Exception {
    File log = folder.resolve("client.log").toFile();
    Process process = client.redirectErrorStream(true).redirectOutput(log).start();
    boolean ended = process.waitFor(ClusterRule.JOB_SECONDS, TimeUnit.SECONDS);
    process.destroyForcibly();
    String said = new String(Files.readAllBytes(log.toPath()), StandardCharsets.UTF_8);
    if (!ended) {
      throw new AssertionError(client.command().get(0) + " hangs: " + said);
    }
    return said;
  }
}
