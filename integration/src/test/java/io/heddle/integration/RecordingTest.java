package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.JobOutput;
import io.heddle.integration.jobs.TextJobs;
import io.heddle.yarn.engine.Journal;
import io.heddle.yarn.recording.RecordingCapacityScheduler;
import io.heddle.yarn.recording.RecordingFairScheduler;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.junit.Test;

/**
 * MapReduce jobs under the stock schedulers with a journal have the right results, and {@code
 * heddle whatif} reads the same jobs from it: maps, reduces, and the ResourceManager's own times.
 * Newest Hadoop only: what depends on the version is in RecorderTest, in the shim's tests.
 */
public class RecordingTest {
  /** Between an application's end and the event that tells the scheduler, on a busy machine. */
  private static final double NEAR_S = 5;

  /** A job that ran, in the words of the prediction's table. */
  private static final class Ran {
    private final String row;
    private final double turnS;

    Ran(String row, double turnS) {
      this.row = row;
      this.turnS = turnS;
    }
  }

  @Test
  public void underTheFairScheduler() throws Exception {
    check("fair", RecordingFairScheduler.class);
  }

  @Test
  public void underTheCapacityScheduler() throws Exception {
    check("capacity", RecordingCapacityScheduler.class);
  }

  private static void check(String name, Class<? extends ResourceScheduler> recording)
      throws Exception {
    File path = new File(System.getProperty("java.io.tmpdir"), name + ".journal");
    List<Ran> recorded = run(name, recording, path);
    List<String> rows = predict(path);
    assertEquals(rows.toString(), recorded.size(), rows.size());
    for (int i = 0; i < rows.size(); i++) {
      String[] row = rows.get(i).split(",", -1);
      Ran ran = recorded.get(i);
      assertEquals(ran.row, String.join(",", row[2], row[3], row[4], row[5]));
      assertEquals(rows.get(i), ran.turnS, Double.parseDouble(row[7]), NEAR_S);
    }
  }

  /** Runs two jobs of two users, one after the other's submission. */
  private static List<Ran> run(
      String name, Class<? extends ResourceScheduler> scheduler, File journal) throws Exception {
    MiniCluster.Builder builder = MiniCluster.named("recording-" + name)
        .scheduler(scheduler.getName())
        .set("yarn.scheduler.fair.user-as-default-queue", "false")
        .set(Journal.PATH_PROPERTY, journal.getAbsolutePath());
    try (MiniCluster cluster = builder.start()) {
      ClusterRule rule = ClusterRule.of(cluster);
      Submitted first = new Submitted(rule, "alice", 2, 1);
      Submitted second = new Submitted(rule, "bob", 1, 1);
      List<Ran> ran = Arrays.asList(first.await(), second.await());
      rule.awaitIdle();
      return ran;
    }
  }

  /** A user's word count. */
  private static final class Submitted {
    private final ClusterRule rule;
    private final Corpus corpus;
    private final Path output;
    private final Job job;
    private final String row;

    Submitted(ClusterRule rule, String user, int maps, int reduces) throws Exception {
      this.rule = rule;
      corpus = Corpus.write(rule.fileSystem(), ClusterRule.path(user + "/in"), maps, 200, 5);
      output = ClusterRule.path(user + "/out");
      row = user + ",root.default," + maps + "," + reduces;
      Configuration conf = rule.configuration();
      job = JobClient.submit(
          user, () -> TextJobs.wordCount(conf, user, corpus.folder(), output, reduces));
    }

    Ran await() throws Exception {
      rule.assertSucceeds(job);
      assertEquals(corpus.counts(), JobOutput.counts(rule.fileSystem(), output));
      RMApp app = rule.cluster().resourceManager().getRMContext().getRMApps()
          .get(JobClient.applicationId(job.getJobID()));
      Await.until("the application has ended", Await.SECONDS,
          () -> app.getFinishTime() > 0, () -> app.getState().toString());
      return new Ran(row, (app.getFinishTime() - app.getSubmitTime()) / 1e3);
    }
  }

  /** Returns the rows of the prediction's table of jobs. */
  private static List<String> predict(File journal) throws Exception {
    String command = System.getenv("HEDDLE_COMMAND");
    assertNotNull("HEDDLE_COMMAND names the command line, as ./x test does", command);
    File folder = new File(journal.getPath() + "-prediction");
    File said = File.createTempFile("whatif", ".txt");
    Process process = new ProcessBuilder(command, "whatif", journal.getPath() + ".000001.000001",
        "--policies", "fifo,fair", "--out", folder.getPath())
        .redirectInput(new File("/dev/null")).redirectErrorStream(true).redirectOutput(said)
        .start();
    int code = process.waitFor();
    assertEquals(new String(Files.readAllBytes(said.toPath()), StandardCharsets.UTF_8), 0, code);
    List<String> rows = Files.readAllLines(new File(folder, "jobs.csv").toPath());
    return rows.subList(1, rows.size());
  }
}
