package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppMetrics;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Spark with dynamic allocation over a stock scheduler's file: it grows while tasks wait, loses
 * executors to a queue below its minimum or guarantee, gets them again, and gives back idle ones.
 * Runs with --all only: it installs PySpark.
 */
public class SparkStockTest {
  /** One container fills a node; there are four. */
  private static final int NODE_MB = 2048;

  private static final int EXECUTORS = 3;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void betweenQueuesOfTheFairScheduler() throws Exception {
    String file =
        "<allocations>\n"
            + "  <queue name='analytics'/>\n"
            + "  <queue name='urgent'><minResources>6144 mb, 3 vcores</minResources></queue>\n"
            + "  <defaultMinSharePreemptionTimeout>2</defaultMinSharePreemptionTimeout>\n"
            + "</allocations>\n";
    Path written = folder.newFile("fair-scheduler.xml").toPath();
    Files.write(written, file.getBytes(StandardCharsets.UTF_8));
    check(
        MiniCluster.named("spark-fair")
            .set("heddle.queues.from", "fair")
            .set("yarn.scheduler.fair.allocation.file", written.toString())
            .set("yarn.scheduler.fair.preemption", "true")
            .set("yarn.scheduler.fair.waitTimeBeforeKill", "2000"));
  }

  @Test
  public void betweenQueuesOfTheCapacityScheduler() throws Exception {
    StringBuilder file = new StringBuilder("<configuration>\n");
    String[] lines = {
      "root.queues analytics,urgent",
      "root.analytics.capacity 25",
      "root.analytics.user-limit-factor 4",
      "root.analytics.maximum-am-resource-percent 1",
      "root.urgent.capacity 75",
    };
    for (String line : lines) {
      String[] words = line.split(" ");
      file.append("<property><name>yarn.scheduler.capacity.").append(words[0])
          .append("</name><value>").append(words[1]).append("</value></property>\n");
    }
    String preemption = "yarn.resourcemanager.monitor.capacity.preemption.";
    check(
        MiniCluster.named("spark-capacity")
            .set("heddle.queues.from", "capacity")
            .file("capacity-scheduler.xml", file.append("</configuration>\n").toString())
            .set("yarn.resourcemanager.scheduler.monitor.enable", "true")
            .set(preemption + "monitoring_interval", "1000")
            .set(preemption + "max_wait_before_kill", "2000")
            // By default a round takes a fiftieth of the cluster, here less than a container.
            .set(preemption + "total_preemption_per_round", "1")
            .set(preemption + "natural_termination_factor", "1"));
  }

  private void check(MiniCluster.Builder builder) throws Exception {
    try (MiniCluster started = builder.start()) {
      ClusterRule cluster = ClusterRule.of(started);
      Slots slots = new Slots(cluster);
      try {
        check(cluster, slots);
      } finally {
        slots.after();
      }
      cluster.awaitIdle();
    }
  }

  private void check(ClusterRule cluster, Slots slots) throws Exception {
    SparkJob spark =
        new SparkJob(cluster, "sara", "root.analytics", EXECUTORS, NODE_MB, true);
    spark.awaitExecutors(EXECUTORS);
    String master = cluster.applications().masterHost(spark.id());

    ShellService urgent = slots.service(
        "ugo", "root.urgent", EXECUTORS, Resource.newInstance(NODE_MB, 1));
    slots.await("the urgent queue has its minimum",
        () -> slots.held(urgent) == EXECUTORS, urgent);
    assertEquals("only its master is left", 1, slots.held(spark.id()));
    assertEquals(master, cluster.applications().masterHost(spark.id()));

    urgent.stop();
    spark.awaitExecutors(EXECUTORS);
    spark.narrow();
    spark.awaitExecutors(1);
    spark.finish();
    RMAppMetrics lost = spark.app().getRMAppMetrics();
    assertEquals("masters taken back", 0, lost.getNumAMContainersPreempted());
    assertEquals("executors taken back", EXECUTORS, lost.getNumNonAMContainersPreempted());
    assertEquals("attempts", 1, spark.app().getAppAttempts().size());
  }
}
