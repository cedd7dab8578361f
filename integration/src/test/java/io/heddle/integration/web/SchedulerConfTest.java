package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.web.MiniManager.Reply;
import io.heddle.yarn.HeddleScheduler;
import java.io.File;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.client.cli.SchedConfCLI;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Changes the queues of a running ResourceManager by YARN's REST API {@code scheduler-conf} and by
 * {@code yarn schedulerconf}, with the stock Capacity Scheduler and with Heddle over its file.
 * Newest Hadoop only.
 */
public class SchedulerConfTest {
  private static final String CONF = "/ws/v1/cluster/scheduler-conf";
  private static final String INFO = "/ws/v1/cluster/scheduler";
  private static final String JSON = "application/json";
  private static final String ROOT = "yarn.scheduler.capacity.root.";
  private static final String FILE = "capacity-scheduler.xml";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private ClassLoader before;
  /** The ZooKeeper of the store {@code zk}; null until a test needs it. */
  private ServerCnxnFactory zooKeeper;

  /** YARN's stores take over the capacity-scheduler.xml of the class path. */
  @Before
  public void putTheFolderOnTheClassPath() throws Exception {
    before = Thread.currentThread().getContextClassLoader();
    Path file = folder.newFile(FILE).toPath();
    StringBuilder text = new StringBuilder("<configuration>");
    for (String[] property : new String[][] {{"queues", "a,b"}, {"a.capacity", "60"},
        {"b.capacity", "40"}}) {
      text.append("<property><name>").append(ROOT).append(property[0]).append("</name><value>")
          .append(property[1]).append("</value></property>");
    }
    Files.write(file, text.append("</configuration>").toString()
        .getBytes(StandardCharsets.UTF_8));
    Thread.currentThread().setContextClassLoader(new ClassLoader(before) {
      @Override
      public URL getResource(String name) {
        try {
          File found = new File(folder.getRoot(), name);
          return found.isFile() ? found.toURI().toURL() : super.getResource(name);
        } catch (MalformedURLException e) {
          throw new AssertionError(e);
        }
      }
    });
  }

  @After
  public void restoreTheClassPath() {
    Thread.currentThread().setContextClassLoader(before);
    if (zooKeeper != null) {
      zooKeeper.shutdown();
    }
  }

