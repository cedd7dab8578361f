package io.heddle.integration.hadoop;

import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;

/**
 * Puts Heddle where a test's ResourceManager would make a stock scheduler, over the file of that
 * scheduler. The ResourceManager makes it with {@link ReflectionUtils}, on the test's thread.
 */
final class Swap {
  private static final String HEDDLE = "io.heddle.yarn.HeddleScheduler";

  private static int made;

  private Swap() {}

  /** Returns how many schedulers were swapped. */
  static int made() {
    return made;
  }

  /** Begins for this thread. */
  static void install() throws ClassNotFoundException {
    Class<?> heddle = Class.forName(HEDDLE);
    Mockito.mockStatic(ReflectionUtils.class, call -> isStock(call)
        ? ReflectionUtils.newInstance(heddle, over(call.getArgument(0), call.getArgument(1)))
        : call.callRealMethod());
  }

  private static boolean isStock(InvocationOnMock call) {
    return call.getMethod().getName().equals("newInstance") && call.getArguments().length > 1
        && (call.getArgument(0) == CapacityScheduler.class
            || call.getArgument(0) == FairScheduler.class);
  }

  private static Configuration over(Class<? extends ResourceScheduler> stock, Configuration conf) {
    made++;
    String kind = stock.getSimpleName().replace("Scheduler", "").toLowerCase(Locale.ROOT);
    conf.set("heddle.queues.from", kind);
    // As Hadoop's own tests have it for the Fair Scheduler: tests report a node once and wait.
    conf.set("heddle.tick-ms", "10");
    // Tests look for grants after a report, as stock schedulers make them.
    conf.set("heddle.immediate-grants.enable", "false");
    // The default of the Fair Scheduler; Heddle fills a node unless a file says otherwise.
    conf.setBooleanIfUnset("yarn.scheduler.fair.assignmultiple", false);
    return conf;
  }
}
