package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * Every preset is exchanged for every other while jobs run, with failovers in between: running
 * containers stay, the next ones come from the new policy, and the books agree after each change.
 * Newest Hadoop only: nothing here depends on the version.
 */
public class SwitchTest {
  /**
   * Also of ApplicationMasters: eight containers fill the cluster, wherever they are. Those are two
   * masters, and as many tasks of bob's and of alice's as follow.
   */
  private static final int CONTAINER_MB = 1024;
  private static final int HELD = 2;
  private static final int SLOTS = 4;
  /**
   * Changes between two grants, beside those of each preset's first time. An odd number, as every
   * second change goes to the same preset.
   */
  private static final int GRANT = 5;
  /** Changes between two failovers. */
  private static final int TERM = 16;
  private static final String MARKET =
      " \"dynamic_priority\": {\"reclaim_interval_ms\": 0, \"allocation_interval_ms\": 2000},";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("switch").highlyAvailable()
              .engineConfiguration(configuration(Policies.presets().get(0))));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private final List<Long> nanos = new ArrayList<>();

  /**
   * Queues at different depths. No policy takes a container back, so that only a change could. The
   * market's keys only where it reads them: Heddle warns of keys without effect.
   */
  private static String configuration(String preset) {
    boolean market = Policies.stage(preset, "share").equals("dynamic-priority");
    return "{\"policy\": \"" + preset + "\", \"preemption\": {\"enabled\": false},"
        + (market ? MARKET : "")
        + " \"queues\": ["
        + "   {\"path\": \"root.alice\"" + (market ? bid(2) : "") + "},"
        + "   {\"path\": \"root.team.bob\"" + (market ? bid(1) : "") + "}]}";
  }

  private static String bid(int rate) {
    return ", \"budget\": 1e6, \"spending_rate\": " + rate;
  }

  @Test
  public void everyPresetChangesIntoEveryOtherUnderLoad() throws Exception {
    List<String> changes = changes();
    // Some wait even at the end.
    int maps = changes.size() / GRANT + Policies.presets().size() + 8;
    // His tasks run to the end of the test, so they come before others hold every slot.
    GatedJob bob = new GatedJob(CLUSTER, "bob", "held", HELD, conf -> {
      conf.set(MRJobConfig.QUEUE_NAME, "root.team.bob");
      size(conf);
    });
    bob.awaitStarted(HELD);
    GatedJob alice = new GatedJob(CLUSTER, "alice", "switched", maps, SwitchTest::size);
    alice.letEnd(2);
    int ended = 2;
    alice.awaitStarted(ended + SLOTS);
    Set<String> tried = new HashSet<>();
    for (int number = 1; number <= changes.size(); number++) {
      String preset = changes.get(number - 1);
      change(preset, number + ": to " + preset);
      if (tried.add(preset) || number % GRANT == 0) {
        // Its slot goes to the next map, by the policy that has just come.
        int granted = CLUSTER.applications().allocated(alice.id());
        alice.letEnd(++ended);
        Await.until(number + ": " + preset + " grants", ClusterRule.JOB_SECONDS,
            () -> CLUSTER.applications().allocated(alice.id()) > granted,
            () -> CLUSTER.applications().describe(alice.id()));
      }
      if (number % TERM == 0) {
        // A node refuses to start what a ResourceManager granted that no longer leads.
        alice.awaitStarted(ended + SLOTS);
        CLUSTER.cluster().failOver();
        CLUSTER.cluster().awaitNodes(4);
        bob.awaitRunning(HELD);
        alice.awaitRunning(SLOTS);
      }
    }
    Collections.sort(nanos);
    Slots.measured("%d changes of the policy under load: median %.0f ms, longest %.0f ms",
        nanos.size(), nanos.get(nanos.size() / 2) / 1e6, nanos.get(nanos.size() - 1) / 1e6);
    // In this order: her held maps could take the room of his reduce.
    alice.finish();
    bob.finish();
    alice.assertNothingRanTwice();
    bob.assertNothingRanTwice();
  }

  private static void size(Configuration conf) {
    conf.setInt(MRJobConfig.MR_AM_VMEM_MB, CONTAINER_MB);
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, CONTAINER_MB);
  }

  /** Returns presets such that each follows each other at least once. */
  private static List<String> changes() {
    List<String> presets = Policies.presets();
    List<String> changes = new ArrayList<>();
    for (int from = 0; from + 1 < presets.size(); from++) {
      if (from > 0) {
        changes.add(presets.get(from));
      }
      for (String to : presets.subList(from + 1, presets.size())) {
        changes.add(to);
        changes.add(presets.get(from));
      }
    }
    return changes;
  }

  private void change(String preset, String where) throws Exception {
    CLUSTER.cluster().configureEngine(configuration(preset));
    long before = System.nanoTime();
    int code = new RMAdminCLI(CLUSTER.configuration()).run(new String[] {"-refreshQueues"});
    nanos.add(System.nanoTime() - before);
    assertEquals(where, 0, code);
    JsonNode policies = EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"policies\"}");
    List<String> stages = new ArrayList<>();
    policies.path("in_force").path("stages").forEach(stage -> stages.add(stage.asText()));
    List<String> expected = Policies.STAGES.stream()
        .map(stage -> Policies.stage(preset, stage)).collect(Collectors.toList());
    assertEquals(where, expected, stages);
    Await.until(where + ": the books agree", Await.SECONDS,
        () -> CLUSTER.heddle().inspection().differences() == null,
        CLUSTER.heddle().inspection()::differences);
  }
}
