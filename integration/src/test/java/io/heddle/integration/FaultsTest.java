/*
 * Faults in the middle of a job: a NodeManager is lost, another is stopped and comes back, the
 * engine panics. No job is lost. ResourceManager failover is in FailoverTest.
 */
package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Node;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

public class FaultsTest {
  /** More than the cluster runs at once, so that some are running and some are waiting. */
  private static final int MAPS = 18;

  private static final int MAP_PAUSE_MS = 4000;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("faults").engineConfiguration("{\"testing\": {\"faults\": true}}"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private Corpus corpus;
  private Path output;

  /** Submits a word count of many short maps, and returns once some of them run. */
  private Job startJob(String name, int seed) throws Exception {
    corpus =
        Corpus.write(CLUSTER.fileSystem(), ClusterRule.path(name + "/in"), MAPS, 50, seed);
    output = ClusterRule.path(name + "/out");
    Configuration conf = CLUSTER.configuration();
    conf.setInt(TextJobs.MAP_PAUSE_MS, MAP_PAUSE_MS);
    Job job =
        JobClient.submit(
            "ada", () -> TextJobs.wordCount(conf, name, corpus.folder(), output, 2));
    ApplicationId id = JobClient.applicationId(job.getJobID());
    Applications applications = CLUSTER.applications();
    Await.until("maps run", 120, () -> applications.taskHosts(id).size() >= 6);
    return job;
  }

  private void assertComplete(Job job) throws Exception {
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    // The ApplicationMaster was not harmed, so nothing was done twice that need not be.
    assertEquals(1, app(job).getAppAttempts().size());
  }

  private static RMApp app(Job job) {
    return CLUSTER.applications().find(JobClient.applicationId(job.getJobID()));
  }

  /** A node that runs tasks of this job but not its ApplicationMaster. */
  private static Node nodeWithTasksOnly(Job job) {
    ApplicationId id = JobClient.applicationId(job.getJobID());
    String master = CLUSTER.applications().masterHost(id);
    List<String> hosts = CLUSTER.applications().taskHosts(id);
    return CLUSTER.cluster().nodes().stream()
        .filter(node -> hosts.contains(node.host()) && !node.host().equals(master))
        .findFirst()
        .orElseThrow(() -> new AssertionError("tasks on " + hosts + ", master on " + master));
  }

  @Test
  public void nodeIsLostInMidJob() throws Exception {
    Job job = startJob("lost", 21);
    Node node = nodeWithTasksOnly(job);
    node.crash();
    CLUSTER.cluster().awaitNodes(3);
    assertFalse("the job outlived its node", job.isComplete());
    assertComplete(job);
    CLUSTER.cluster().restart(node);
    CLUSTER.cluster().awaitNodes(4);
  }

  @Test
  public void nodeIsStoppedAndComesBackInMidJob() throws Exception {
    Job job = startJob("stopped", 22);
    Node node = nodeWithTasksOnly(job);
    node.stop();
    CLUSTER.cluster().awaitNodes(3);
    CLUSTER.cluster().restart(node);
    CLUSTER.cluster().awaitNodes(4);
    assertFalse("the job outlived its node", job.isComplete());
    assertComplete(job);
  }

  @Test
  public void enginePanicsInMidJob() throws Exception {
    CLUSTER.provokes("rebuil");
    Job job = startJob("panic", 23);
    int held = CLUSTER.applications().containers(JobClient.applicationId(job.getJobID()));
    EngineFault.panic(CLUSTER.cluster().scheduler());
    Await.until(
        "Heddle says that it rebuilt its engine",
        60,
        () -> CLUSTER.warnings().stream().anyMatch(warning -> warning.contains("rebuil")));
    assertFalse("the job was over before the panic", job.isComplete());
    assertTrue("held before: " + held, held > 1);
    assertComplete(job);
    // And the rebuilt engine serves who comes later.
    Job next = startJob("after-panic", 24);
    assertComplete(next);
  }
}
