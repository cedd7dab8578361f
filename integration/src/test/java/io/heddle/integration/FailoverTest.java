/*
 * Two ResourceManagers in one JVM, and the active one gives up in the middle of a job: to the other
 * and back, then by stopping for good. Running containers are kept, and no job is lost.
 */
package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotSame;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

public class FailoverTest {
  private static final int MAPS = 24;
  private static final int MAP_PAUSE_MS = 4000;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(MiniCluster.named("failover").highlyAvailable());

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  /**
   * One job through three changes of the active ResourceManager. The first two are orderly, so the
   * first one gets the lead back with a second scheduler in the same JVM; the third is its end.
   */
  @Test
  public void jobOutlivesItsResourceManagers() throws Exception {
    MiniCluster cluster = CLUSTER.cluster();
    Corpus corpus =
        Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("failover/in"), MAPS, 50, 31);
    Path output = ClusterRule.path("failover/out");
    Configuration conf = CLUSTER.configuration();
    conf.setInt(TextJobs.MAP_PAUSE_MS, MAP_PAUSE_MS);
    Job job =
        JobClient.submit(
            "ada", () -> TextJobs.wordCount(conf, "failover", corpus.folder(), output, 2));
    ApplicationId id = JobClient.applicationId(job.getJobID());
    awaitTasks(id);
    ResourceScheduler first = cluster.scheduler();

    cluster.failOver();
    awaitTasks(id);
    ResourceScheduler second = cluster.scheduler();
    assertNotSame(first, second);

    cluster.failOver();
    awaitTasks(id);
    assertNotSame("a ResourceManager that leads again has a new scheduler", first,
        cluster.scheduler());

    cluster.stopActiveAndFailOver();
    awaitTasks(id);
    assertFalse("the job was over before the last failover", job.isComplete());

    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    // Work-preserving: the ApplicationMaster went on, and no map ran twice.
    assertEquals(1, CLUSTER.applications().find(id).getAppAttempts().size());
    assertEquals(
        MAPS, job.getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue());
  }

  /** Waits until the active ResourceManager knows all nodes and running tasks of the job. */
  private static void awaitTasks(ApplicationId id) throws Exception {
    CLUSTER.cluster().awaitNodes(4);
    Applications applications = CLUSTER.applications();
    Await.until("tasks run", 120, () -> applications.taskHosts(id).size() >= 2);
  }
}
