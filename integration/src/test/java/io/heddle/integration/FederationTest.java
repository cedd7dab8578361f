package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.Federation;
import io.heddle.integration.cluster.SubCluster;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;
import org.junit.rules.Verifier;

/**
 * YARN Federation: applications that the Router accepts, with containers in two sub-clusters, each
 * with Heddle. Each sub-cluster has room for four small containers or two large ones, so no job
 * here fits into one. It runs with --all only, as it starts four daemons as processes and installs
 * PySpark. Newest Hadoop only, and on no older one even then: 3.3.6 has no federation without
 * standbys, and 3.4.3 was not tried.
 */
public class FederationTest {
  private static final String SPLIT = "etl";
  private static final String BROADCAST = "analytics";
  private static final String CONFIGURATION =
      "{\"policy\": {\"share\": \"fair\", \"order\": \"fifo\", \"place\": \"delay\"},"
          + " \"queues\": [{\"path\": \"root." + SPLIT + "\"},"
          + "   {\"path\": \"root." + BROADCAST + "\"}]}";

  /** What one sub-cluster has room for. */
  private static final int SMALL = 4;

  private static final int LARGE_MB = 1024;
  private static final int MAPS = 12;
  private static final int EXECUTORS = 3;

  private static Federation federation;
  private static ClusterRule home;

  @Rule public final TestRule afterEach = home.afterEach();

  /** Starts all of it. */
  @BeforeClass
  public static void start() throws Exception {
    federation = Federation.start(CONFIGURATION, SPLIT, BROADCAST);
    home = ClusterRule.of(federation.home());
  }

  /** Stops all of it. */
  @AfterClass
  public static void stop() {
    if (federation != null) {
      federation.close();
    }
  }

  /** After a test that passed: both sub-clusters are free, and the second one's books right. */
  @Rule public final Verifier nothingIsLeftBehind = new Verifier() {
    @Override
    protected void verify() throws Throwable {
      assertFree();
    }
  };

  private static void assertFree() throws Exception {
    home.awaitIdle();
    SubCluster second = federation.second();
    Await.until("the second sub-cluster is free", Await.SECONDS,
        () -> second.room()[0] == 0, federation::describe);
    // A container may be in one set of books for a moment; all else stays.
    Await.until("Heddle's books in the second sub-cluster are right", Await.SECONDS,
        () -> second.faults().isEmpty(), second::faults);
  }

  /** The proxy sends each sub-cluster its part of the asks. */
  @Test
  public void aMapReduceJobRunsInBothSubClusters() throws Exception {
    GatedJob job = job("both");
    // The master takes the place of one.
    await(job.id(), SMALL - 1, SMALL);
    assertUnmanaged(job.id(), SPLIT);

    job.finish();
    job.assertNothingRanTwice();
    assertSucceeded(job.id());
    Set<String> hosts = new TreeSet<>();
    for (TaskCompletionEvent event : job.job().getTaskCompletionEvents(0, 2 * MAPS)) {
      hosts.add(event.getTaskTrackerHttp().replaceAll(".*//|:.*", ""));
    }
    assertTrue(hosts.toString(), hosts.contains(Federation.homeHost()));
    assertTrue(hosts.toString(), hosts.contains(Federation.secondHost()));
  }

  /** Hadoop tells only the home of a kill: in the other sub-cluster the application expires. */
  @Test
  public void aKilledJobEndsInBothSubClusters() throws Exception {
    GatedJob job = job("killed");
    await(job.id(), SMALL - 1, SMALL);
    long startNanos = System.nanoTime();
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(home.configuration());
      client.start();
      client.killApplication(job.id());
    }
    Await.until("it was killed at home", ClusterRule.JOB_SECONDS,
        () -> home.applications().find(job.id()).getState() == RMAppState.KILLED,
        () -> home.applications().describe(job.id()) + federation.describe());
    long homeMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    String there = federation.second().app(job.id()).status;
    long askedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    if (askedMs < Federation.EXPIRY_MS) {
      assertEquals(homeMs + " ms, " + askedMs + " ms", "RUNNING", there);
    } else {
      System.out.println("Too late to see it run on: killed at home after " + homeMs
          + " ms, " + there + " in the second sub-cluster after " + askedMs + " ms");
    }
    Await.until("it has expired there", ClusterRule.JOB_SECONDS,
        () -> "FAILED".equals(federation.second().app(job.id()).status),
        () -> federation.second().app(job.id()) + federation.describe());
  }

  private static GatedJob job(String name) throws Exception {
    return new GatedJob(
        home, "frida", name, MAPS, conf -> conf.set(MRJobConfig.QUEUE_NAME, SPLIT));
  }

  /** The proxy sends all asks to both; Spark takes what it needs and gives back the rest. */
  @Test
  public void anApplicationOfSparkRunsInBothSubClusters() throws Exception {
    SparkJob spark = new SparkJob(home, "sara", BROADCAST, EXECUTORS, LARGE_MB);
    // The driver takes the place of one.
    await(spark.id(), 1, EXECUTORS - 1);
    assertUnmanaged(spark.id(), BROADCAST);

    spark.finish();
    assertSucceeded(spark.id());
    assertEquals("attempts", 1, spark.app().getAppAttempts().size());
  }

  /** Waits until an application has this many containers in each, beside its master. */
  private static void await(ApplicationId id, int here, int there) throws Exception {
    Await.until(here + " containers run here and " + there + " there", ClusterRule.JOB_SECONDS,
        () -> home.applications().taskHosts(id).size() == here
            && federation.second().app(id).hosts.size() == there,
        () -> "here " + home.applications().describe(id) + ", there "
            + federation.second().app(id) + federation.describe());
  }

  private static void assertUnmanaged(ApplicationId id, String name) {
    String queue = "root." + name;
    SubCluster.App there = federation.second().app(id);
    assertTrue(there.toString(), there.unmanaged);
    assertEquals(queue, there.queue);
    assertEquals(queue, home.applications().find(id).getQueue());
    assertEquals(Federation.homeHost(), home.applications().masterHost(id));
    there.hosts.forEach(host -> assertEquals(Federation.secondHost(), host));
  }

  /** Waits for the proxy to say the end there, too. */
  private static void assertSucceeded(ApplicationId id) throws Exception {
    Await.until("the application has succeeded there", ClusterRule.JOB_SECONDS,
        () -> "SUCCEEDED".equals(federation.second().app(id).status),
        () -> federation.second().app(id) + federation.describe());
  }
}
