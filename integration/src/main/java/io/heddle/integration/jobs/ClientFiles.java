/*
 * A framework's client that runs in a process of its own, and submits one application: Hadoop's
 * site files of a cluster, and what the client prints.
 */
package io.heddle.integration.jobs;

import io.heddle.integration.cluster.SiteFiles;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** A new folder for one client. */
final class ClientFiles {
  private static final int SECONDS = 600;
  private static final String LOG_LEVELS =
      "log4j.rootLogger=INFO, console\n"
          + "log4j.appender.console=org.apache.log4j.ConsoleAppender\n"
          + "log4j.appender.console.layout=org.apache.log4j.PatternLayout\n"
          + "log4j.appender.console.layout.ConversionPattern=%p %c{2}: %m%n\n";
  private static final Pattern SUBMITTED =
      Pattern.compile("Submitted application (application_\\d+_\\d+)");

  private final Path folder;
  private final Path conf;
  private String said = "";

  /** Writes a cluster's settings; the defaults are those of the client's own Hadoop. */
  ClientFiles(Configuration cluster, File workFolder, String name) throws IOException {
    folder = Files.createTempDirectory(workFolder.toPath(), name + "-");
    conf = folder.resolve("conf");
    Configuration set = new Configuration(cluster);
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

  /** Returns what the client printed. */
  String said() {
    return said;
  }

  /** Runs a client to its end; fails if it does not end, or submitted nothing. */
  ApplicationId run(ProcessBuilder client, String user) throws Exception {
    File log = folder.resolve("client.log").toFile();
    client.environment().put("HADOOP_USER_NAME", user);
    Process process = client.redirectErrorStream(true).redirectOutput(log).start();
    boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
    process.destroyForcibly();
    said = new String(Files.readAllBytes(log.toPath()), StandardCharsets.UTF_8);
    String name = client.command().get(0);
    if (!ended) {
      throw new AssertionError(name + " hangs: " + said);
    }
    Matcher submitted = SUBMITTED.matcher(said);
    if (!submitted.find()) {
      throw new AssertionError(name + " submitted nothing: " + said);
    }
    return ApplicationId.fromString(submitted.group(1));
  }
}
