package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppMetrics;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Preemption of Spark: it gives up executors to a queue below its minimum share, keeps its
 * ApplicationMaster, and ends well. Runs with --all only: it installs PySpark.
 */
public class SparkTest {
  /** One container fills a node; there are four. */
  private static final int NODE_MB = 2048;

  private static final int EXECUTORS = 3;

  private static final String CONFIGURATION =
      "{\"policy\": {\"share\": \"fair\", \"order\": \"fifo\", \"place\": \"delay\"},"
          + " \"preemption\": {\"enabled\": true, \"min_share_timeout_ms\": 2000,"
          + "   \"grace_ms\": 2000},"
          + " \"queues\": [{\"path\": \"root.analytics\"},"
          + "   {\"path\": \"root.urgent\", \"min_share\": {\"memory-mb\": "
          + EXECUTORS * NODE_MB + "}}]}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(MiniCluster.named("spark").engineConfiguration(CONFIGURATION));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  @Test
  public void sparkGivesUpExecutorsToAQueueBelowItsMinimum() throws Exception {
    SparkJob spark = new SparkJob(CLUSTER, "sara", "root.analytics", EXECUTORS, NODE_MB);
    spark.awaitExecutors(EXECUTORS);
    String master = CLUSTER.applications().masterHost(spark.id());

    ShellService urgent = slots.service(
        "ugo", "root.urgent", EXECUTORS, Resource.newInstance(NODE_MB, 1));
    slots.await("the urgent queue has its minimum",
        () -> slots.held(urgent) == EXECUTORS, urgent);
    assertEquals("only its master is left", 1, slots.held(spark.id()));
    assertEquals(master, CLUSTER.applications().masterHost(spark.id()));
    assertEquals("what the urgent queue lost", 0, urgent.ended().size());

    urgent.stop();
    spark.awaitExecutors(EXECUTORS);
    spark.finish();
    RMAppMetrics lost = spark.app().getRMAppMetrics();
    assertEquals("masters taken back", 0, lost.getNumAMContainersPreempted());
    assertEquals("executors taken back", EXECUTORS, lost.getNumNonAMContainersPreempted());
    assertEquals("attempts", 1, spark.app().getAppAttempts().size());
  }
}
