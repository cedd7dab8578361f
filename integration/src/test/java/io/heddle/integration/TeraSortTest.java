package io.heddle.integration;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.examples.terasort.TeraSort;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Jobs of other shapes than MapReduceTest's, with their output verified: TeraSort's three, and one
 * without reduces. Newest Hadoop only: MapReduceTest runs what depends on the version.
 */
public class TeraSortTest {
  @ClassRule
  public static final ClusterRule CLUSTER = new ClusterRule(MiniCluster.named("tera-sort"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void teraSort() throws Exception {
    Path generated = ClusterRule.path("tera/generated");
    Path sorted = ClusterRule.path("tera/sorted");
    Path report = ClusterRule.path("tera/report");
    Configuration conf = CLUSTER.configuration();
    conf.setInt("mapreduce.job.maps", 3);
    run(conf, new TeraGen(), "20000", generated.toString());
    conf = CLUSTER.configuration();
    conf.setInt("mapreduce.job.reduces", 2);
    run(conf, new TeraSort(), generated.toString(), sorted.toString());
    // TeraValidate's exit code is 0 even after it found disorder; its report says it. A clean
    // report has only the checksum of all rows, which the same job also finds in the unsorted rows.
    run(CLUSTER.configuration(), new TeraValidate(), sorted.toString(), report.toString());
    String[] lines = JobOutput.lines(CLUSTER.fileSystem(), report).toArray(new String[0]);
    assertEquals(String.join("\n", lines), 1, lines.length);
    assertTrue(lines[0], lines[0].startsWith("checksum\t"));
    assertArrayEquals(
        TeraRows.sorted(CLUSTER.fileSystem(), generated),
        TeraRows.inOrder(CLUSTER.fileSystem(), sorted));
  }

  private static void run(Configuration conf, Tool tool, String... arguments) throws Exception {
    assertEquals(tool.getClass().getName(), 0, ToolRunner.run(conf, tool, arguments));
  }

  @Test
  public void mapOnlyJob() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("maps/in"), 2, 200, 2);
    Path output = ClusterRule.path("maps/out");
    Configuration conf = CLUSTER.configuration();
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.upperCase(conf, "upper case", corpus.folder(), output));
    CLUSTER.assertSucceeds(job);
    String[] expected =
        corpus.lines().stream()
            .map(line -> line.toUpperCase(Locale.ROOT))
            .sorted()
            .toArray(String[]::new);
    String[] actual =
        JobOutput.lines(CLUSTER.fileSystem(), output).stream().sorted().toArray(String[]::new);
    assertArrayEquals(expected, actual);
    Counter reduces = job.getCounters().findCounter(JobCounter.TOTAL_LAUNCHED_REDUCES);
    assertEquals(0, reduces.getValue());
  }
}
