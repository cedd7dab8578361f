/*
 * Submits a Python script to real Spark, which scripts/pyspark installs where an environment
 * variable says. The driver runs in the ApplicationMaster. It and each executor take a container of
 * the same size.
 */
package io.heddle.integration.jobs;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** One submission. */
public final class SparkSubmit {
  /** Names the virtual environment with PySpark. */
  public static final String HOME_VARIABLE = "HEDDLE_SPARK";

  private static final int HEAP_MB = 512;
  private static final String JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";

  private final ClientFiles files;
  private final String user;
  private final String queue;
  private final Map<String, Object> settings = new LinkedHashMap<>();

  /**
   * Makes one for a cluster with files in this folder; all nodes are this machine.
   *
   * @param containerMb the size of a container, above {@value #HEAP_MB}
   */
  public SparkSubmit(
      Configuration cluster, File workFolder, String user, String queue, int containerMb)
      throws IOException {
    files = new ClientFiles(cluster, workFolder, "spark");
    this.user = user;
    this.queue = queue;
    settings.put("spark.yarn.submit.waitAppCompletion", false);
    settings.put("spark.yarn.jars", "local:" + home() + "/jars/*");
    settings.put("spark.yarn.stagingDir",
        FileSystem.getDefaultUri(cluster).resolve(cluster.get(MRJobConfig.MR_AM_STAGING_DIR)));
    settings.put("spark.ui.enabled", false);
    for (String part : new String[] {"executor", "driver"}) {
      settings.put("spark." + part + ".memory", HEAP_MB + "m");
      settings.put("spark." + part + ".memoryOverhead", containerMb - HEAP_MB + "m");
      settings.put("spark." + part + ".extraJavaOptions", JVM);
    }
    for (String part : new String[] {"yarn.appMasterEnv", "executorEnv"}) {
      settings.put("spark." + part + ".SPARK_LOCAL_IP", "127.0.0.1");
      settings.put("spark." + part + ".PYSPARK_PYTHON", python());
    }
  }

  /** Sets one of Spark's properties. */
  public SparkSubmit set(String key, Object value) {
    settings.put(key, value);
    return this;
  }

  /** Returns a folder of its own, for what the script reads. */
  public Path folder() {
    return files.folder();
  }

  /** Submits a script among the resources; does not wait for its end. */
  public ApplicationId submit(String script, Object... arguments) throws Exception {
    Path file = files.folder().resolve(script);
    try (InputStream in = SparkSubmit.class.getResourceAsStream("/" + script)) {
      Files.copy(in, file);
    }
    List<String> command = new ArrayList<>(Arrays.asList(
        home() + "/bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster",
        "--queue", queue));
    settings.forEach((key, value) -> command.addAll(Arrays.asList("--conf", key + "=" + value)));
    command.add(file.toString());
    Arrays.stream(arguments).map(String::valueOf).forEach(command::add);
    ProcessBuilder builder = new ProcessBuilder(command);
    Map<String, String> environment = builder.environment();
    // Spark brings its own Hadoop.
    environment.remove("CLASSPATH");
    environment.put("HADOOP_CONF_DIR", files.conf().toString());
    environment.put("SPARK_HOME", home().toString());
    environment.put("PYSPARK_PYTHON", python());
    environment.put("SPARK_LOCAL_IP", "127.0.0.1");
    return files.run(builder, user);
  }

  private static String python() {
    return System.getenv(HOME_VARIABLE) + "/bin/python";
  }

  private static Path home() throws IOException {
    String environment = System.getenv(HOME_VARIABLE);
    if (environment == null) {
      throw new IllegalStateException(
          HOME_VARIABLE + " names no installation of PySpark; see scripts/pyspark");
    }
    try (Stream<Path> libraries = Files.list(Paths.get(environment, "lib"))) {
      return libraries.map(library -> library.resolve("site-packages/pyspark"))
          .filter(Files::isDirectory)
          .findFirst()
          .orElseThrow(() -> new IllegalStateException("no PySpark in " + environment));
    }
  }
}
