package io.heddle.integration;

import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Load beside YARN that is real: a process uses all processors and some memory of the machine that
 * the nodes share. Nothing is configured about it; the NodeManagers measure it. Newest Hadoop only:
 * nothing here depends on the version.
 */
public class ForeignLoadTest {
  /** Slots for maps without the load: three on each of four nodes. */
  private static final int SLOTS = 12;

  /** In thousandths of a node. The cluster's own threads, in this JVM, take part of the rest. */
  private static final int HIGH = 800;

  /** Longer than the start of a cluster or of a JVM uses all processors. */
  private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(10);

  private static final int BURNT_MB = 512;

  /** The place of the load in a row of the engine's list of nodes. */
  private static final int FOREIGN_PER_MILLE = 8;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("foreign-load")
              .engineConfiguration(
                  "{\"policy\": \"reverse-adaptive\", \"slots\": {\"map_per_node\": 3,"
                      + " \"reduce_per_node\": 1},"
                      + " \"reverse_adaptive\": {\"control_period_ms\": 1000}}")
              .set("heddle.node-load.enable", "true")
              .set(YarnConfiguration.NM_CONTAINER_MONITOR_ENABLED, "true")
              .set(YarnConfiguration.NM_RESOURCE_MON_INTERVAL_MS, "500"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void aProcessBesideTheNodesTakesSlots() throws Exception {
    await("every node tells its load", () -> loads().size() == 4);
    // Not judged: on a machine that others use it is high before.
    Slots.measured("load beside YARN in thousandths, and MB in use: %s, %s", loads(), usedMb());
    GatedJob job;
    Process burner = burner();
    try {
      long[] quietNanos = {System.nanoTime()};
      await("every node is told to be in use all the time", () -> {
        if (loads().stream().anyMatch(load -> load < HIGH)) {
          quietNanos[0] = System.nanoTime();
        }
        return System.nanoTime() - quietNanos[0] > LASTING_NANOS;
      });
      Slots.measured("the same beside a process that uses all: %s, %s", loads(), usedMb());
      job = new GatedJob(CLUSTER, "nora", "beside", SLOTS, conf -> { });
      await("maps wait for the load to end", () -> waits().contains("another workload takes"));
      int running = CLUSTER.applications().containers(job.id()) - 1;
      Slots.measured("maps of %d that run beside it: %d", SLOTS, running);
      assertTrue(running + " maps", running < SLOTS);
    } finally {
      burner.destroyForcibly().waitFor();
    }
    job.kill();
  }

  private static void await(String what, java.util.concurrent.Callable<Boolean> condition)
      throws Exception {
    Await.until(what, ClusterRule.JOB_SECONDS, condition, () -> loads() + " " + waits());
  }

  private static String waits() {
    return request("{\"op\": \"waits\"}").toString();
  }

  /** Returns the load that the engine knows of each node that told one, in thousandths. */
  private static List<Integer> loads() {
    List<Integer> loads = new ArrayList<>();
    // A list, because the scheduler is told of a node later than YARN says that it runs.
    for (JsonNode row : request("{\"op\": \"nodes\"}").path("nodes")) {
      JsonNode load = row.path(FOREIGN_PER_MILLE);
      if (load.isInt()) {
        loads.add(load.asInt());
      }
    }
    return loads;
  }

  private static JsonNode request(String json) {
    try {
      return EngineRequest.send(CLUSTER.heddle(), json);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns what all processes of the machine use, as the first node tells it. */
  private static int usedMb() {
    return CLUSTER.cluster().resourceManager().getRMContext().getRMNodes().values().iterator()
        .next().getNodeUtilization().getPhysicalMemory();
  }

  private static Process burner() throws IOException {
    return new ProcessBuilder(
        System.getProperty("java.home") + "/bin/java", "-Xms" + 2 * BURNT_MB + "m", "-cp",
        System.getProperty("java.class.path"), Burner.class.getName())
        .inheritIO()
        .redirectInput(ProcessBuilder.Redirect.PIPE)
        .start();
  }

  /** Uses processors and memory until its input ends, so that it outlives no killed test. */
  public static final class Burner {
    private Burner() {}

    /** Runs it. */
    public static void main(String[] arguments) throws IOException {
      byte[] memory = new byte[BURNT_MB << 20];
      Arrays.fill(memory, (byte) 1);
      for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
        Thread thread = new Thread(() -> burn(memory));
        thread.setDaemon(true);
        thread.start();
      }
      while (System.in.read() >= 0) {
        // The parent writes nothing.
      }
    }

    private static void burn(byte[] memory) {
      for (int at = 0; ; at = (at + 4_097) % memory.length) {
        memory[at]++;
      }
    }
  }
}
