package io.heddle.yarn.config;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.NativeLibrary;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests the allocations file on the Java side: when it is read, the effect of a change on a running
 * cluster, and messages about a file that cannot be used. Tests of its content are in rust/core.
 * The clock is a number, which also gives files their dates. Newest Hadoop only: Heddle itself
 * reads the file.
 */
public class AllocationsTest {
  /** A time in 2001, before any file of a test was written. */
  private static final long T0 = 1_000_000_000_000L;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final Lines lines = new Lines();
  private Path path;

  /** Collects the warnings and errors of {@link ConfigControl}. */
  private static final class Lines extends AppenderSkeleton {
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    @Override
    protected void append(LoggingEvent event) {
      if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
        lines.add(event.getRenderedMessage());
      }
    }

    @Override
    public void close() {}

    @Override
    public boolean requiresLayout() {
      return false;
    }

    /** Returns the lines since the last call. */
    List<String> take() {
      List<String> taken = new ArrayList<>(lines);
      lines.clear();
      return taken;
    }

    String takeOne() {
      List<String> taken = take();
      assertEquals(taken.toString(), 1, taken.size());
      return taken.get(0);
    }
  }

  @Before
  public void listen() {
    path = folder.getRoot().toPath().resolve("pools.txt");
    Logger.getLogger(ConfigControl.class).addAppender(lines);
  }

  @After
  public void listenNoMore() {
    Logger.getLogger(ConfigControl.class).removeAppender(lines);
  }

  private void write(String text, long modifiedMs) throws IOException {
    Files.write(path, text.getBytes(StandardCharsets.UTF_8));
    Files.setLastModifiedTime(path, FileTime.fromMillis(modifiedMs));
  }

  @Test
  public void itIsNamedInHeddleJsonOrByTheOriginalProperty() throws Exception {
    NativeLibrary.load(System.getProperty(NativeLibrary.PATH_PROPERTY));
    Configuration conf = new Configuration(false);
    Path json = folder.newFile("heddle.json").toPath();
    conf.set(ConfigFile.FILE_PROPERTY, json.toString());
    Files.write(json, "{}".getBytes(StandardCharsets.UTF_8));
    assertNull(ConfigFile.read(conf, null).allocations());
    conf.set("mapred.fairscheduler.allocation.file", "/etc/pools.xml");
    assertEquals("/etc/pools.xml", ConfigFile.read(conf, null).allocations().name());
    Files.write(json, "{\"allocations_file\": \"pools.txt\"}".getBytes(StandardCharsets.UTF_8));
    assertEquals(path.toString(), ConfigFile.read(conf, null).allocations().name());
  }

  // ---- What a change does.

  /** The order that reads the file's minimums of maps. */
  private static final String DEFICIT = ", \"policy\": {\"order\": \"deficit\"}";

  private String heddleJson(String rest) {
    return "{\"heartbeat_fill\": 1.0, \"allocations_file\": \"" + path + "\"" + rest + "}";
  }

  /** Makes a cluster that checks the file only when a test asks for it. */
  private static TestCluster cluster(Configuration conf) throws Exception {
    TestCluster cluster = new TestCluster(conf);
    cluster.scheduler.inspection().config().stop();
    return cluster;
  }

  private static JsonNode queue(TestCluster cluster, String path) {
    for (JsonNode queue : cluster.request(SetupJson.request("queues")).path("queues")) {
      if (queue.path("path").asText().equals(path)) {
        return queue;
      }
    }
    throw new AssertionError("no queue " + path);
  }

  private static int minMaps(TestCluster cluster, String path) {
    return queue(cluster, path).path("min_maps").asInt();
  }

  @Test
  public void aChangeHoldsWhileJobsRunAndTheyKeepTheirContainers() throws Exception {
    String queues = DEFICIT + ", \"queues\": [{\"path\": \"root.ads\", \"min_maps\": 7}]";
    write("ads 1 0\nweb 2 0", T0);
    try (TestCluster cluster = cluster(TestCluster.conf(heddleJson(queues)))) {
      // The file at the start is used at once, even if it is new.
      assertEquals(1, minMaps(cluster, "root.ads"));
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.launch(cluster.submit("alice", "web"), node);
      ask(am, any(20, GB, 5));
      cluster.heartbeat();
      assertEquals(5, fetch(am).size());

      write("<allocations><pool name='ads'><weight>3</weight></pool></allocations>", T0 + 10_000);
      cluster.scheduler.inspection().config().look(T0 + 14_000);
      assertEquals("not settled", 1, minMaps(cluster, "root.ads"));
      cluster.scheduler.inspection().config().look(T0 + 20_000);
      JsonNode ads = queue(cluster, "root.ads");
      assertEquals(3.0, ads.path("weight").asDouble(), 0);
      assertEquals("heddle.json's", 7, ads.path("min_maps").asInt());
      assertEquals(0, minMaps(cluster, "root.web"));

      cluster.tick();
      cluster.heartbeat();
      assertEquals(6, cluster.scheduler
          .getAppResourceUsageReport(am.getApplicationAttemptId()).getNumUsedContainers());
      assertEquals(2 * GB, cluster.freeMb(node));
      ask(am, any(20, GB, 2));
      cluster.heartbeat();
      assertEquals("and it goes on", 2, fetch(am).size());
      // A pool that the file no longer names takes jobs like any other.
      assertEquals("root.web", cluster.submit("bob", "web").getQueue());
      assertEquals(Collections.emptyList(), lines.take());
    }
  }

  @Test
  public void aWrongFileIsSaidOnceAndWhatIsInForceStays() throws Exception {
    write("ads 1 0", T0);
    try (TestCluster cluster = cluster(TestCluster.conf(heddleJson("")))) {
      ConfigControl config = cluster.scheduler.inspection().config();
      long now = T0;
      write("# half\nads", now += 10_000);
      config.look(now += 10_000);
      String said = lines.takeOne();
      assertTrue(said,
          said.startsWith(path + ": line 2: expected a pool, its minimum of map slots"));
      assertTrue(said, said.contains("configuration in force stays"));
      for (int i = 0; i < 3; i++) {
        config.look(now += 10_000);
        // Touched without a change.
        Files.setLastModifiedTime(path, FileTime.fromMillis(now));
        config.look(now += 10_000);
      }
      assertEquals(Collections.emptyList(), lines.take());
      assertEquals(1, minMaps(cluster, "root.ads"));

      write("# half\nweb", now);
      config.look(now += 10_000);
      assertTrue("another content", lines.takeOne().contains(": line 2: "));
      write("ads 2 0", now);
      config.look(now += 10_000);
      assertEquals(Collections.emptyList(), lines.take());
      assertEquals(2, minMaps(cluster, "root.ads"));
      write("# half\nweb", now);
      config.look(now += 10_000);
      assertTrue("wrong again", lines.takeOne().contains(": line 2: "));

      Files.delete(path);
      config.look(now += 10_000);
      config.look(now += 10_000);
      assertTrue(lines.takeOne().startsWith(path + ": there is no such file"));
      assertEquals(2, minMaps(cluster, "root.ads"));
      Files.write(path, new byte[] {'a', '\n', (byte) 0xe4});
      Files.setLastModifiedTime(path, FileTime.fromMillis(now));
      config.look(now += 10_000);
      assertTrue(lines.takeOne().contains(": line 2: expected UTF-8"));
      Files.write(path, new byte[10 << 20]);
      Files.setLastModifiedTime(path, FileTime.fromMillis(now));
      config.look(now += 10_000);
      assertTrue(lines.takeOne().contains("is larger than 1048576 bytes"));
      assertEquals(2, minMaps(cluster, "root.ads"));
    }
  }

  @Test
  public void whatIsLeftOutIsSaidOnce() throws Exception {
    write("# none", T0);
    try (TestCluster cluster = cluster(TestCluster.conf(heddleJson("")))) {
      write("<allocations>\n<pool name='ads'><minMap>1</minMap></pool></allocations>", T0 + 10_000);
      cluster.scheduler.inspection().config().look(T0 + 20_000);
      cluster.scheduler.inspection().config().look(T0 + 30_000);
      String said = lines.takeOne();
      assertTrue(said, said.startsWith(path + ": line 2: `minMap` is not known; did you mean"
          + " `minMaps`?"));
    }
  }

  @Test
  public void aWrongFileKeepsNoResourceManagerFromStarting() throws Exception {
    write("<allocations>", T0);
    String queues = DEFICIT + ", \"queues\": [{\"path\": \"root.ads\", \"min_maps\": 7}]";
    try (TestCluster cluster = cluster(TestCluster.conf(heddleJson(queues)))) {
      assertTrue(lines.takeOne().startsWith(path + ": line 1: "));
      assertEquals(7, minMaps(cluster, "root.ads"));
      write("ads 3 0", T0 + 10_000);
      cluster.scheduler.inspection().config().look(T0 + 20_000);
      assertEquals(3, minMaps(cluster, "root.ads"));
    }
  }

  @Test
  public void aReloadTakesBothFilesOrNeither() throws Exception {
    write("ads 1 0", T0);
    Configuration conf = TestCluster.conf(heddleJson(DEFICIT));
    try (TestCluster cluster = cluster(conf)) {
      Path json = Paths.get(conf.get(ConfigFile.FILE_PROPERTY));
      String web = DEFICIT + ", \"queues\": [{\"path\": \"root.web\", \"min_maps\": 4}]";
      Files.write(json, heddleJson(web).getBytes(StandardCharsets.UTF_8));
      write("ads x 0", T0);
      try {
        cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
        fail("the allocations file is wrong");
      } catch (IOException e) {
        assertTrue(e.getMessage(), e.getMessage().startsWith(path + ": line 1: minimum of map"));
      }
      assertEquals(1, minMaps(cluster, "root.ads"));
      assertNull(cluster.scheduler.queueReports().snapshot().get("root.web"));
      // An administrator's refresh reads it without the wait.
      write("ads 5 0", System.currentTimeMillis());
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(5, minMaps(cluster, "root.ads"));
      assertEquals(4, minMaps(cluster, "root.web"));
      // A deleted file stays in force; one that heddle.json no longer names does not.
      Files.delete(path);
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(5, minMaps(cluster, "root.ads"));
      assertTrue(lines.takeOne().contains("there is no such file"));
      Files.write(json, "{}".getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(0, minMaps(cluster, "root.ads"));
      cluster.scheduler.inspection().config().look(T0 + 60_000);
      assertEquals(Collections.emptyList(), lines.take());
    }
  }

  // ---- Users.

  private static String why(TestCluster cluster, int job) {
    return cluster.request(SetupJson.request("explain", "job", job)).toString();
  }

  @Test
  public void usersAreLimitedByNameAlsoInAnEngineThatIsMadeAnew() throws Exception {
    write("<allocations><userMaxJobsDefault>1</userMaxJobsDefault>"
        + "<user name='alice'><maxRunningJobs>2</maxRunningJobs></user></allocations>", T0);
    String rest = ", \"testing\": {\"faults\": true}, \"policy\": {\"order\": \"deficit\"}";
    Configuration conf = TestCluster.conf(heddleJson(rest));
    try (TestCluster cluster = cluster(conf).expectFaults()) {
      MockNM node = cluster.node("a1", 64 * GB);
      List<MockAM> masters = new ArrayList<>();
      for (String user : new String[] {"alice", "alice", "alice", "bob", "bob"}) {
        masters.add(cluster.launch(cluster.submit(user, "shared"), node));
      }
      for (MockAM master : masters) {
        ask(master, any(20, GB, 1));
      }
      cluster.heartbeat();
      // Third of alice's two, second of bob's one.
      assertEquals(Arrays.asList(1, 1, 0, 1, 0), granted(masters));
      for (int engine = 0; engine < 2; engine++) {
        cluster.tick();
        cluster.heartbeat();
        assertTrue(why(cluster, 2), why(cluster, 2).contains("its user runs 2 of 2 jobs"));
        assertTrue(why(cluster, 4), why(cluster, 4).contains("its user runs 1 of 1 jobs"));
        assertEquals(Arrays.asList(0, 0, 0, 0, 0), granted(masters));
        if (engine == 0) {
          cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
        }
      }
      assertEquals(1, cluster.scheduler.inspection().engineRebuilds());
      write("# no limits", T0 + 10_000);
      cluster.scheduler.inspection().config().look(T0 + 20_000);
      cluster.tick();
      cluster.heartbeat();
      assertEquals(Arrays.asList(0, 0, 1, 0, 1), granted(masters));
    }
  }

  private static List<Integer> granted(List<MockAM> masters) throws Exception {
    List<Integer> granted = new ArrayList<>();
    for (MockAM master : masters) {
      granted.add(fetch(master).size());
    }
    return granted;
  }

  @Test
  public void aChangeWaitsForAnEngine() throws Exception {
    write("ads 1 0", T0);
    String faults = ", \"testing\": {\"faults\": true}";
    Configuration conf = TestCluster.conf(heddleJson(faults));
    try (TestCluster cluster = cluster(conf).expectFaults()) {
      // Lost so often that the next engine is made only after a pause.
      while (cluster.scheduler.inspection().engineUp()) {
        cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      }
      write("ads 2 0", T0 + 10_000);
      cluster.scheduler.inspection().config().look(T0 + 20_000);
      assertEquals(Collections.emptyList(), lines.take());
      for (int i = 0; i < 600 && !cluster.scheduler.inspection().engineUp(); i++) {
        Thread.sleep(100);
        cluster.tick();
      }
      assertEquals("of before", 1, minMaps(cluster, "root.ads"));
      cluster.scheduler.inspection().config().look(T0 + 30_000);
      assertEquals(2, minMaps(cluster, "root.ads"));
    }
  }
}
