package io.heddle.integration;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import java.io.File;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.examples.terasort.TeraGen;
import org.apache.hadoop.examples.terasort.TeraSort;
import org.apache.hadoop.examples.terasort.TeraValidate;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.junit.Assume;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Real MapReduce jobs, one after the other, with their output verified. TenantsTest has many users
 * at once; FaultsTest and FailoverTest have faults of the cluster and the engine.
 */
public class MapReduceTest {
  @ClassRule
  public static final ClusterRule CLUSTER = new ClusterRule(MiniCluster.named("map-reduce"));

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
  public void wordCountWithSeveralReducers() throws Exception {
    Corpus corpus =
        Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("words/in"), 4, 500, 1);
    Path output = ClusterRule.path("words/out");
    Configuration conf = CLUSTER.configuration();
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.wordCount(conf, "word count", corpus.folder(), output, 3));
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    assertEquals(4, counter(job, JobCounter.TOTAL_LAUNCHED_MAPS));
    assertEquals(3, counter(job, JobCounter.TOTAL_LAUNCHED_REDUCES));
  }

  @Test
  public void mapOnlyJob() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("maps/in"), 4, 200, 2);
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
    assertEquals(0, counter(job, JobCounter.TOTAL_LAUNCHED_REDUCES));
  }

  /** A map that failed comes back as a request without a host, at MapReduce's priority 5. */
  @Test
  public void jobWhoseTasksFailAndRetry() throws Exception {
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("flaky/in"), 4, 200, 3);
    Path output = ClusterRule.path("flaky/out");
    Configuration conf = CLUSTER.configuration();
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.flakyWordCount(conf, "flaky", corpus.folder(), output, 1));
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
    // Maps 0 and 2 fail once each.
    assertEquals(2, counter(job, JobCounter.NUM_FAILED_MAPS));
    assertEquals(6, counter(job, JobCounter.TOTAL_LAUNCHED_MAPS));
    long read = job.getCounters().findCounter(TaskCounter.MAP_INPUT_RECORDS).getValue();
    assertEquals(corpus.lines().size(), read);
  }

  /** With the shipped template only: MapReduce's own client, a real AM, the engine. */
  @Test
  public void aJobTellsTheEngineOfItself() throws Exception {
    Assume.assumeTrue(ClusterRule.isHeddle());
    Corpus corpus = Corpus.write(CLUSTER.fileSystem(), ClusterRule.path("hints/in"), 4, 200, 4);
    Path output = ClusterRule.path("hints/out");
    Configuration conf = CLUSTER.configuration();
    File folder = new File("").getAbsoluteFile();
    while (!new File(folder, "conf/mapred-site.xml").isFile()) {
      folder = folder.getParentFile();
    }
    conf.addResource(new File(folder, "conf/mapred-site.xml").toURI().toURL());
    conf.set("heddle.deadline", "+90m");
    conf.set("heddle.shuffle-ratio", "0.35");
    Job job =
        JobClient.submit(
            "alice", () -> TextJobs.wordCount(conf, "hints 1", corpus.folder(), output, 3));
    String told = CLUSTER.heddle().describe(JobClient.applicationId(job.getJobID()));
    assertNotNull("it has ended before it was asked about", told);
    JsonNode hints = new ObjectMapper().readTree(told).get("hints");
    // MapReduce's default is two; the client has counted the splits.
    assertEquals(told, 4, hints.get("maps").asInt());
    assertEquals(told, 3, hints.get("reduces").asInt());
    assertEquals(told, 350, hints.get("shuffle_per_mille").asInt());
    long deadlineMs = hints.get("deadline_ms").asLong();
    assertEquals(told, Time.monotonicNow() + 90 * 60_000, deadlineMs, 60_000);
    assertTrue(told, hints.get("input_bytes").isNull() && !hints.get("signature").isNull());
    CLUSTER.assertSucceeds(job);
    assertEquals(corpus.counts(), JobOutput.counts(CLUSTER.fileSystem(), output));
  }

  private static long counter(Job job, JobCounter counter) throws Exception {
    return job.getCounters().findCounter(counter).getValue();
  }
}
