package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Collectors;
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
  /** Six tasks fill the cluster beside two ApplicationMasters: bob's, and alice's. */
  private static final int HELD = 2;
  private static final int SLOTS = 4;
  /** Changes between two grants: an odd number, as every second change goes to the same preset. */
  private static final int GRANT = 3;
  /** Changes between two failovers. */
  private static final int TERM = 16;

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("switch").highlyAvailable()
              .engineConfiguration(configuration(Policies.presets().get(0))));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private final List<Long> nanos = new ArrayList<>();

  /** Queues at different depths. No policy takes a container back, so that only a change could. */
  private static String configuration(String preset) {
    return "{\"policy\": \"" + preset + "\", \"preemption\": {\"enabled\": false},"
        + " \"dynamic_priority\": {\"reclaim_interval_ms\": 0, \"allocation_interval_ms\": 2000},"
        + " \"queues\": ["
        + "   {\"path\": \"root.alice\", \"budget\": 1e6, \"spending_rate\": 2},"
        + "   {\"path\": \"root.team.bob\", \"budget\": 1e6, \"spending_rate\": 1}]}";
  }

  @Test
  public void everyPresetChangesIntoEveryOtherUnderLoad() throws Exception {
    List<String> changes = changes();
    int maps = changes.size() / GRANT + 8;
    // His tasks run to the end of the test, so they come before others hold every slot.
    GatedJob bob = new GatedJob(CLUSTER, "bob", "held", HELD, conf -> {
      conf.set(MRJobConfig.QUEUE_NAME, "root.team.bob");
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024);
    });
    bob.awaitRunning(HELD);
    GatedJob alice = new GatedJob(CLUSTER, "switched", maps);
    alice.letEnd(2);
    int ended = 2;
    for (int number = 1; number <= changes.size(); number++) {
      String preset = changes.get(number - 1);
      change(preset, number + ": to " + preset);
      if (number % GRANT == 0) {
        // Its slot goes to the next map, by the policy that has just come.
        alice.letEnd(++ended);
      }
      if (number % TERM == 0) {
        // A node refuses to start what a ResourceManager granted that no longer leads.
        alice.awaitRunning(SLOTS);
        CLUSTER.cluster().failOver();
        CLUSTER.cluster().awaitNodes(4);
        bob.awaitRunning(HELD);
        alice.awaitRunning(SLOTS);
      }
    }
    Collections.sort(nanos);
    Slots.measured("%d changes of the policy under load: median %.0f ms, longest %.0f ms",
        nanos.size(), nanos.get(nanos.size() / 2) / 1e6, nanos.get(nanos.size() - 1) / 1e6);
    bob.finish();
    alice.finish();
    alice.assertNothingRanTwice();
    bob.assertNothingRanTwice();
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
