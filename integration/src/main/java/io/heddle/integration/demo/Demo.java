/*
 * ./x demo: runs real MapReduce jobs of some users on an embedded cluster under the chosen policy,
 * then the same jobs under the simplest policy, and prints a table that compares both. The exit
 * code says whether all jobs succeeded.
 */
package io.heddle.integration.demo;

import io.heddle.integration.cluster.ClusterLog;
import io.heddle.integration.cluster.MiniCluster;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.cli.ParseException;
import org.apache.hadoop.util.VersionInfo;

/** The demo's main class. */
public final class Demo {
  private static final int OK = 0;
  private static final int JOBS_FAILED = 1;
  private static final int WRONG_ARGUMENTS = 2;
  /** The engine's name of the key that --policy sets. */
  private static final String POLICY_KEY = "key `policy";

  private final DemoOptions options;

  private Demo(DemoOptions options) {
    this.options = options;
  }

  /** Runs the demo and ends the process. */
  public static void main(String[] arguments) {
    DemoOptions options;
    try {
      options = DemoOptions.parse(arguments);
    } catch (ParseException e) {
      System.err.println("demo: " + e.getMessage());
      System.exit(WRONG_ARGUMENTS);
      return;
    }
    if (options.help()) {
      DemoOptions.printHelp(new PrintWriter(System.out));
      System.exit(OK);
    }
    // Some of Hadoop's threads are no daemons and would keep the process alive after an error.
    System.exit(new Demo(options).run());
  }

  private int run() {
    ClusterLog.quiet();
    if (options.keep()) {
      System.setProperty(MiniCluster.KEEP_PROPERTY, "true");
    }
    Workload workload = options.workload();
    System.out.printf(
        "%s, on Hadoop %s: HDFS and YARN in this process, four nodes on two racks, room%n"
            + "for one task on each.%n%s%n",
        options.candidate().title(), VersionInfo.getVersion(), workload.story());
    List<Contender> contenders = new ArrayList<>();
    contenders.add(options.candidate());
    options.opponent().ifPresent(contenders::add);
    List<List<JobResult>> results = new ArrayList<>();
    double unitSeconds = 0;
    try {
      for (Contender contender : contenders) {
        String round =
            contenders.size() == 1
                ? ""
                : String.format("%d of %d: ", results.size() + 1, contenders.size());
        System.out.printf("%n%s%s, starting the cluster ...%n", round, contender.title());
        Run run = new Run(contender, workload, round, unitSeconds, options.plain());
        results.add(run.run());
        unitSeconds = run.unitSeconds();
        run.remarks().forEach(System.out::println);
      }
    } catch (Exception | Error e) {
      return explain(e);
    }
    System.out.println();
    Closing closing = new Closing(contenders, results);
    closing.table().forEach(System.out::println);
    System.out.println();
    closing.foresight().ifPresent(System.out::println);
    closing.comparison(workload.figures()).forEach(System.out::println);
    System.out.println(closing.succeeded() ? "All jobs succeeded." : "Not all jobs succeeded.");
    return closing.succeeded() ? OK : JOBS_FAILED;
  }

  /** Prints why the demo failed: for a policy that the engine refused, the engine's message. */
  private static int explain(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      // Cut before the engine's message: the demo wrote the file that is named first.
      String text = String.valueOf(cause.getMessage());
      int said = text.indexOf(POLICY_KEY);
      if (said >= 0) {
        System.err.println("demo: --policy: " + text.substring(said));
        return WRONG_ARGUMENTS;
      }
    }
    System.err.println("demo: the cluster failed:");
    failure.printStackTrace();
    return JOBS_FAILED;
  }
}
