package io.heddle.yarn.compat;

import static org.junit.Assert.assertTrue;

import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A JVM of its own whose Hadoop says that it is a version which is not tested. */
final class VendorJvm {
  static final String VERSION = "3.9.0-vendor";

  private final Path folder;

  VendorJvm() throws Exception {
    folder = Files.createTempDirectory("heddle-vendor");
    replace("yarn-version-info.properties",
        ("version=" + VERSION + "\n").getBytes(StandardCharsets.UTF_8));
  }

  /** Puts a file before that of this name in the jars. */
  void replace(String name, byte[] content) throws Exception {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.write(file, content);
  }

  /** Runs a program, and returns what it prints. */
  String run(Class<?> main, String... arguments) throws Exception {
    Path output = folder.resolve("output");
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    Collections.addAll(command, "-Djava.io.tmpdir=" + folder, "-cp",
        folder + File.pathSeparator + System.getProperty("java.class.path"), main.getName());
    Collections.addAll(command, arguments);
    Process process = new ProcessBuilder(command).redirectErrorStream(true)
        .redirectOutput(output.toFile()).start();
    try {
      assertTrue(process.waitFor(300, TimeUnit.SECONDS));
    } finally {
      process.destroyForcibly();
    }
    return new String(Files.readAllBytes(output), StandardCharsets.UTF_8);
  }
}
