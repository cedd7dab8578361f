package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.jobs.ShellApplication;
import io.heddle.integration.jobs.ShellService;
import java.io.File;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.TestRule;

/**
 * A composition of three policies on a real cluster. Bids divide the slots between queues. Inside a
 * queue, the job that its samples show to be shorter goes first. Tasks of MapReduce go where least
 * traffic crosses the racks. Newest Hadoop only: nothing here depends on the version.
 */
public class CompositionTest {
  private static final String RICH = "\"budget\": 1e9";
  private static final String CONFIGURATION =
      "{\"policy\": {\"share\": \"dynamic-priority\", \"order\": \"hfsp\","
          + "   \"place\": \"shuffle-watcher\"},"
          + " \"preemption\": {\"grace_ms\": 200}, \"heartbeat_fill\": 0.1,"
          + " \"hfsp\": {\"samples\": 2}, \"shuffle_watcher\": {\"relaxed_ms\": 10000},"
          + " \"dynamic_priority\": {\"allocation_interval_ms\": 4000,"
          + "   \"reclaim_interval_ms\": 1000},"
          + " \"queues\": ["
          + "   {\"path\": \"root.ann\", \"spending_rate\": 8, \"budget\": 1e9},"
          + "   {\"path\": \"root.alice\", \"spending_rate\": 9, " + RICH + "},"
          + "   {\"path\": \"root.bob\", \"spending_rate\": 3, " + RICH + "},"
          + "   {\"path\": \"root.grace\", \"preempt_opaque\": false},"
          + "   {\"path\": \"root.carol\", \"spending_rate\": 12, \"budget\": 1e9,"
          + "    \"preempt_opaque\": false}]}";

  private static final long SAMPLE_MS = 5000;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("composition").highlyAvailable().engineConfiguration(CONFIGURATION));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void bidsBetweenQueuesSizesInsideAndRacksForTasks() throws Exception {
    ShellService neighbour = slots.service("grace", "default", 1);
    slots.await("the neighbour runs", () -> slots.held(neighbour) == 1, neighbour);
    checkPlaces();

    CLUSTER.cluster().failOver();
    CLUSTER.cluster().awaitNodes(4);
    ShellService alice = slots.service("alice", "root.alice", 16);
    ShellService bob = slots.service("bob", "root.bob", 16);
    slots.await("slots by bids", () -> {
      int most = slots.held(alice);
      // 11.25 of 15 are its own.
      return (most == 11 || most == 12) && most + slots.held(bob) == 15;
    }, alice, bob);
    double ratio = slots.ratio(alice, bob, SAMPLE_MS);
    Slots.measured("composition: slots at bids 9:3: ratio %.2f", ratio);
    assertTrue("ratio " + ratio, ratio > 2.25 && ratio < 4.5);

    checkSizes();
    alice.stop();
    bob.stop();
    assertEquals("what the neighbour lost", 0, neighbour.ended().size());
    neighbour.stop();
  }

  private static void checkPlaces() throws Exception {
    GatedJob job = new GatedJob(CLUSTER, "ann", "places", 4, conf -> {
      conf.set(MRJobConfig.QUEUE_NAME, "root.ann");
      conf.set(MRJobConfig.JOB_TAGS, "heddle:shuffle-ratio=2");
      conf.setInt(MRJobConfig.NUM_REDUCES, 2);
    });
    job.awaitRunning(4);
    job.finish();
    TaskPlaces places = new TaskPlaces(job.job());
    Slots.measured(
        "composition: %s, %.0f %% of the shuffle across racks",
        places, 100 * places.crossingBytes() / places.shuffledBytes());
    assertTrue(places.toString(), places.largestPartOfMaps() >= 0.75);
    assertTrue(places.toString(), places.crossingBytes() < 0.5 * places.shuffledBytes());
  }

  /** Runs in a queue with half of the slots, which it must first take from the others. */
  private void checkSizes() throws Exception {
    // On a busy machine a start takes seconds, which must not make the small job's tasks look as
    // long. None of the big one's ends before the small one asks.
    File asked = new File(folder.getRoot(), "asked");
    CompletableFuture<Long> big = run(
        "big", 16, "while [ ! -e " + asked + " ]; do sleep 1; done; exec sleep 20");
    slots.await("the big job is asked for", () -> shells() == 1);
    CompletableFuture<Long> small = run("small", 10, "exec sleep 1");
    slots.await(
        "the small job asks", () -> CLUSTER.applications().anyWaits("small") || small.isDone());
    assertTrue(asked.createNewFile());
    long smallNanos = small.get();
    boolean overtook = !big.isDone();
    long bigNanos = big.get();
    Slots.measured(
        "composition: small job after %.1f s, the big one that came before after %.1f s",
        smallNanos / 1e9, bigNanos / 1e9);
    assertTrue("the small job ended after the big one", overtook);
  }

  /** Counts the queue's applications so far. */
  private static long shells() {
    return CLUSTER.cluster().resourceManager().getRMContext().getRMApps().values().stream()
        .filter(app -> app.getQueue().equals("root.carol"))
        .filter(app -> app.getCurrentAppAttempt() != null)
        .filter(app -> CLUSTER.applications().containers(app.getApplicationId()) > 0)
        .count();
  }

  /** Runs containers; returns how long all took from submission. */
  private static CompletableFuture<Long> run(String user, int containers, String command) {
    List<ContainerRequest> requests =
        Collections.nCopies(
            containers, new ContainerRequest(Slots.SIZE, null, null, Priority.newInstance(1)));
    long startNanos = System.nanoTime();
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            ShellApplication.Result result =
                new ShellApplication(CLUSTER.configuration(), user, "root.carol")
                    .run(requests, command);
            assertEquals(containers, result.statuses().size());
            return System.nanoTime() - startNanos;
          } catch (Exception e) {
            throw new IllegalStateException(e);
          }
        });
  }
}
