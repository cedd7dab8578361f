/*
 * Runs small jobs one after the other, and takes their times from YARN's own records.
 */
package io.heddle.integration.grants;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.SparkSubmit;
import io.heddle.integration.jobs.TextJobs;
import io.heddle.integration.jobs.TezJob;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.client.api.YarnClient;

/** Jobs on one cluster, in one queue, whose containers all have one size. */
final class SmallJobs implements AutoCloseable {
  private static final int MAPS = 4;
  private static final int LINES_PER_MAP = 200;
  private static final int EXECUTORS = 2;
  /** See {@link io.heddle.integration.cluster.Daemons}. */
  private static final String USER = System.getProperty("user.name");

  private final Site site;
  private final String queue;
  private final int containerMb;
  private final Corpus input;
  private final YarnClient yarn = YarnClient.createYarnClient();

  SmallJobs(Site site, String queue, int containerMb) throws IOException {
    this.site = site;
    this.queue = queue;
    this.containerMb = containerMb;
    input = Corpus.write(site.files, new Path(site.root, "in"), MAPS, LINES_PER_MAP, 1);
    yarn.init(site.configuration());
    yarn.start();
  }

  /** The times of one job, in ms. */
  static final class Times {
    /** From its submission to its end. */
    final double turnAround;
    /** That of it in which it waited for a container. */
    final double waiting;

    private Times(double turnAround, double waiting) {
      this.turnAround = turnAround;
      this.waiting = waiting;
    }
  }

  /** Runs one job to its end; fails unless it succeeded. */
  Times run(Kind kind, String name) throws Exception {
    try (WaitMeter meter = new WaitMeter(() -> site.waits(USER))) {
      ApplicationReport ended = awaitEnd(submit(kind, new Path(site.root, "out-" + name)));
      return new Times(ended.getFinishTime() - ended.getStartTime(), meter.stop());
    }
  }

  private ApplicationId submit(Kind kind, Path output) throws Exception {
    switch (kind) {
      case MAPREDUCE:
        Job job = JobClient.submit(USER, () -> wordCount(output));
        return JobClient.applicationId(job.getJobID());
      case TEZ:
        return new TezJob(site.configuration(), site.workFolder, USER).in(queue, containerMb)
            .run(input.folder(), output);
      case SPARK:
        return new SparkSubmit(site.configuration(), site.workFolder, USER, queue, containerMb)
            .set("spark.executor.instances", EXECUTORS)
            .submit("spark_query.py");
      default:
        throw new IllegalArgumentException(kind.label);
    }
  }

  private Job wordCount(Path output) throws IOException {
    Configuration conf = site.configuration();
    conf.set(MRJobConfig.QUEUE_NAME, queue);
    for (String size : new String[] {
        MRJobConfig.MR_AM_VMEM_MB, MRJobConfig.MAP_MEMORY_MB, MRJobConfig.REDUCE_MEMORY_MB}) {
      conf.setInt(size, containerMb);
    }
    return TextJobs.wordCount(conf, output.getName(), input.folder(), output, 1);
  }

  private ApplicationReport awaitEnd(ApplicationId id) throws Exception {
    Await.until("the end of " + id, Await.SECONDS,
        () -> yarn.getApplicationReport(id).getFinishTime() > 0);
    ApplicationReport report = yarn.getApplicationReport(id);
    if (report.getFinalApplicationStatus() != FinalApplicationStatus.SUCCEEDED) {
      throw new IllegalStateException(id + " is " + report.getFinalApplicationStatus() + ": "
          + report.getDiagnostics() + "\n" + ContainerLogs.tail(site.workFolder, id));
    }
    return report;
  }

  @Override
  public void close() {
    yarn.stop();
  }
}
