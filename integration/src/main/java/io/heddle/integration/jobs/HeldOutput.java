package io.heddle.integration.jobs;

import java.io.IOException;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;

/** Text output whose tasks stay in their commit until the test makes a file. */
public class HeldOutput extends TextOutputFormat<Text, NullWritable> {
  /** The file, as the job's configuration names it. */
  public static final String RELEASE = "heddle.jobs.commit.release";

  private static final long POLL_MS = 200;

  @Override
  public synchronized OutputCommitter getOutputCommitter(TaskAttemptContext context)
      throws IOException {
    return new FileOutputCommitter(getOutputPath(context), context) {
      @Override
      public void commitTask(TaskAttemptContext attempt) throws IOException {
        Path release = new Path(attempt.getConfiguration().get(RELEASE));
        try {
          while (!release.getFileSystem(attempt.getConfiguration()).exists(release)) {
            attempt.progress();
            Thread.sleep(POLL_MS);
          }
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
        super.commitTask(attempt);
      }
    };
  }
}
