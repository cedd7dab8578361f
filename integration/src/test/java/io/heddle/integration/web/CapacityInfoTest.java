package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeFalse;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.web.MiniManager.Reply;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.junit.Test;

/**
 * Compares the answer about queues over a Capacity Scheduler's file with that of the stock
 * scheduler of the same Hadoop: every field, its place, its type and its value, in JSON and XML.
 */
public class CapacityInfoTest {
  private static final String INFO = "/ws/v1/cluster/scheduler";
  private static final String APPS = "/ws/v1/cluster/apps";
  private static final String JSON = "application/json";
  private static final String XML = "application/xml";
  private static final String DRAINING = "DRAINING";
  private static final String ZEBRA_STATE = "yarn.scheduler.capacity.root.zebra.state";
  private static final String PREFIX = "yarn.scheduler.capacity.";

  /**
   * docs/stock-differences.md: the engine counts no last operations; bounds of a type depend on how
   * stock made an object.
   */
  private static final String KNOWN =
      ".*/health/.*|.*configuredM.*imumAllocation .*";

  private static final String[] PERCENT = {
      "root.queues=default,batch,people,zebra", "root.default.capacity=10",
      "root.batch.capacity=40", "root.people.capacity=30", "root.zebra.capacity=20",
      "root.batch.queues=daily,nightly", "root.batch.daily.capacity=75",
      "root.batch.daily.maximum-capacity=80", "root.batch.daily.minimum-user-limit-percent=25",
      "root.batch.daily.user-limit-factor=2", "root.batch.daily.ordering-policy=fair",
      "root.batch.daily.maximum-am-resource-percent=0.3", "root.batch.daily.max-parallel-apps=7",
      "root.batch.daily.acl_submit_applications=alice,bob staff",
      "root.batch.nightly.capacity=25", "root.batch.nightly.default-application-priority=3",
      "root.batch.nightly.maximum-application-lifetime=3600", "root.people.queues=ana",
      "root.people.ana.capacity=100", "root.zebra.state=STOPPED",
      "root.zebra.maximum-applications=12", "root.zebra.maximum-allocation-mb=2048"};
  private static final String DOMINANT =
      "resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator";
  private static final String[] WEIGHTS = {DOMINANT, "root.queues=default,people,tenants",
      "root.default.capacity=1w", "root.people.capacity=3w", "root.tenants.capacity=2w",
      "root.tenants.auto-queue-creation-v2.enabled=true",
      "root.tenants.auto-queue-creation-v2.template.capacity=2w", "root.people.queues=ana",
      "root.people.ana.capacity=1w", "root.people.ana.disable_preemption=true"};
  private static final String[] AMOUNTS = {DOMINANT, "root.queues=default,people",
      "root.default.capacity=[memory=2048,vcores=2]",
      "root.people.capacity=[memory=4096,vcores=5]",
      "root.people.maximum-capacity=[memory=6144,vcores=6]", "root.people.queues=ana",
      "root.people.ana.capacity=[memory=3072,vcores=3]"};

  private static YarnConfiguration configuration(String scheduler, String[] file, Path folder)
      throws Exception {
    YarnConfiguration conf = MiniManager.configuration(scheduler, folder);
    conf.set("heddle.queues.from", "capacity");
    for (String property : file) {
      int equals = property.indexOf('=');
      conf.set(PREFIX + property.substring(0, equals), property.substring(equals + 1));
    }
    return conf;
  }

  /** What one scheduler says: documents by name. */
  private static Map<String, List<String>> ask(String scheduler, String[] file, String user)
      throws Exception {
    Path folder = Files.createTempDirectory("capacity");
    YarnConfiguration conf = configuration(scheduler, file, folder);
    Map<String, List<String>> said = new HashMap<>();
    try (MiniManager manager = MiniManager.start(conf, folder)) {
      Await.until("the node counts", Await.SECONDS, () -> manager.get(INFO).body.contains(
          "\"resourcesUsed\"") && manager.get(INFO).body.contains("\"memory\":8192,\"vCores\":8"));
      if (user != null) {
        said.put("reports", run(manager, user, "root.people.ana"));
      }
      said.put(JSON, Lines.ofJson(manager.get(INFO, JSON).body));
      said.put(XML, Lines.ofXml(manager.get(INFO, XML).body));
      said.put("queues", describe(manager.manager, "root", "people", "ana", "root.people.ana"));
    }
    return said;
  }

  private static List<String> describe(ResourceManager manager, String... names)
      throws Exception {
    List<String> said = new ArrayList<>();
    for (String name : names) {
      QueueInfo info;
      try {
        info = manager.getResourceScheduler().getQueueInfo(name, true, false);
      } catch (java.io.IOException e) {
        said.add(name + " is unknown");
        continue;
      }
      info.setChildQueues(new ArrayList<QueueInfo>());
      for (String line : info.toString().split("\\s+(?=[a-zA-Z]+[:{ ])")) {
        said.add(name + " " + line);
      }
    }
    return said;
  }

