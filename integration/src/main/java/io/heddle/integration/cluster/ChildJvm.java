/*
 * A JVM of the embedded cluster beside this one, with site files, a log and an orderly end.
 */
package io.heddle.integration.cluster;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/** Ends when its parent closes its input, so none outlives a parent that was killed. */
final class ChildJvm {
  /** Time limit of an orderly stop. */
  private static final long STOP_MS = 30_000;

  private final String name;
  private final File log;
  private final Process process;
  private final BufferedReader answers;

  /**
   * Starts one with its site files and its log in this folder, which is its argument. The files are
   * on its class path, as in an installation: Hadoop reads some settings from nowhere else.
   *
   * @param name of its site files' folder and of its log
   * @param classPath where it finds the class
   */
  ChildJvm(Class<?> main, String name, String classPath, Configuration conf, File folder)
      throws IOException {
    this.name = name;
    File site = new File(folder, name + "-conf");
    Files.createDirectories(site.toPath());
    Configuration set = withoutDefaults(conf);
    // Each site file is read after some defaults, and overrides only those.
    for (String part : new String[] {"core", "hdfs", "yarn", "mapred"}) {
      try (OutputStream out = Files.newOutputStream(new File(site, part + "-site.xml").toPath())) {
        set.writeXml(out);
      }
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
            site + File.pathSeparator + classPath, main.getName(), folder.getPath()));
    log = new File(folder, name + ".log");
    process = new ProcessBuilder(command).redirectError(log).start();
    answers = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Returns what was set: a child with another Hadoop has other defaults. */
  private static Configuration withoutDefaults(Configuration all) {
    Configuration set = new Configuration(false);
    for (Map.Entry<String, String> property : all) {
      String[] sources = all.getPropertySources(property.getKey());
      if (sources == null || !sources[sources.length - 1].endsWith("-default.xml")) {
        set.set(property.getKey(), property.getValue());
      }
    }
    return set;
  }

  /** Returns the file with all that it logs. */
  File log() {
    return log;
  }

  /** Fails if it has ended. */
  void assertRuns() {
    if (!process.isAlive()) {
      throw new IllegalStateException(name + " has ended; its log is " + log);
    }
  }

  /** Sends a line and returns the answer, the child's next line. */
  synchronized String ask(String line) {
    try {
      OutputStream out = process.getOutputStream();
      out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
      String answer = answers.readLine();
      if (answer == null) {
        throw new IOException("it has ended");
      }
      return answer;
    } catch (IOException e) {
      throw new IllegalStateException(name + " does not answer; its log is " + log, e);
    }
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

  // ---- In the child.

  /** Ends this JVM once the service has stopped; without waiting for it forever. */
  static void end(Runnable stop) {
    // Without a ResourceManager a NodeManager would try for minutes to tell it of its end.
    Thread limit = new Thread(ChildJvm::endSoon);
    limit.setDaemon(true);
    limit.start();
    stop.run();
    System.exit(0);
  }

  private static void endSoon() {
    try {
      Thread.sleep(STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(1);
  }

  /** Returns when the parent has closed the child's input. */
  static void awaitEndOfInput() throws IOException {
    while (System.in.read() >= 0) {
      // The parent writes nothing.
    }
  }
}
