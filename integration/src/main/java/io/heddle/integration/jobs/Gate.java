package io.heddle.integration.jobs;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.TaskInputOutputContext;
import org.apache.hadoop.mapreduce.TaskType;

/**
 * Holds the maps or the reduces of a job, so that a test can act in the middle of the job on a
 * machine of any speed. Each attempt draws the next number when it starts, and waits until the test
 * lets that number pass. Numbers follow the order of starts, not of tasks: otherwise waiting tasks
 * could fill the cluster while those that may pass get no container.
 *
 * <p>Numbers and permits are empty files in HDFS.
 */
public final class Gate {
  private static final String FOLDER = "heddle.jobs.gate.folder";
  private static final String REDUCES_FOLDER = "heddle.jobs.gate.reduces-folder";
  private static final String ALL = "all";
  private static final String DRAWN = "drawn";
  private static final String LET = "let";

  /** A task looks again after an eighth of its wait: a test holds many tasks, some for minutes. */
  private static final int WAIT_PART = 8;

  private static final long POLL_MIN_MS = 250;
  private static final long POLL_MAX_MS = 2000;

  /** Beyond every test's own limit: a task that gave up earlier would free its slot in the test. */
  private static final int WAIT_MAX_MINUTES = 60;

  private final FileSystem fs;
  private final Path folder;

  /** Makes a closed gate with its files in this folder. */
  public Gate(FileSystem fs, Path folder) {
    this.fs = fs;
    this.folder = folder;
  }

  /** Puts the gate before the maps of jobs with this configuration. */
  public void guard(Configuration conf) {
    conf.set(FOLDER, folder.toString());
  }

  /** Puts the gate before the reduces: between their shuffle and their work. */
  public void guardReduces(Configuration conf) {
    conf.set(REDUCES_FOLDER, folder.toString());
  }

  /** Lets this many attempts pass in all, including those of earlier calls. */
  public void let(int attempts) throws IOException {
    for (int number = 0; number < attempts; number++) {
      fs.create(permit(folder, String.valueOf(number)), true).close();
    }
  }

  /** Lets all attempts pass. */
  public void letAll() throws IOException {
    fs.create(permit(folder, ALL), true).close();
  }

  /** Returns how many attempts have started, those that passed included. */
  public int started() throws IOException {
    return names(fs, new Path(folder, DRAWN)).size();
  }

  private static Path permit(Path folder, String name) {
    return new Path(new Path(folder, LET), name);
  }

  /** Waits until this task may pass; returns at once if the job has no gate for its kind. */
  static void pass(TaskInputOutputContext<?, ?, ?, ?> context)
      throws IOException, InterruptedException {
    Configuration conf = context.getConfiguration();
    boolean map = context.getTaskAttemptID().getTaskType() == TaskType.MAP;
    String guarded = conf.get(map ? FOLDER : REDUCES_FOLDER);
    if (guarded == null) {
      return;
    }
    Path folder = new Path(guarded);
    FileSystem fs = folder.getFileSystem(conf);
    String mine = String.valueOf(draw(fs, folder));
    long startNanos = System.nanoTime();
    while (!isLet(fs, folder, mine)) {
      long waitedMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
      if (waitedMs > TimeUnit.MINUTES.toMillis(WAIT_MAX_MINUTES)) {
        throw new IOException(
            mine + " was not let in " + folder + " within " + WAIT_MAX_MINUTES + " minutes");
      }
      context.progress();
      Thread.sleep(Math.max(POLL_MIN_MS, Math.min(POLL_MAX_MS, waitedMs / WAIT_PART)));
    }
  }

  /** One call to the NameNode, which has many tasks to answer. */
  private static boolean isLet(FileSystem fs, Path folder, String number) throws IOException {
    Set<String> let = names(fs, new Path(folder, LET));
    return let.contains(number) || let.contains(ALL);
  }

  /** Returns the names of the files in a folder, none before it is made. */
  private static Set<String> names(FileSystem fs, Path folder) throws IOException {
    try {
      return Arrays.stream(fs.listStatus(folder))
          .map(file -> file.getPath().getName())
          .collect(Collectors.toSet());
    } catch (FileNotFoundException e) {
      return Collections.emptySet();
    }
  }

  /** Draws the next number: HDFS lets only one of several creators of a file succeed. */
  private static int draw(FileSystem fs, Path folder) throws IOException {
    // Those before are taken.
    for (int number = names(fs, new Path(folder, DRAWN)).size(); ; number++) {
      Path drawn = new Path(new Path(folder, DRAWN), String.valueOf(number));
      try {
        fs.create(drawn, false).close();
        return number;
      } catch (IOException e) {
        // HDFS throws one of several exceptions if another attempt made the file first.
        if (!fs.exists(drawn)) {
          throw e;
        }
      }
    }
  }
}
