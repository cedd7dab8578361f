package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.metrics2.AbstractMetric;
import org.apache.hadoop.metrics2.MetricsRecord;
import org.apache.hadoop.metrics2.impl.MetricsCollectorImpl;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * A shadow beside a real cluster: first come, first served decides, and the shadow says what fair
 * shares would give. Newest Hadoop only: nothing here depends on the version.
 */
public class ShadowTest {
  private static final Path CANDIDATE = candidate();
  /** All slots beside the big job's ApplicationMaster. */
  private static final int SLOTS = 7;
  private static final int BIG_MAPS = 24;
  private static final int SMALL_MAPS = 4;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(MiniCluster.named("shadow").engineConfiguration("{\"policy\": \"fifo\"}")
          .set("heddle.shadow", CANDIDATE.toString()));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private static Path candidate() {
    try {
      Path file = Files.createTempFile("next", ".json");
      file.toFile().deleteOnExit();
      return Files.write(file, "{\"policy\": \"fair\"}".getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static JsonNode shadow() throws Exception {
    return EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"shadowReport\"}");
  }

  private static String told() {
    try {
      return shadow().toString();
    } catch (Exception e) {
      return e.toString();
    }
  }

  /** Returns the memory that a queue uses, live (0) or in the shadow (1). */
  private static int usedMb(String queue, int world) throws Exception {
    for (JsonNode row : shadow().path("report").path("queues")) {
      if (row.path("path").asText().equals(queue)) {
        return row.path("used_mb").path(world).asInt();
      }
    }
    return 0;
  }

  private static long metric(String name) {
    MetricsCollectorImpl collector = new MetricsCollectorImpl();
    DefaultMetricsSystem.instance().getSource("HeddleScheduler").getMetrics(collector, true);
    MetricsRecord record = collector.getRecords().get(0);
    for (AbstractMetric metric : record.metrics()) {
      if (metric.name().equals(name)) {
        return metric.value().longValue();
      }
    }
    throw new AssertionError("no metric " + name);
  }

  @Test
  public void itSaysWhatFairSharesWouldGive() throws Exception {
    assertEquals("on", shadow().path("state").asText());
    GatedJob big = new GatedJob(CLUSTER, "bob", "big", BIG_MAPS,
        conf -> conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024));
    big.awaitRunning(SLOTS);
    GatedJob small = new GatedJob(CLUSTER, "small", SMALL_MAPS);
    // Each slot that becomes free goes to the big job, and in the shadow to the small one. The
    // small one can only ask when its ApplicationMaster runs, wherever that finds room.
    int ended = 0;
    while (ended < BIG_MAPS - SLOTS && usedMb("root.alice", 1) <= usedMb("root.alice", 0)) {
      big.letEnd(++ended);
      big.awaitRunning(SLOTS - 1);
      long heard = shadow().path("report").path("now_ms").asLong();
      Await.until("the shadow has heard of it", Await.SECONDS,
          () -> shadow().path("report").path("now_ms").asLong() > heard + 2_000, ShadowTest::told);
    }
    Await.until("the small job has more in the shadow", Await.SECONDS,
        () -> usedMb("root.alice", 1) > usedMb("root.alice", 0), ShadowTest::told);
    Slots.measured("shadow: alice has %d MB, and %d in the shadow, after %d ends",
        usedMb("root.alice", 0), usedMb("root.alice", 1), ended);
    small.open();
    big.finish();
    small.finish();
    Await.until("both have ended in both worlds", ClusterRule.JOB_SECONDS, () -> {
      JsonNode ends = shadow().path("report").path("ended").path("end");
      return ends.path("earlier").asInt() + ends.path("equal").asInt()
          + ends.path("later").asInt() == 2;
    }, ShadowTest::told);
    for (String[] of : new String[][] {{"start", "Starts"}, {"end", "Ends"}}) {
      JsonNode counts = shadow().path("report").path("ended").path(of[0]);
      assertEquals(counts.path("earlier").asLong(), metric("Shadow" + of[1] + "Earlier"));
      assertEquals(counts.path("later").asLong(), metric("Shadow" + of[1] + "Later"));
      assertEquals(counts.path("equal").asLong(), metric("Shadow" + of[1] + "Equal"));
    }
    JsonNode jobs = shadow().path("report").path("jobs");
    assertEquals(jobs.toString(), 2, jobs.size());
    for (JsonNode job : jobs) {
      String id = job.path("application").asText();
      assertTrue(jobs.toString(), id.matches("application_\\d+_\\d{4}"));
    }
    Await.until("nothing runs in the shadow", Await.SECONDS,
        () -> usedMb("root.alice", 1) == 0 && usedMb("root.bob", 1) == 0, ShadowTest::told);

    Files.write(CANDIDATE, "{\"policy\": \"hfsp\"}".getBytes(StandardCharsets.UTF_8));
    assertEquals(0, new RMAdminCLI(CLUSTER.configuration()).run(new String[] {"-refreshQueues"}));
    Await.until("another candidate begins anew", Await.SECONDS,
        () -> "hfsp".equals(shadow().path("report").path("policy").path(1).asText()),
        ShadowTest::told);
  }
}
