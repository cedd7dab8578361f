package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * A small cluster of 8 GB without any configuration, and containers of 1 GB: eight users submit a
 * job each at once. All of them end, though their ApplicationMasters alone would fill the cluster.
 * Newest Hadoop only: nothing here depends on the version.
 */
public class FirstDayTest {
  private static final int USERS = 8;
  private static final int CONTAINER_MB = 1024;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("first-day")
              .set("yarn.scheduler.minimum-allocation-mb", Integer.toString(CONTAINER_MB)));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void jobsOfEightUsersAtOnceAllEnd() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("first-day/in"), 2, 50, 7);
    List<Job> jobs = new ArrayList<>();
    for (int user = 0; user < USERS; user++) {
      Configuration conf = CLUSTER.configuration();
      conf.setInt(MRJobConfig.MR_AM_VMEM_MB, CONTAINER_MB);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, CONTAINER_MB);
      conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, CONTAINER_MB);
      String name = "user" + user;
      jobs.add(JobClient.submit(
          name, () -> TextJobs.wordCount(conf, name, corpus.folder(), output(name), 1)));
    }
    for (int user = 0; user < USERS; user++) {
      CLUSTER.assertSucceeds(jobs.get(user));
      assertEquals(
          corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output("user" + user)));
    }
  }

  private static Path output(String user) {
    return ClusterRule.path("first-day/out-" + user);
  }
}
