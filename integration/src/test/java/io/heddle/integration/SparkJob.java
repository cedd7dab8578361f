package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import java.io.File;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * An application of real Spark, which {@code scripts/pyspark} installs in {@value #HOME_VARIABLE}.
 * Its driver runs in the ApplicationMaster. Each executor and the driver take one container of the
 * size of a node; their tasks end only when the test lets them.
 */
final class SparkJob {
  private static final String HOME_VARIABLE = "HEDDLE_SPARK";
  private static final int HEAP_MB = 512;
  private static final String SCRIPT = "spark_gated.py";
  private static final String JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";
  private static final Pattern SUBMITTED =
      Pattern.compile("Submitted application application_(\\d+)_(\\d+)");

  private final ClusterRule cluster;
  private final Path folder;
  private final Path gate;
  private final ApplicationId id;

  /** Submits it with twice as many tasks as executors; each executor runs one at a time. */
  SparkJob(ClusterRule cluster, String user, String queue, int executors, int containerMb)
      throws Exception {
    this.cluster = cluster;
    folder = Files.createDirectories(cluster.cluster().workFolder().toPath().resolve("spark"));
    gate = folder.resolve("gate");
    Path home = home();
    String python = System.getenv(HOME_VARIABLE) + "/bin/python";
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("spark.yarn.submit.waitAppCompletion", false);
    // All nodes are this machine: uploading 300 MB is unnecessary.
    settings.put("spark.yarn.jars", "local:" + home + "/jars/*");
    settings.put("spark.executor.instances", executors);
    settings.put("spark.ui.enabled", false);
    for (String part : new String[] {"executor", "driver"}) {
      settings.put("spark." + part + ".memory", HEAP_MB + "m");
      settings.put("spark." + part + ".memoryOverhead", containerMb - HEAP_MB + "m");
      settings.put("spark." + part + ".extraJavaOptions", JVM);
    }
    for (String part : new String[] {"yarn.appMasterEnv", "executorEnv"}) {
      settings.put("spark." + part + ".SPARK_LOCAL_IP", "127.0.0.1");
      settings.put("spark." + part + ".PYSPARK_PYTHON", python);
    }
    List<String> command = new ArrayList<>(Arrays.asList(
        home + "/bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster",
        "--queue", queue));
    settings.forEach((key, value) -> {
      command.add("--conf");
      command.add(key + "=" + value);
    });
    command.addAll(Arrays.asList(
        script().toString(), String.valueOf(2 * executors), gate.toString()));
    ProcessBuilder builder = new ProcessBuilder(command);
    Map<String, String> environment = builder.environment();
    // Spark brings its own Hadoop.
    environment.remove("CLASSPATH");
    environment.put("HADOOP_CONF_DIR", writeConfiguration().toString());
    environment.put("HADOOP_USER_NAME", user);
    environment.put("SPARK_HOME", home.toString());
    environment.put("PYSPARK_PYTHON", python);
    environment.put("SPARK_LOCAL_IP", "127.0.0.1");
    id = submit(builder);
  }

  private static Path home() throws Exception {
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

  private Path script() throws Exception {
    Path file = folder.resolve(SCRIPT);
    try (InputStream in = SparkJob.class.getResourceAsStream("/" + SCRIPT)) {
      Files.copy(in, file);
    }
    return file;
  }

  /** Writes this cluster's settings; the defaults are those of Spark's own, older Hadoop client. */
  private Path writeConfiguration() throws Exception {
    Configuration all = cluster.configuration();
    Configuration set = new Configuration(false);
    for (Map.Entry<String, String> property : all) {
      String[] sources = all.getPropertySources(property.getKey());
      if (sources != null && !sources[sources.length - 1].endsWith("-default.xml")) {
        set.set(property.getKey(), property.getValue());
      }
    }
    // The class is one of Hadoop's tests.
    set.unset("net.topology.node.switch.mapping.impl");
    Path conf = Files.createDirectories(folder.resolve("conf"));
    // Each site file is read after some defaults, and overrides only those.
    for (String site : new String[] {"core", "hdfs", "yarn", "mapred"}) {
      try (OutputStream out = Files.newOutputStream(conf.resolve(site + "-site.xml"))) {
        set.writeXml(out);
      }
    }
    return conf;
  }

  private ApplicationId submit(ProcessBuilder builder) throws Exception {
    File log = folder.resolve("submit.log").toFile();
    Process process = builder.redirectErrorStream(true).redirectOutput(log).start();
    boolean ended = process.waitFor(ClusterRule.JOB_SECONDS, TimeUnit.SECONDS);
    process.destroyForcibly();
    String said = new String(Files.readAllBytes(log.toPath()), StandardCharsets.UTF_8);
    Matcher submitted = SUBMITTED.matcher(said);
    if (!ended || !submitted.find()) {
      throw new AssertionError("spark-submit " + (ended ? "failed" : "hangs") + ": " + said);
    }
    return ApplicationId.newInstance(
        Long.parseLong(submitted.group(1)), Integer.parseInt(submitted.group(2)));
  }

  ApplicationId id() {
    return id;
  }

  /** Returns the ResourceManager's record of it. */
  RMApp app() {
    return cluster.applications().find(id);
  }

  /** Counts its executors. */
  int executors() {
    return cluster.applications().taskHosts(id).size();
  }

  /** Waits until it holds this many executors. */
  void awaitExecutors(int count) throws Exception {
    Await.until(
        count + " executors run", ClusterRule.JOB_SECONDS, () -> executors() == count,
        this::describe);
  }

  /** Lets all tasks end; the application succeeds only with the right result. */
  void finish() throws Exception {
    Files.createFile(gate);
    Await.until(
        "Spark ends", ClusterRule.JOB_SECONDS, () -> app().getFinishTime() > 0, this::describe);
    assertEquals(
        describe(), FinalApplicationStatus.SUCCEEDED, app().getFinalApplicationStatus());
  }

  private String describe() {
    try {
      return app().getState() + " with " + executors() + " executors: " + app().getDiagnostics()
          + "\n" + ContainerLogs.tail(cluster.cluster(), id);
    } catch (Exception e) {
      return e.toString();
    }
  }
}
