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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;

/**
 * The parent's side; its main calls {@link ChildMain}. It ends when its parent closes its input, so
 * none outlives a parent that was killed.
 */
final class ChildJvm {
  /** Time limit of its end, with some time for a busy machine after its own limit. */
  private static final long STOP_MS = 2 * ChildMain.STOP_MS;

  /** Stands for the end of the answers. */
  private static final String END = "";

  private final String name;
  private final File log;
  private final Process process;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

  /**
   * Starts one with its site files and its log in this folder, which is its argument. The files are
   * on its class path, as in an installation: Hadoop reads some settings from nowhere else.
   *
   * @param name of its site files' folder and of its log
   * @param classPath where it finds the class
   * @param answering whether it answers questions; otherwise all output goes into its log
   */
  ChildJvm(Class<?> main, String name, String classPath, Configuration conf, File folder,
      boolean answering) throws IOException {
    this.name = name;
    File site = new File(folder, name + "-conf");
    SiteFiles.write(conf, site.toPath());
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (option.startsWith("--add-opens") || option.startsWith("-Djava.net.")) {
        command.add(option);
      }
    }
    command.addAll(
        Arrays.asList(
            // The JVM's own messages must not be among the answers.
            "-XX:+DisplayVMOutputToStderr",
            "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
            site + File.pathSeparator + classPath, main.getName(), folder.getPath()));
    log = new File(folder, name + ".log");
    ProcessBuilder builder = new ProcessBuilder(command);
    if (answering) {
      process = builder.redirectError(log).start();
      Thread reader = new Thread(this::read, "answers of " + name);
      reader.setDaemon(true);
      reader.start();
    } else {
      process = builder.redirectErrorStream(true).redirectOutput(log).start();
    }
  }

  private void read() {
    try (BufferedReader in = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        answers.add(line);
      }
    } catch (IOException e) {
      // It was killed.
    }
    answers.add(END);
  }

  /** Returns the file with all that it prints. */
  File log() {
    return log;
  }

  /** Fails if it has ended. */
  void assertRuns() {
    if (!process.isAlive()) {
      throw failure("has ended", null);
    }
  }

  /** Sends a line and returns the answer; fails with the child's reason if it has none. */
  synchronized String ask(String line) {
    String answer;
    try {
      OutputStream out = process.getOutputStream();
      out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
      answer = answers.poll(Await.SECONDS, TimeUnit.SECONDS);
    } catch (IOException e) {
      throw failure("has ended", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure("was not waited for", e);
    }
    if (answer == null) {
      // A late answer would be taken for that to the next question.
      process.destroyForcibly();
      throw failure("did not answer in " + Await.SECONDS + " s and was killed", null);
    }
    if (answer.startsWith(ChildMain.ANSWER)) {
      return answer.substring(ChildMain.ANSWER.length());
    }
    if (answer.startsWith(ChildMain.ERROR)) {
      throw failure("failed: " + answer.substring(ChildMain.ERROR.length()), null);
    }
    if (answer.equals(END)) {
      // For later questions.
      answers.add(END);
      throw failure("has ended", null);
    }
    throw failure("printed: " + answer, null);
  }

  private IllegalStateException failure(String what, Exception cause) {
    return new IllegalStateException(name + " " + what + "; its log is " + log, cause);
  }

  /** Stops it in an orderly way, and waits for its end; kills it if that takes too long. */
  void stop() {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // It has ended.
    }
    try {
      if (!process.waitFor(STOP_MS, TimeUnit.MILLISECONDS)) {
        System.out.println(name + " did not end in " + STOP_MS + " ms and is killed");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      process.destroyForcibly();
    }
  }
}
