package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.BulkAsk;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.ShellApplication;
import io.heddle.integration.jobs.TextJobs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Several users and queues at once, a job that is killed among others, and an application that is
 * not MapReduce. Does not check how fair the shares are: the simulator's tests do. Newest Hadoop
 * only: MapReduceTest runs what depends on the version.
 */
public class TenantsTest {
  private static final String CONFIGURATION =
      "{\"policy\": {\"share\": \"fair\", \"order\": \"fifo\", \"place\": \"delay\"},"
          + " \"queues\": ["
          + "   {\"path\": \"root.ads\", \"weight\": 2.0},"
          + "   {\"path\": \"root.science\", \"min_share\": {\"memory-mb\": 1024}}]}";

  /** As many containers of a task's smallest size as the cluster has room for. */
  private static final int ROOM = 16;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("tenants")
              .engineConfiguration(CONFIGURATION)
              .set("heddle.audit.interval-ms", "500"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void severalUsersAndQueuesAtOnce() throws Exception {
    Corpus corpus =
        Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("tenants/in"), 3, 300, 11);
    // Two configured queues, two users of one of them, and a user's own queue.
    String[][] owners = {
      {"alice", "ads"}, {"bob", "science"}, {"carol", "science"}, {"dave", "default"},
    };
    String[] queues = {"root.ads", "root.science", "root.science", "root.dave"};
    List<Job> jobs = new ArrayList<>();
    for (String[] owner : owners) {
      jobs.add(submitWordCount(corpus, owner[0], owner[1]));
    }
    for (int i = 0; i < jobs.size(); i++) {
      CLUSTER.assertSucceeds(jobs.get(i));
      assertEquals(
          corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output(owners[i][0])));
      ApplicationId id = JobClient.applicationId(jobs.get(i).getJobID());
      assertEquals(owners[i][0], CLUSTER.applications().find(id).getUser());
      if (ClusterRule.isHeddle()) {
        assertEquals(queues[i], CLUSTER.applications().find(id).getQueue());
      }
    }
  }

  /** The audit compares its asks meanwhile; the rule {@link #afterEach} counts lost engines. */
  @Test
  public void anAskForMillionsOfContainersLosesNoEngine() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("bulk/in"), 1, 50, 14);
    try (BulkAsk bulk = new BulkAsk(CLUSTER.configuration(), "mallory", "default")) {
      int granted = 0;
      for (int count : new int[] {2_000_000, Integer.MAX_VALUE}) {
        bulk.ask(Resource.newInstance(512, 1), count);
        int enough = granted + 2 * ROOM;
        Await.until("grants of " + count, Await.SECONDS, () -> bulk.turnOver() >= enough);
        Job job = submitWordCount(corpus, "user" + count, "default");
        Await.until(
            "the other user's job ends", ClusterRule.JOB_SECONDS,
            () -> {
              bulk.turnOver();
              return job.isComplete();
            });
        CLUSTER.assertSucceeds(job);
        granted = bulk.turnOver();
      }
    }
  }

  private static Job submitWordCount(Corpus corpus, String user, String queue) throws Exception {
    Configuration conf = CLUSTER.configuration();
    if (ClusterRule.isHeddle()) {
      conf.set("mapreduce.job.queuename", queue);
    }
    return JobClient.submit(
        user, () -> TextJobs.wordCount(conf, user + "'s", corpus.folder(), output(user), 1));
  }

  private static Path output(String user) {
    return ClusterRule.path("tenants/out-" + user);
  }

  /** Kills a job that holds the whole cluster and would for minutes. */
  @Test
  public void killedJobGivesItsResourcesToTheOthers() throws Exception {
    Corpus corpus =
        Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("killed/in"), 12, 10, 12);
    Corpus small = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("survivor/in"), 2, 50, 13);
    Configuration slow = CLUSTER.configuration();
    slow.setInt(TextJobs.MAP_PAUSE_MS, 600_000);
    slow.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
    Path nowhere = ClusterRule.path("killed/out");
    Job hog =
        JobClient.submit(
            "erin", () -> TextJobs.upperCase(slow, "hog", corpus.folder(), nowhere));
    Applications applications = CLUSTER.applications();
    ApplicationId hogId = JobClient.applicationId(hog.getJobID());
    // It asks for 12 maps, and the cluster has room for seven beside its master. Another job's
    // master fits into what is left; its tasks must wait.
    Await.until(
        "the hog has its master and seven maps", Await.SECONDS,
        () -> applications.containers(hogId) >= 8);
    if (ClusterRule.isHeddle()) {
      // What `yarn application -status` prints.
      Await.until(
          "the hog says why it gets no more", Await.SECONDS,
          () -> diagnostics(hogId).startsWith("waits: "));
    }
    Configuration conf = CLUSTER.configuration();
    Path output = ClusterRule.path("survivor/out");
    Job survivor =
        JobClient.submit(
            "frank", () -> TextJobs.wordCount(conf, "survivor", small.folder(), output, 1));

    hog.killJob();

    assertEquals(JobStatus.State.KILLED, JobClient.await(hog, ClusterRule.JOB_SECONDS));
    CLUSTER.assertSucceeds(survivor);
    assertEquals(small.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    Await.until(
        "the killed job holds nothing", Await.SECONDS, () -> applications.containers(hogId) == 0);
    CLUSTER.awaitIdle();
    assertFalse(diagnostics(hogId), diagnostics(hogId).contains("waits: "));
  }

  private static String diagnostics(ApplicationId id) throws Exception {
    try (YarnClient yarn = YarnClient.createYarnClient()) {
      yarn.init(CLUSTER.configuration());
      yarn.start();
      return yarn.getApplicationReport(id).getDiagnostics();
    }
  }

  /**
   * Runs an application other than MapReduce: strange priorities, sizes of its own, required hosts.
   */
  @Test
  public void opaqueApplication() throws Exception {
    String host = Topology.HOSTS.get(2);
    Resource small = Resource.newInstance(256, 1);
    Resource large = Resource.newInstance(1024, 2);
    List<ContainerRequest> requests = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      requests.add(new ContainerRequest(small, null, null, Priority.newInstance(3)));
    }
    requests.add(new ContainerRequest(large, null, null, Priority.newInstance(77)));
    for (int i = 0; i < 2; i++) {
      requests.add(
          new ContainerRequest(
              small, new String[] {host}, null, Priority.newInstance(42), false));
    }
    ShellApplication.Result result =
        new ShellApplication(CLUSTER.configuration(), "grace", "default").run(requests, "sleep 1");

    assertEquals(requests.size(), result.containers().size());
    for (ContainerStatus status : result.statuses()) {
      assertEquals(status.toString(), 0, status.getExitStatus());
    }
    long strict = 0;
    for (Container container : result.containers()) {
      if (container.getPriority().getPriority() == 42) {
        assertEquals(host, container.getNodeId().getHost());
        strict++;
      }
      long wanted = container.getPriority().getPriority() == 77 ? 1024 : 256;
      assertEquals(wanted, container.getResource().getMemorySize());
    }
    assertEquals(2, strict);
    assertTrue(Arrays.toString(CLUSTER.applications().localities(result.id())),
        CLUSTER.applications().localities(result.id())[0] >= 2);
  }
}
