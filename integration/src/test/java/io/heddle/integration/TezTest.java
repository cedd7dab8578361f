package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TezJob;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * A real job of Apache Tez over a Fair Scheduler's file, whose rules find its queue. Newest Hadoop
 * only: Tez brings no jars of Hadoop.
 */
public class TezTest {
  private static final int FILES = 3;

  /** A queue for each user in {@code warehouse}, of half of the cluster at most. */
  private static final String FAIR_FILE =
      "<allocations>\n"
          + "  <queue name='warehouse' type='parent'><maxResources>50%</maxResources></queue>\n"
          + "  <queuePlacementPolicy>\n"
          + "    <rule name='nestedUserQueue'>\n"
          + "      <rule name='default' queue='warehouse'/>\n"
          + "    </rule>\n"
          + "  </queuePlacementPolicy>\n"
          + "</allocations>\n";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("tez")
              .set("heddle.queues.from", "fair")
              .set("yarn.scheduler.fair.allocation.file", written()));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private static String written() {
    try {
      Path file = Files.createTempFile("fair-scheduler", ".xml");
      return Files.write(file, FAIR_FILE.getBytes(StandardCharsets.UTF_8)).toString();
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Test
  public void aGraphOfTezRunsInTheQueueOfItsUser() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("tez/in"), FILES, 50, 9);
    org.apache.hadoop.fs.Path output = ClusterRule.path("tez/out");

    ApplicationId id =
        new TezJob(CLUSTER.configuration(), CLUSTER.cluster().workFolder(), "tina")
            .run(corpus.folder(), output);

    RMApp app = CLUSTER.applications().find(id);
    // Its ApplicationMaster outlives it.
    Await.until("Tez ends", ClusterRule.JOB_SECONDS, () -> app.getFinishTime() > 0);
    assertEquals("TEZ", app.getApplicationType());
    assertEquals("root.warehouse.tina", app.getQueue());
    assertEquals(FinalApplicationStatus.SUCCEEDED, app.getFinalApplicationStatus());
    assertEquals("attempts", 1, app.getAppAttempts().size());
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    int granted = CLUSTER.applications().allocated(id);
    assertTrue("containers: " + granted, granted > 1);
  }
}
