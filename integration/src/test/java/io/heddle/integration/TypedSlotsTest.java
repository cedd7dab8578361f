package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.After;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Slots of two kinds on a real cluster: a map and a reduce at once on each node, however much room
 * is left. Newest Hadoop only: nothing here depends on the version.
 */
public class TypedSlotsTest {
  private static final int SLOTS = 4;

  /** Of the needy pool, of each kind. */
  private static final int MINIMUM = 2;

  private static final int TASK_MB = 512;

  /** The weight alone would give the needy pool no slot before the others are content. */
  private static final String CONFIGURATION =
      "{\"policy\": \"fair-original\", \"slots\": {\"map_per_node\": 1, \"reduce_per_node\": 1},"
          + " \"queues\": [{\"path\": \"root.busy\"}, {\"path\": \"root.patient\"},"
          + " {\"path\": \"root.needy\", \"weight\": 0.1, \"min_maps\": " + MINIMUM
          + ", \"min_reduces\": " + MINIMUM + "}]}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("typed-slots")
              .engineConfiguration(CONFIGURATION)
              // All ApplicationMasters find room beside the tasks, wherever they are: six of them
              // and a task of each kind on one node. The stock value is four cores.
              .set(YarnConfiguration.NM_PMEM_MB, "4096")
              .set(YarnConfiguration.NM_VCORES, "8"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private final List<HeldJob> submitted = new ArrayList<>();

  /** Jobs of a failed test would hold their tasks for minutes. */
  @After
  public void killJobs() throws Exception {
    HeldJob.kill(submitted);
  }

  /**
   * FS-5: in a pool's turn for its minimum it goes before a job that waits for longer, then no
   * more. Reduces first; they keep their slots while maps compete.
   */
  @Test
  public void aPoolHasItsMinimumOfMapsAndOfReduces() throws Exception {
    competeFor(false);
    competeFor(true);
    for (HeldJob job : submitted) {
      job.letMapsEnd();
      job.letReducesEnd();
    }
    for (HeldJob job : submitted) {
      job.finish();
    }
  }

  private void competeFor(boolean maps) throws Exception {
    String kind = maps ? "map" : "reduce";
    HeldJob busy = submit("busy", maps, 7);
    awaitTasks("the busy pool has all slots", SLOTS, busy);
    HeldJob patient = submit("patient", maps, 3);
    patient.awaitPending();
    HeldJob needy = submit("needy", maps, 4);
    needy.awaitPending();
    assertTrue("the busy pool wants more", CLUSTER.applications().waits(busy.id()));
    List<String> hosts = CLUSTER.applications().taskHosts(busy.id());
    assertEquals("one on each node: " + hosts, SLOTS, new HashSet<>(hosts).size());
    Slots.measured("%ss on %s, room for others on each", kind, hosts);
    for (NodeId node : CLUSTER.cluster().resourceManager().getRMContext().getRMNodes().keySet()) {
      Resource free = CLUSTER.cluster().scheduler().getNodeReport(node).getAvailableResource();
      assertTrue(node + " has only " + free + " left",
          free.getMemorySize() >= TASK_MB && free.getVirtualCores() >= 1);
    }

    letEnd(busy, maps, MINIMUM);
    awaitTasks("the needy pool has its minimum", MINIMUM, needy);
    assertEquals(state(), SLOTS - MINIMUM, tasks(busy));
    assertEquals("others wait, although they came before: " + state(), 0, tasks(patient));

    int pool = maps ? 0 : 1;
    Await.until(
        "the patient pool is owed more", ClusterRule.JOB_SECONDS, () -> patientIsOwedMore(pool),
        this::state);
    letEnd(busy, maps, MINIMUM + 1);
    awaitTasks("the patient pool is next", 1, patient);
    assertEquals("no more than its minimum: " + state(), MINIMUM, tasks(needy));
    assertTrue("although it wants more", CLUSTER.applications().waits(needy.id()));
    Slots.measured("%ss of a pool with a minimum of %d beside busy ones: %d", kind, MINIMUM,
        tasks(needy));
  }

  /** Submits a job with this many tasks of the kind; a job with reduces has one map, which ends. */
  private HeldJob submit(String pool, boolean maps, int tasks) throws Exception {
    String name = pool + (maps ? "-maps" : "-reduces");
    HeldJob job =
        new HeldJob(CLUSTER, pool, name, maps ? tasks : 1, maps ? 0 : tasks,
            conf -> conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MB));
    submitted.add(job);
    if (!maps) {
      job.letMapsEnd();
      job.awaitMapsDone();
    }
    return job;
  }

  private static void letEnd(HeldJob job, boolean maps, int count) throws Exception {
    if (maps) {
      job.letMapsEnd(count);
    } else {
      job.letReducesEnd(count);
    }
  }

  private void awaitTasks(String what, int count, HeldJob job) throws Exception {
    Await.until(what, ClusterRule.JOB_SECONDS, () -> tasks(job) == count, this::state);
  }

  /** Returns where the jobs and their accounts stand, for the message of a failure. */
  private String state() {
    return submitted + "; " + deficits();
  }

  private static int tasks(HeldJob job) {
    return CLUSTER.applications().taskHosts(job.id()).size();
  }

  /** Returns whether the job that waits without a minimum has the larger deficit. */
  private static boolean patientIsOwedMore(int pool) {
    double needy = Double.MAX_VALUE;
    double patient = -Double.MAX_VALUE;
    for (JsonNode accounts : deficits()) {
      JsonNode account = accounts.get(pool);
      double deficit = account.get("deficit").asDouble();
      if (account.get("min").asDouble() > 0) {
        needy = deficit;
      } else if (account.get("share").asDouble() > 0 && account.get("running").asInt() == 0) {
        patient = Math.max(patient, deficit);
      }
    }
    return patient > needy;
  }

  private static JsonNode deficits() {
    try {
      return EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}").at("/order/jobs");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
