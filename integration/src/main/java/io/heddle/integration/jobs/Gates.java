package io.heddle.integration.jobs;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskInputOutputContext;

/**
 * Holds the maps of a job back until a test lets them go, so that "in the middle of a job" is no
 * matter of luck or of the machine's speed. Map i waits for gate i modulo the number of gates; a
 * gate is a file in HDFS.
 */
public final class Gates {
  private static final String FOLDER = "heddle.jobs.gates.folder";
  private static final String COUNT = "heddle.jobs.gates.count";
  private static final long POLL_MS = 200;
  private static final long WAIT_MAX_NANOS = TimeUnit.MINUTES.toNanos(5);

  private final FileSystem fs;
  private final Path folder;

  /** Gates in this folder, all of them closed. */
  public Gates(FileSystem fs, Path folder) {
    this.fs = fs;
    this.folder = folder;
  }

  /** Puts so many gates before the maps of jobs with this configuration. */
  public void guard(Configuration conf, int count) {
    conf.set(FOLDER, folder.toString());
    conf.setInt(COUNT, count);
  }

  /** Lets the maps of one gate go, those that come later too. */
  public void open(int gate) throws IOException {
    fs.create(new Path(folder, String.valueOf(gate)), true).close();
  }

  /** Called by a map: returns when its gate is open, at once if there is none. */
  static void pass(TaskInputOutputContext<?, ?, ?, ?> context)
      throws IOException, InterruptedException {
    Configuration conf = context.getConfiguration();
    String folder = conf.get(FOLDER);
    if (folder == null) {
      return;
    }
    int gate = context.getTaskAttemptID().getTaskID().getId() % conf.getInt(COUNT, 1);
    Path file = new Path(folder, String.valueOf(gate));
    long startNanos = System.nanoTime();
    while (!file.getFileSystem(conf).exists(file)) {
      if (System.nanoTime() - startNanos > WAIT_MAX_NANOS) {
        throw new IOException("nobody opened " + file);
      }
      context.progress();
      Thread.sleep(POLL_MS);
    }
  }
}
