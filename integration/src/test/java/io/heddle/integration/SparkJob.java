package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
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
  private static final int IDLE_SECONDS = 3;
  private static final String SCRIPT = "spark_gated.py";
  private static final String JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1";
  private static final Pattern SUBMITTED =
      Pattern.compile("Submitted application application_(\\d+)_(\\d+)");

  private final ClusterRule cluster;
  private final ClientFiles files;
  private final Path gate;
  private final Path narrowGate;
  private final ApplicationId id;

  /** Submits it with twice as many tasks as executors; each executor runs one at a time. */
  SparkJob(ClusterRule cluster, String user, String queue, int executors, int containerMb)
      throws Exception {
    this(cluster, user, queue, executors, containerMb, false);
  }

  /**
   * The same; a dynamic one begins with one executor, asks for more while tasks wait, and gives
   * back those that are idle. It runs one task more, alone, after the others.
   */
  SparkJob(
      ClusterRule cluster, String user, String queue, int executors, int containerMb,
      boolean dynamic) throws Exception {
    this.cluster = cluster;
    files = new ClientFiles(cluster, "spark");
    gate = files.folder().resolve("gate");
    narrowGate = files.folder().resolve("narrow-gate");
    Path home = home();
    String python = System.getenv(HOME_VARIABLE) + "/bin/python";
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("spark.yarn.submit.waitAppCompletion", false);
    // All nodes are this machine: uploading 300 MB is unnecessary.
    settings.put("spark.yarn.jars", "local:" + home + "/jars/*");
    if (dynamic) {
      settings.put("spark.dynamicAllocation.enabled", true);
      // Without Spark's own service on the nodes.
      settings.put("spark.dynamicAllocation.shuffleTracking.enabled", true);
      settings.put("spark.dynamicAllocation.maxExecutors", executors);
      settings.put("spark.dynamicAllocation.executorIdleTimeout", IDLE_SECONDS + "s");
    } else {
      settings.put("spark.executor.instances", executors);
    }
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
    if (dynamic) {
      command.add(narrowGate.toString());
    }
    ProcessBuilder builder = new ProcessBuilder(command);
    Map<String, String> environment = builder.environment();
    // Spark brings its own Hadoop.
    environment.remove("CLASSPATH");
    environment.put("HADOOP_CONF_DIR", files.conf().toString());
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
    Path file = files.folder().resolve(SCRIPT);
    try (InputStream in = SparkJob.class.getResourceAsStream("/" + SCRIPT)) {
      Files.copy(in, file);
    }
    return file;
  }

  private ApplicationId submit(ProcessBuilder builder) throws Exception {
    String said = files.run(builder);
    Matcher submitted = SUBMITTED.matcher(said);
    if (!submitted.find()) {
      throw new AssertionError("spark-submit failed: " + said);
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

  /** Lets all tasks end but the one that a dynamic application runs alone. */
  void narrow() throws Exception {
    Files.createFile(gate);
  }

  /** Lets all tasks end; the application succeeds only with the right result. */
  void finish() throws Exception {
    for (Path each : new Path[] {gate, narrowGate}) {
      if (!Files.exists(each)) {
        Files.createFile(each);
      }
    }
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
