package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Reverse-Adaptive on a real cluster. One application has a far goal and wants everything. A job
 * with a near goal gets the slots that it needs and hardly more, also after another ResourceManager
 * has taken over. It gets more if foreign load will rise before the goal. Newest Hadoop only:
 * nothing here depends on the version.
 */
public class ReverseAdaptiveTest {
  /**
   * 1,560 slot-seconds for a goal in 600 s, before which the length of a map is kept: 3.3 slots,
   * hardly more after a minute. The goal is so far that a busy machine's slow starts matter little.
   * The test does not wait for it.
   */
  private static final int MAPS = 13;

  private static final int MAP_MS = 120_000;
  private static final int GOAL_S = 600;
  private static final int NEED = 3;
  private static final long SAMPLE_MS = 5000;

  /** At least so much more than its need a job gets that must run before a load rises. */
  private static final double EARLY_FACTOR = 1.4;

  private static final String NO_LOAD = "[]";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("reverse-adaptive")
              .highlyAvailable()
              .engineConfiguration(configuration(NO_LOAD)));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  /** Twelve slots for maps, which other applications' containers count as. */
  private static String configuration(String foreignLoad) {
    return "{\"policy\": \"reverse-adaptive\", \"slots\": {\"map_per_node\": 3,"
        + " \"reduce_per_node\": 1}, \"reverse_adaptive\": {\"control_period_ms\": 1000,"
        + " \"foreign_load\": " + foreignLoad + "}}";
  }

  @Test
  public void theNearerGoalGetsWhatItNeedsAndMoreBeforeALoadThatWillRise() throws Exception {
    ShellService far = slots.turning("frank", "default", 48, 4, "heddle:deadline=+5h");
    ShellService neighbour = slots.service("grace", "default", 1);
    slots.await("the far job has most slots", () -> slots.held(far) >= 10, far);
    slots.await("the neighbour runs", () -> slots.held(neighbour) == 1, neighbour);

    GatedJob near = job("near");
    checkNeed(near, "the nearer goal");
    CLUSTER.cluster().failOver();
    CLUSTER.cluster().awaitNodes(4);
    // A node counts as running a moment before its containers are known again.
    slots.await("a failover takes no slots", () -> slots.held(near.id()) - 1 >= NEED, far);
    near.finish();
    near.assertNothingRanTwice();
    // Until the far job has asked again, all slots go to the first that asks.
    slots.await("the far job has most slots again", () -> slots.held(far) >= 10, far);
    GatedJob second = job("second");
    checkNeed(second, "the nearer goal after a failover");
    second.kill();

    // Three quarters are taken after two minutes. 12 slots for 120 s and 3 for 360 s are 2,520
    // slot-seconds: the job needs 62 % of that at every moment, not 27 %, and a larger part the
    // later it begins.
    long risesMs = System.currentTimeMillis() + 120_000;
    configure("[[0, 0.0], [" + risesMs + ", 0.75]]");
    GatedJob early = job("early");
    slots.await("it has more than it would need without the load",
        () -> slots.held(early.id()) - 1 >= EARLY_FACTOR * need(early), far);
    double before = slots.mean(early.id(), SAMPLE_MS);
    double needed = need(early);
    Slots.measured(
        "ra slots of a goal in %d s: needs %.1f of %d wanted, has %.1f as three quarters of the"
            + " slots go before; ratio %.2f",
        GOAL_S, needed, MAPS, before, before / needed);
    assertTrue(before + " slots, " + needed + " without the load", before >= EARLY_FACTOR * needed);
    assertTrue("that was after the load had risen", System.currentTimeMillis() < risesMs);
    early.kill();
    far.stop();
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
    // The load would have risen by then.
    configure(NO_LOAD);
    HeldBack.keepsItsReduceToo(CLUSTER, "reverse-adaptive");
  }

  private static void configure(String foreignLoad) throws Exception {
    CLUSTER.cluster().configureEngine(configuration(foreignLoad));
    assertEquals(0, new RMAdminCLI(CLUSTER.configuration()).run(new String[] {"-refreshQueues"}));
  }

  private GatedJob job(String name) throws Exception {
    return new GatedJob(CLUSTER, "nora", name, MAPS, conf ->
        conf.set(
            MRJobConfig.JOB_TAGS,
            "heddle:deadline=+" + GOAL_S + "s,heddle:map-ms=" + MAP_MS));
  }

  /** None of its maps ends: it keeps its slots, so that too many would show. */
  private void checkNeed(GatedJob job, String what) throws Exception {
    slots.await(what, () -> slots.held(job.id()) - 1 >= NEED);
    double mean = slots.mean(job.id(), SAMPLE_MS);
    Slots.measured("ra slots of %s: %.1f (needs %.1f, wants %d)", what, mean, need(job), MAPS);
    double most = Math.ceil(need(job)) + 2;
    assertTrue(what + ": " + mean + " slots of " + most, mean >= NEED - 0.5 && mean <= most);
  }

  /**
   * Returns the slots that a job needs from now on to meet its goal with a map's length to spare,
   * if none of it is done yet.
   */
  private static double need(GatedJob job) {
    double leftMs = GOAL_S * 1000.0 - MAP_MS - (System.currentTimeMillis() - job.submittedMs());
    return MAPS * MAP_MS / Math.max(leftMs, MAP_MS);
  }
}
