package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.Test;

/**
 * An administrator's work on a running cluster, over RPC like the {@code yarn} command: reloading
 * the queues, moving an application, changing its priority. Runs no task.
 */
public class AdministrationTest {
  private static final String BEFORE = "{\"queues\": [{\"path\": \"root.old\"}]}";
  private static final String AFTER =
      "{\"queues\": [{\"path\": \"root.old\"}, {\"path\": \"root.fresh\", \"weight\": 3.0}]}";
  private static final String BAD = "{\"queues\": [{\"path\": \"root.bad\", \"wieght\": 3.0}]}";

  @Test
  public void queuesReloadApplicationsMoveAndChangePriority() throws Exception {
    try (MiniCluster cluster =
            MiniCluster.named("administration")
                .scheduler(MiniCluster.HEDDLE)
                .engineConfiguration(BEFORE)
                .set("yarn.cluster.max-application-priority", "10")
                .start();
        YarnClient yarn = YarnClient.createYarnClient()) {
      yarn.init(cluster.configuration());
      yarn.start();
      assertNull(yarn.getQueueInfo("root.fresh"));

      cluster.configureEngine(AFTER);
      assertEquals(0, refreshQueues(cluster));
      assertNotNull(yarn.getQueueInfo("root.fresh"));

      // A mistake is refused, and the old configuration stays in force.
      cluster.configureEngine(BAD);
      assertNotEquals(0, refreshQueues(cluster));
      assertNull(yarn.getQueueInfo("root.bad"));
      assertNotNull(yarn.getQueueInfo("root.fresh"));

      ApplicationId id = submit(yarn, "root.old");
      assertEquals("root.old", yarn.getApplicationReport(id).getQueue());
      yarn.moveApplicationAcrossQueues(id, "root.fresh");
      assertEquals("root.fresh", yarn.getApplicationReport(id).getQueue());
      yarn.updateApplicationPriority(id, Priority.newInstance(7));
      assertEquals(7, yarn.getApplicationReport(id).getPriority().getPriority());
      yarn.killApplication(id);
      // For an unmanaged master YARN's client does not wait for the end.
      Await.until(
          "the application is killed",
          Await.SECONDS,
          () ->
              yarn.getApplicationReport(id).getYarnApplicationState()
                  == YarnApplicationState.KILLED);
    }
  }

  private static int refreshQueues(MiniCluster cluster) throws Exception {
    return new RMAdminCLI(cluster.configuration()).run(new String[] {"-refreshQueues"});
  }

  /** Submits an application whose master never comes: it waits in its queue until it is killed. */
  private static ApplicationId submit(YarnClient yarn, String queue) throws Exception {
    ApplicationSubmissionContext context =
        yarn.createApplication().getApplicationSubmissionContext();
    context.setApplicationName("waits");
    context.setQueue(queue);
    context.setUnmanagedAM(true);
    context.setAMContainerSpec(
        ContainerLaunchContext.newInstance(null, null, null, null, null, null));
    return yarn.submitApplication(context);
  }
}
