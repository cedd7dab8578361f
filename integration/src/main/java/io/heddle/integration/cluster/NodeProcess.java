/*
 * A NodeManager in a JVM of its own, as on a real cluster: only then are its metrics its own.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** Ends when its parent closes its input, so none outlives a parent that was killed. */
public final class NodeProcess {
  /** Time limit of an orderly stop. */
  private static final long STOP_MS = 30_000;

  private final Process process;

  /** Starts one with its files and its log in this folder. */
  NodeProcess(Configuration conf, File folder) throws IOException {
    Files.createDirectories(folder.toPath());
    File site = new File(folder, "node-site.xml");
    try (OutputStream out = Files.newOutputStream(site.toPath())) {
      conf.writeXml(out);
    }
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (option.startsWith("--add-opens") || option.startsWith("-Djava.net.")) {
        command.add(option);
      }
    }
    command.addAll(
        Arrays.asList(
            "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
            System.getProperty("java.class.path"), NodeProcess.class.getName(), site.getPath()));
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(new File(folder, "nodemanager.log"))
            .start();
  }

  /** Stops it in an orderly way, and waits for its end. */
  void stop() {
    try {
      process.getOutputStream().close();
      process.waitFor();
    } catch (IOException e) {
      process.destroyForcibly();
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }

  private static void endSoon() {
    try {
      Thread.sleep(STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(1);
  }

  /** Runs the NodeManager of a configuration file until the end of the input. */
  public static void main(String[] arguments) throws IOException {
    YarnConfiguration conf = new YarnConfiguration();
    conf.addResource(new Path(new File(arguments[0]).toURI()));
    NodeManager nodeManager = new NodeManager();
    nodeManager.init(conf);
    nodeManager.start();
    while (System.in.read() >= 0) {
      // The parent writes nothing.
    }
    // Without a ResourceManager it would try for minutes to tell it of its end.
    Thread limit = new Thread(NodeProcess::endSoon);
    limit.setDaemon(true);
    limit.start();
    nodeManager.stop();
    System.exit(0);
  }
}
