/*
 * Submits jobs as any user and waits for them; explains a failure. Uses RPC, as a client on another
 * machine would.
 */
package io.heddle.integration.jobs;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.JobStatus;
import org.apache.hadoop.mapreduce.TypeConverter;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** Submits and awaits jobs. */
public final class JobClient {
  private static final int POLL_MS = 100;

  private JobClient() {}

  /** Makes a job; called as its owner. */
  public interface Maker {
    /** Returns the job, not yet submitted. */
    Job make() throws IOException;
  }

  /**
   * Makes and submits a job as this user, who needs no account anywhere. A job belongs to the user
   * who made it, so one made elsewhere would be submitted as this JVM's user.
   */
  public static Job submit(String user, Maker maker) throws IOException, InterruptedException {
    return UserGroupInformation.createRemoteUser(user)
        .doAs(
            (PrivilegedExceptionAction<Job>)
                () -> {
                  Job job = maker.make();
                  job.submit();
                  return job;
                });
  }

  /** Returns the YARN application of a submitted job. */
  public static ApplicationId applicationId(JobID job) {
    return TypeConverter.toYarn(job).getAppId();
  }

  /**
   * Waits until the job has ended in any way.
   *
   * @param seconds a bound on hanging, not a measure of speed
   * @throws AssertionError if it has not ended by then
   */
  public static JobStatus.State await(Job job, int seconds)
      throws IOException, InterruptedException {
    long endNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (!job.isComplete()) {
      if (System.nanoTime() - endNanos > 0) {
        throw new AssertionError("not over within " + seconds + " s: " + describe(job));
      }
      Thread.sleep(POLL_MS);
    }
    return job.getJobState();
  }

  /** Returns the job's name, id and progress, and the reason of a failure. */
  public static String describe(Job job) throws IOException, InterruptedException {
    JobStatus status = job.getStatus();
    return String.format(
        "%s (%s): %s, maps %.0f %%, reduces %.0f %% %s",
        job.getJobName(),
        job.getJobID(),
        status.getState(),
        100 * status.getMapProgress(),
        100 * status.getReduceProgress(),
        status.getFailureInfo());
  }
}
