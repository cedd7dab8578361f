package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellService;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * ShuffleWatcher on a real cluster. Two jobs whose input lies on both racks run under {@code fair},
 * and again, after a failover, under {@code shufflewatcher}. There each has its maps on a rack of
 * its own and its reduces where its map output is, and less shuffle crosses the racks. Newest
 * Hadoop only: nothing here depends on the version.
 */
public class ShuffleWatcherTest {
  private static final int MAPS = 4;
  private static final int REDUCES = 2;

  /** One container per heartbeat, so that the order of reports does not decide the places. */
  private static final String FILL = "\"heartbeat_fill\": 0.1";

  private static final String FAIR = "{\"policy\": \"fair\", " + FILL + "}";

  /** With so few jobs, a user's turn comes on any rack: it waits for its preferred one. */
  private static final String SHUFFLE_WATCHER =
      "{\"policy\": \"shufflewatcher\", \"shuffle_watcher\": {\"relaxed_ms\": 120000}, "
          + FILL + "}";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("shuffle-watcher").highlyAvailable().engineConfiguration(FAIR));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  @Test
  public void lessShuffleCrossesTheRacksThanUnderFair() throws Exception {
    ShellService neighbour = slots.service("grace", "default", 2);
    slots.await("the neighbour runs", () -> slots.held(neighbour) == 2, neighbour);
    TaskPlaces[] fair = runBoth("fair");

    // The new active one reads the new file. It may: the share stage is the same.
    CLUSTER.cluster().configureEngine(SHUFFLE_WATCHER);
    CLUSTER.cluster().failOver();
    CLUSTER.cluster().awaitNodes(4);
    TaskPlaces[] watched = runBoth("shufflewatcher");

    double before = crossing("fair", fair);
    double after = crossing("shufflewatcher", watched);
    Slots.measured("shuffle across racks, shufflewatcher by fair: %.2f", after / before);
    assertTrue("across racks: " + after + " after " + before, after <= 0.6 * before);
    for (TaskPlaces job : watched) {
      // Chance puts half on each rack; a preference puts most on one.
      double together = job.largestPartOfMaps();
      assertTrue("maps on one rack: " + together, together >= 0.75);
      assertTrue("reduces off the map output: " + job, job.reducesOffOutput() <= 0.5);
    }
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
    HeldBack.keepsItsReduceToo(CLUSTER, "shufflewatcher");
  }

  /** Returns the part of the shuffled bytes that crosses the racks. */
  private static double crossing(String policy, TaskPlaces[] jobs) {
    double crossing = 0;
    double shuffled = 0;
    for (TaskPlaces job : jobs) {
      crossing += job.crossingBytes();
      shuffled += job.shuffledBytes();
      Slots.measured("%s: %s", policy, job);
    }
    Slots.measured("%s: %.0f %% of the shuffle across racks", policy, 100 * crossing / shuffled);
    return crossing / shuffled;
  }

  private static TaskPlaces[] runBoth(String policy) throws Exception {
    GatedJob[] jobs = new GatedJob[2];
    for (int i = 0; i < jobs.length; i++) {
      jobs[i] = new GatedJob(CLUSTER, "ann", policy + i, MAPS, ShuffleWatcherTest::configure);
    }
    for (GatedJob job : jobs) {
      // All at once: each had to be placed beside the others.
      job.awaitRunning(MAPS);
    }
    TaskPlaces[] places = new TaskPlaces[jobs.length];
    for (int i = 0; i < jobs.length; i++) {
      jobs[i].open();
    }
    for (int i = 0; i < jobs.length; i++) {
      CLUSTER.assertSucceeds(jobs[i].job());
      jobs[i].assertNothingRanTwice();
      places[i] = new TaskPlaces(jobs[i].job());
    }
    return places;
  }

  private static void configure(Configuration conf) {
    conf.setInt(MRJobConfig.NUM_REDUCES, REDUCES);
    // Only jobs that shuffle more than they read have racks for their reduces (SW-6).
    conf.set(MRJobConfig.JOB_TAGS, "heddle:shuffle-ratio=2");
  }
}
