/*
 * The cluster that the tests of one class share, and checks after each of them: Heddle decided, and
 * logged no warning that the test did not provoke. At the end, jobs have left nothing behind.
 */
package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.JobClient;
import io.heddle.yarn.HeddleScheduler;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.rules.ExternalResource;
import org.junit.rules.TestRule;
import org.junit.rules.Verifier;

/** Use it as a class rule, and {@link #afterEach} as a rule. */
final class ClusterRule extends ExternalResource {
  /** Bounds hanging: the slowest job takes five minutes beside six busy loops on two cores. */
  static final int JOB_SECONDS = 600;

  private final MiniCluster.Builder builder;
  private MiniCluster cluster;
  private int warningsSeen;
  private long rebuildsSeen;
  private int rebuildsExpected;

  ClusterRule(MiniCluster.Builder builder) {
    this.builder = builder;
  }

  /** For a test that starts and stops its cluster itself. */
  static ClusterRule of(MiniCluster cluster) {
    ClusterRule rule = new ClusterRule(null);
    rule.cluster = cluster;
    return rule;
  }

  @Override
  protected void before() throws Exception {
    cluster = builder.start();
  }

  @Override
  protected void after() {
    try {
      awaitIdle();
    } catch (Exception e) {
      throw new AssertionError(e);
    } finally {
      cluster.close();
    }
  }

  MiniCluster cluster() {
    return cluster;
  }

  Applications applications() {
    return new Applications(cluster);
  }

  Configuration configuration() {
    return cluster.configuration();
  }

  FileSystem fileSystem() {
    return cluster.fileSystem();
  }

  /** Expects the running test to make Heddle lose its engine this often. */
  void expectRebuilds(int count) {
    rebuildsExpected = count;
  }

  /** Returns Heddle, the active ResourceManager's scheduler; fails if that is another. */
  HeddleScheduler heddle() {
    assertEquals(MiniCluster.HEDDLE, cluster.scheduler().getClass().getName());
    return (HeddleScheduler) cluster.scheduler();
  }

  /** Returns false if the tests run against another scheduler, to test themselves. */
  static boolean isHeddle() {
    return System.getProperty(MiniCluster.SCHEDULER_PROPERTY) == null;
  }

  /** Returns Heddle's warnings and errors since the end of the previous test. */
  private List<String> warnings() {
    List<String> all = cluster.log().heddleWarnings();
    return all.subList(warningsSeen, all.size());
  }

  /** Checks each test that passed. */
  TestRule afterEach() {
    return new Verifier() {
      @Override
      protected void verify() throws Throwable {
        if (isHeddle()) {
          checkHeddle();
        }
      }
    };
  }

  private void checkHeddle() throws Exception {
    HeddleScheduler heddle = heddle();
    assertTrue("Heddle granted nothing", heddle.inspection().committedGrants() > 0);
    assertEquals("events that Heddle failed to handle: " + warnings(), 0,
        heddle.inspection().failures());
    assertEquals("rebuilds of the engine", rebuildsSeen + rebuildsExpected,
        heddle.inspection().engineRebuilds());
    // A container may be in one set of books for a moment; a lasting difference is a fault.
    Await.until(
        "the engine's books equal the ResourceManager's",
        Await.SECONDS,
        () -> heddle.inspection().differences() == null,
        heddle.inspection()::differences);
    List<String> unexpected =
        warnings().stream()
            .filter(warning -> rebuildsExpected == 0 || !warning.contains("engine was"))
            .collect(Collectors.toList());
    rebuildsSeen = heddle.inspection().engineRebuilds();
    rebuildsExpected = 0;
    warningsSeen = cluster.log().heddleWarnings().size();
    assertTrue("Heddle warned: " + unexpected, unexpected.isEmpty());
  }

  /** Waits until all resources are free: ApplicationMasters outlive their job by seconds. */
  void awaitIdle() throws Exception {
    Await.until(
        "all resources are free again",
        Await.SECONDS,
        () -> applications().used().getMemorySize() == 0,
        () -> applications().used().toString());
  }

  /** Changes a node's size, as an operator does. */
  void resize(String host, int memoryMb, int vcores) throws Exception {
    NodeId id = cluster.resourceManager().getRMContext().getRMNodes().keySet().stream()
        .filter(node -> node.getHost().equals(host)).findFirst()
        .orElseThrow(() -> new AssertionError("no node on " + host));
    String[] command = {
        "-updateNodeResource", id.toString(), String.valueOf(memoryMb), String.valueOf(vcores)};
    assertEquals(0, new RMAdminCLI(configuration()).run(command));
  }

  /** Waits for the job; fails with its logs unless it succeeded. */
  void assertSucceeds(Job job) throws Exception {
    JobStatus.State state;
    try {
      state = JobClient.await(job, JOB_SECONDS);
    } catch (AssertionError e) {
      throw new AssertionError(e.getMessage() + "\n" + logs(job), e);
    }
    if (state != JobStatus.State.SUCCEEDED) {
      throw new AssertionError(JobClient.describe(job) + "\n" + logs(job));
    }
  }

  private String logs(Job job) throws Exception {
    ApplicationId id = JobClient.applicationId(job.getJobID());
    return ContainerLogs.tail(cluster.workFolder(), id) + "Heddle warned: " + warnings();
  }

  /** Returns a path for each name: tests of one class share one HDFS. */
  static Path path(String name) {
    return new Path("/data/" + name);
  }
}