  /** The address of a ZooKeeper server; starts it first. */
  private String zooKeeper() throws Exception {
    if (zooKeeper == null) {
      File data = folder.newFolder("zookeeper");
      zooKeeper = new NIOServerCnxnFactory();
      zooKeeper.configure(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      zooKeeper.startup(new ZooKeeperServer(data, data, ZooKeeperServer.DEFAULT_TICK_TIME));
    }
    return "127.0.0.1:" + zooKeeper.getLocalPort();
  }

  private YarnConfiguration conf(String scheduler, String store) throws Exception {
    YarnConfiguration conf =
        MiniManager.configuration(scheduler, Files.createTempDirectory("store"));
    conf.set("heddle.queues.from", "capacity");
    conf.set(YarnConfiguration.SCHEDULER_CONFIGURATION_STORE_CLASS, store);
    conf.set("yarn.scheduler.configuration.fs.path", folder.getRoot() + "/fs");
    conf.set("yarn.scheduler.configuration.leveldb-store.path", folder.getRoot() + "/leveldb");
    if (store.equals("zk")) {
      conf.set("hadoop.zk.address", zooKeeper());
      conf.set("yarn.scheduler.configuration.zk-store.parent-path", "/" + scheduler);
    }
    return conf;
  }

  private MiniManager start(Configuration conf) throws Exception {
    return MiniManager.start((YarnConfiguration) conf, Files.createTempDirectory("manager"));
  }

  /** Requests one change; returns the status. */
  private static int change(MiniManager manager, String add, String update, String remove)
      throws Exception {
    return put(manager, add, update, remove).status;
  }

  private static Reply put(MiniManager manager, String add, String update, String remove)
      throws Exception {
    return MiniManager.send(manager.address, "PUT", CONF + "?user.name=admin", null,
        json(add, update, remove));
  }

  /** Writes a change; each queue as {@code root.a key=value}. */
  private static String json(String add, String update, String remove) {
    List<String> parts = new ArrayList<>();
    if (add != null) {
      parts.add("\"add-queue\":[" + queue(add) + "]");
    }
    if (update != null) {
      StringBuilder all = new StringBuilder();
      for (String one : update.split(";")) {
        all.append(all.length() == 0 ? "" : ",").append(queue(one));
      }
      parts.add("\"update-queue\":[" + all + "]");
    }
    if (remove != null) {
      parts.add("\"remove-queue\":[\"" + remove + "\"]");
    }
    return "{" + String.join(",", parts) + "}";
  }

  private static String queue(String text) {
    String[] words = text.split(" ");
    StringBuilder entries = new StringBuilder();
    for (int i = 1; i < words.length; i++) {
      String[] pair = words[i].split("=", 2);
      entries.append(i == 1 ? "" : ",").append("{\"key\":\"").append(pair[0])
          .append("\",\"value\":\"").append(pair[1]).append("\"}");
    }
    return "{\"queue-name\":\"" + words[0] + "\",\"params\":{\"entry\":[" + entries + "]}}";
  }

  /** Returns the stored properties of queues in order. */
  private static String stored(MiniManager manager) throws Exception {
    Reply reply = manager.get(CONF + "?user.name=admin", JSON);
    assertEquals(reply.toString(), 200, reply.status);
    return properties(reply.body);
  }

  private static String properties(String body) throws Exception {
    TreeMap<String, String> properties = new TreeMap<>();
    for (JsonNode list : new ObjectMapper().readTree(body).findValues("property")) {
      list.forEach(property -> {
        if (property.path("name").asText().startsWith(ROOT)) {
          properties.put(property.path("name").asText().substring(ROOT.length()),
              property.path("value").asText());
        }
      });
    }
    return properties.toString();
  }

  /** Returns each queue below root and its percentage, as the scheduler has them in force. */
  private static String inForce(MiniManager manager) throws Exception {
    JsonNode queues = new ObjectMapper().readTree(manager.get(INFO, JSON).body)
        .path("scheduler").path("schedulerInfo").path("queues").path("queue");
    TreeMap<String, String> shares = new TreeMap<>();
    queues.forEach(queue -> {
      if (!queue.path("state").asText().equals("DRAINING")) {
        shares.put(queue.path("queueName").asText(), queue.path("capacity").asText());
      }
    });
    return shares.toString();
  }

  private static int command(MiniManager manager, String... args) throws Exception {
    SchedConfCLI command = new SchedConfCLI();
    command.setConf(manager.manager.getConfig());
    return command.run(args);
  }

  private static Reply validate(MiniManager manager, String update) throws Exception {
    return MiniManager.send(manager.address, "POST", CONF + "/validate?user.name=admin", JSON,
        json(null, update, null));
  }

  /** Carries out the same steps with any scheduler; returns what each answered. */
  private List<String> steps(Configuration conf) throws Exception {
    List<String> said = new ArrayList<>();
    try (MiniManager manager = start(conf)) {
      said.add("at first " + stored(manager) + inForce(manager));
      said.add("add " + change(manager, "root.c capacity=25",
          "root.a capacity=50;root.b capacity=25", null) + stored(manager) + inForce(manager));
      said.add("version " + manager.get(CONF + "/version?user.name=admin", JSON).body);
      said.add("sums to 105 " + change(manager, null, "root.a capacity=55", null)
          + stored(manager) + inForce(manager));
      said.add("no number " + change(manager, null, "root.a capacity=x", null) + stored(manager));
      said.add("validate a good one " + validate(manager,
          "root.a capacity=30;root.b capacity=45").status);
      said.add(properties(validate(manager, "root.a capacity=30;root.b capacity=45").body));
      said.add("validate a bad one " + validate(manager, "root.a capacity=31").status
          + stored(manager));
      said.add("stop " + change(manager, null, "root.c state=STOPPED", null) + stored(manager));
      said.add("command, remove " + command(manager, "-remove", "root.c", "-update",
          "root.a:capacity=60;root.b:capacity=40") + stored(manager) + inForce(manager));
      said.add("command, add " + command(manager, "-add", "root.d:capacity=0")
          + stored(manager) + inForce(manager));
      said.add("command, unknown " + (command(manager, "-remove", "root.x") == 0));
      said.add("command, global " + command(manager, "-global",
          "yarn.scheduler.capacity.maximum-applications=77") + stored(manager));
      said.add("refresh " + (new RMAdminCLI(manager.manager.getConfig()).run(
          new String[] {"-refreshQueues"}) == 0));
      said.add("format " + manager.get(CONF + "/format?user.name=admin", JSON).status
          + stored(manager) + inForce(manager));
      said.add("add after it " + change(manager, "root.e capacity=0", null, null)
          + stored(manager));
    }
    return said;
  }

  private void compare(String store) throws Exception {
    List<String> stock = steps(conf(CapacityScheduler.class.getName(), store));
    FileUtil.fullyDelete(new File(folder.getRoot(), "fs"));
    FileUtil.fullyDelete(new File(folder.getRoot(), "leveldb"));
    List<String> ours = steps(conf(MiniCluster.HEDDLE, store));
    assertEquals(String.join("\n", stock), String.join("\n", ours));
  }

  @Test
  public void theMemoryStoreAnswersAsWithTheStockScheduler() throws Exception {
    compare("memory");
  }

  @Test
  public void theStoreOnAFileSystemAnswersAsWithTheStockScheduler() throws Exception {
    compare("fs");
  }

  @Test
  public void theStoreInZooKeeperAnswersAsWithTheStockScheduler() throws Exception {
    compare("zk");
  }

  @Test
  public void storesKeepChangesOverARestart() throws Exception {
    for (String store : new String[] {"fs", "leveldb", "zk"}) {
      Configuration conf = conf(MiniCluster.HEDDLE, store);
      String stored;
      try (MiniManager manager = start(conf)) {
        assertEquals(200, change(manager, "root.c capacity=25",
            "root.a capacity=50;root.b capacity=25", null));
        stored = stored(manager);
      }
      try (MiniManager manager = start(conf(MiniCluster.HEDDLE, store))) {
        assertEquals(store, stored, stored(manager));
        assertEquals("{a=50.0, b=25.0, c=25.0}", inForce(manager));
      }
    }
  }

  /** The stock scheduler takes a weight of one user in one queue; Heddle says what to do. */
  @Test
  public void whatHeddleCannotDoIsRefusedAndTheOldStateStays() throws Exception {
    try (MiniManager manager = start(conf(MiniCluster.HEDDLE, "memory"))) {
      String stored = stored(manager);
      Reply refused = put(manager, null, "root.a reservable=true", null);
      assertEquals(refused.toString(), 400, refused.status);
      assertTrue(refused.body, refused.body.contains("memory")
          && refused.body.contains("root.a.reservable: refused: ")
          && refused.body.contains("heddle.queues.tolerate"));
      assertEquals(stored, stored(manager));
      Reply validated = validate(manager, "root.a reservable=true");
      assertEquals(400, validated.status);
      assertTrue(validated.body, validated.body.contains("root.a.reservable: refused: "));
      // 100 times 0.6 in 32 bits, as with the stock scheduler.
      assertEquals("{a=60.000004, b=40.0}", inForce(manager));
      HeddleScheduler scheduler = (HeddleScheduler) manager.manager.getResourceScheduler();
      assertEquals("60", scheduler.getConfiguration().get(ROOT + "a.capacity"));
      assertEquals(200, change(manager, null, "root.a capacity=70;root.b capacity=30", null));
    }
  }

  /** heddle.json holds; what it says of a queue may not fit to what a change says of it. */
  @Test
  public void whatTheEngineWouldRefuseIsNotValid() throws Exception {
    Path json = folder.newFile("heddle.json").toPath();
    Files.write(json, "{\"queues\": [{\"path\": \"root.a\", \"max_share\": {\"memory-mb\": 2048}}]}"
        .getBytes(StandardCharsets.UTF_8));
    Configuration conf = conf(MiniCluster.HEDDLE, "memory");
    try (MiniManager manager = start(conf)) {
      String[] updates = {"root.a capacity=[memory=1024,vcores=1];"
          + "root.b capacity=[memory=1024,vcores=1]", "root.a capacity=[memory=4096,vcores=1];"
          + "root.b capacity=[memory=1024,vcores=1]"};
      assertEquals(200, validate(manager, updates[0]).status);
      Reply validated = validate(manager, updates[1]);
      assertEquals(validated.toString(), 400, validated.status);
      assertTrue(validated.body, validated.body.contains(
          "max_share`: the maximum of memory-mb (2048) is below the minimum (4096)"));
      Reply refused = put(manager, null, updates[1], null);
      assertEquals(refused.toString(), 400, refused.status);
      assertEquals("{a=60.000004, b=40.0}", inForce(manager));
      assertEquals(200, put(manager, null, updates[0], null).status);
    }
  }

  @Test
  public void withoutAStoreNothingIsMutable() throws Exception {
    Configuration file = conf(MiniCluster.HEDDLE, "file");
    Configuration own = conf(MiniCluster.HEDDLE, "memory");
    own.set("heddle.queues.from", "heddle");
    for (Configuration conf : new Configuration[] {file, own}) {
      try (MiniManager manager = start(conf)) {
        Await.until("it answers", Await.SECONDS, () -> manager.get(INFO, JSON).status == 200);
        assertFalse(((HeddleScheduler) manager.manager.getResourceScheduler())
            .isConfigurationMutable());
        assertEquals(400, change(manager, "root.c capacity=0", null, null));
        assertEquals(400, manager.get(CONF + "?user.name=admin", JSON).status);
        assertEquals(400, validate(manager, "root.a capacity=60").status);
      }
    }
  }
}
