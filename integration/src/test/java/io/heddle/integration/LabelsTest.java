package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Node;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Real jobs in the partitions of a capacity-scheduler.xml. Two of the four nodes have a label that
 * is not exclusive: they are lent to a queue without access, and taken back when the queue that has
 * them asks. Newest Hadoop only: nothing here depends on the version.
 */
public class LabelsTest {
  private static final String FILE =
      "<configuration>"
          + property("maximum-am-resource-percent", "0.5")
          + property("root.queues", "owner,borrower")
          + property("root.owner.capacity", "50")
          + property("root.owner.user-limit-factor", "4")
          + property("root.owner.accessible-node-labels", "gpu")
          + property("root.owner.accessible-node-labels.gpu.capacity", "100")
          + property("root.owner.default-node-label-expression", "gpu")
          + property("root.borrower.capacity", "50")
          + property("root.borrower.user-limit-factor", "4")
          + property("root.borrower.accessible-node-labels", "")
          + "</configuration>";
  private static final String PREEMPTION =
      "yarn.resourcemanager.monitor.capacity.preemption.";
  private static final List<Integer> LABELLED = Arrays.asList(1, 3);

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("labels")
              .set("heddle.queues.from", "capacity")
              .set(YarnConfiguration.NODE_LABELS_ENABLED, "true")
              .set(YarnConfiguration.FS_NODE_LABELS_STORE_ROOT_DIR, "/node-labels")
              .file("capacity-scheduler.xml", FILE)
              .set("yarn.resourcemanager.scheduler.monitor.enable", "true")
              .set(PREEMPTION + "monitoring_interval", "500")
              .set(PREEMPTION + "max_wait_before_kill", "500")
              // By default a round takes a fiftieth of the cluster, here less than a container.
              .set(PREEMPTION + "total_preemption_per_round", "1")
              .set(PREEMPTION + "natural_termination_factor", "1"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void aLabelIsLentAndTakenBack() throws Exception {
    command("-addToClusterNodeLabels", "gpu(exclusive=false)");
    for (int node : LABELLED) {
      String id = nodes().get(node).nodeManager().getNMContext().getNodeId().toString();
      command("-replaceLabelsOnNode", id + "=gpu");
    }
    GatedJob borrower = submit("bob", "borrower", 8);
    Await.until(
        "both labelled nodes are lent", ClusterRule.JOB_SECONDS, () -> onLabelled(borrower) == 4);
    assertTrue(CLUSTER.applications().masterHost(borrower.id()) + " has no label",
        !labelled().contains(CLUSTER.applications().masterHost(borrower.id())));

    GatedJob owner = submit("alice", "owner", 2);
    owner.awaitRunning(2);
    assertEquals(2, onLabelled(owner));
    assertTrue("the owner's ApplicationMaster has the queue's label",
        labelled().contains(CLUSTER.applications().masterHost(owner.id())));
    assertTrue(onLabelled(borrower) + " are left to the borrower", onLabelled(borrower) <= 1);

    owner.open();
    CLUSTER.assertSucceeds(owner.job());
    borrower.open();
    CLUSTER.assertSucceeds(borrower.job());
  }

  private static String property(String name, String value) {
    return "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value
        + "</value></property>";
  }

  private static GatedJob submit(String user, String queue, int maps) throws Exception {
    return new GatedJob(CLUSTER, user, queue, maps, conf -> {
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
      conf.set(MRJobConfig.QUEUE_NAME, queue);
    });
  }

  private static List<Node> nodes() {
    return CLUSTER.cluster().nodes();
  }

  private static List<String> labelled() {
    return LABELLED.stream().map(node -> nodes().get(node).host()).collect(Collectors.toList());
  }

  /** Returns how many tasks of a job run on nodes with the label. */
  private static long onLabelled(GatedJob job) {
    ApplicationId id = job.id();
    return CLUSTER.applications().taskHosts(id).stream().filter(labelled()::contains).count();
  }

  private static void command(String... words) throws Exception {
    assertEquals(0, new RMAdminCLI(CLUSTER.configuration()).run(words));
  }
}