  /** Runs an ApplicationMaster and has a second one wait; returns what the first one uses. */
  private static List<String> run(MiniManager manager, String user, String queue)
      throws Exception {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      Reply fresh =
          manager.send("POST", APPS + "/new-application?user.name=" + user, JSON, "{}");
      ids.add(new ObjectMapper().readTree(fresh.body).path("application-id").asText());
      Reply submitted = manager.send("POST", APPS + "?user.name=" + user, JSON,
          "{\"application-id\": \"" + ids.get(i) + "\", \"application-name\": \"waits\","
              + "\"queue\": \"" + queue + "\", \"am-container-spec\": {},"
              + "\"resource\": {\"memory\": 1024, \"vCores\": 1}}");
      assertEquals(submitted.toString(), 202, submitted.status);
      String id = ids.get(i);
      Await.until("the application is accepted", Await.SECONDS, () -> {
        manager.node.nodeHeartbeat(true);
        String body = manager.get(APPS + "/" + id, JSON).body;
        return body.contains(id.equals(ids.get(0)) ? "\"allocatedMB\":1024" : "ACCEPTED");
      });
    }
    // Heddle shows the queues of its last tick, when the first application may have waited.
    Await.until("both are shown", Await.SECONDS, () -> {
      String body = manager.get(INFO, JSON).body;
      return body.contains("\"pendingContainers\":1")
          && body.contains("\"allocatedContainers\":1");
    });
    List<String> usage = Lines.ofJson(manager.get(APPS + "/" + ids.get(0), JSON).body);
    usage.removeIf(line -> !line.matches(".*(UsagePercentage|running|allocated).*"));
    return usage;
  }

  private static void compare(String[] file, String user, String known) throws Exception {
    Map<String, List<String>> stock = ask(CapacityScheduler.class.getName(), file, user);
    assertTrue(stock.get(JSON).size() > 300);
    Map<String, List<String>> ours = ask(MiniCluster.HEDDLE, file, user);
    StringBuilder all = new StringBuilder();
    stock.forEach((what, lines) -> {
      String differences = Lines.differences(lines, ours.get(what), known);
      if (!differences.isEmpty()) {
        all.append(what).append(":\n").append(differences);
      }
    });
    assertEquals("", all.toString());
  }

  @Test
  public void percentAreAnsweredAsByTheStockScheduler() throws Exception {
    compare(PERCENT, null, KNOWN);
  }

  @Test
  public void weightsAreAnsweredAsByTheStockScheduler() throws Exception {
    assumeFalse("weights are new in 3.4", VersionInfo.getVersion().startsWith("3.3"));
    compare(WEIGHTS, null, KNOWN);
  }

  @Test
  public void amountsAreAnsweredAsByTheStockScheduler() throws Exception {
    compare(AMOUNTS, null, KNOWN);
  }

  @Test
  public void useAndUsersAreAnsweredAsByTheStockScheduler() throws Exception {
    compare(PERCENT, "alice", KNOWN);
  }

  /** Every place in which one scheduler shows that a queue drains. */
  private static List<String> draining(String scheduler) throws Exception {
    Path folder = Files.createTempDirectory("capacity");
    YarnConfiguration conf = configuration(scheduler, PERCENT, folder);
    conf.set(ZEBRA_STATE, "RUNNING");
    List<String> said = new ArrayList<>();
    try (MiniManager manager = MiniManager.start(conf, folder)) {
      run(manager, "alice", "root.zebra");
      YarnConfiguration stopped = new YarnConfiguration(conf);
      stopped.set(ZEBRA_STATE, "STOPPED");
      manager.manager.getResourceScheduler().reinitialize(
          stopped, manager.manager.getRMContext());
      Await.until("it drains", Await.SECONDS,
          () -> manager.get(INFO, JSON).body.contains(DRAINING));
      said.addAll(Lines.ofJson(manager.get(INFO, JSON).body));
      said.addAll(Lines.ofXml(manager.get(INFO, XML).body));
      said.addAll(describe(manager.manager, "zebra"));
      said.removeIf(line -> !line.contains(DRAINING));
      // After a refresh stock lists queues in another order.
      said.replaceAll(line -> line.replaceAll("\\[\\d+]", ""));
      if (manager.get("/cluster/scheduler").body.contains(DRAINING)) {
        said.add("the page");
      }
    }
    return said;
  }

  /** Till its applications have ended; {@code yarn queue -status} shows the report of the queue. */
  @Test
  public void aStoppedQueueWithApplicationsDrainsAsInTheStockScheduler() throws Exception {
    List<String> stock = draining(CapacityScheduler.class.getName());
    assertEquals("JSON, XML, report and page: " + stock, 4, stock.size());
    assertEquals(stock, draining(MiniCluster.HEDDLE));
  }
}
