package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import io.heddle.integration.jobs.SparkSubmit;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * An application of real Spark. Each executor and the driver take one container of the size of a
 * node; their tasks end only when the test lets them.
 */
final class SparkJob {
  private static final int IDLE_SECONDS = 3;
  private static final String SCRIPT = "spark_gated.py";

  private final ClusterRule cluster;
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
    SparkSubmit spark = new SparkSubmit(
        cluster.configuration(), cluster.cluster().workFolder(), user, queue, containerMb);
    gate = spark.folder().resolve("gate");
    narrowGate = spark.folder().resolve("narrow-gate");
    if (dynamic) {
      spark.set("spark.dynamicAllocation.enabled", true);
      // Without Spark's own service on the nodes.
      spark.set("spark.dynamicAllocation.shuffleTracking.enabled", true);
      spark.set("spark.dynamicAllocation.maxExecutors", executors);
      spark.set("spark.dynamicAllocation.executorIdleTimeout", IDLE_SECONDS + "s");
      id = spark.submit(SCRIPT, 2 * executors, gate, narrowGate);
    } else {
      spark.set("spark.executor.instances", executors);
      id = spark.submit(SCRIPT, 2 * executors, gate);
    }
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
          + "\n" + ContainerLogs.tail(cluster.cluster().workFolder(), id);
    } catch (Exception e) {
      return e.toString();
    }
  }
}
