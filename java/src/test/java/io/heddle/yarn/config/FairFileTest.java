package io.heddle.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
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
 * Tests the Fair Scheduler's own file as the source of queues: where it is found, when it is read,
 * and what a wrong one does. Tests of its content are in rust/stock. The clock is a number, which
 * also gives files their dates. Newest Hadoop only: Heddle itself finds and reads the file.
 */
public class FairFileTest {
  private static final String NAMED = "yarn.scheduler.fair.allocation.file";
  /** A time in 2001, before any file of a test was written. */
  private static final long T0 = 1_000_000_000_000L;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
  private final AppenderSkeleton appender = new AppenderSkeleton() {
    @Override
    protected void append(LoggingEvent event) {
      if (event.getLevel().isGreaterOrEqual(Level.ERROR)) {
        lines.add(event.getRenderedMessage());
      }
    }

    @Override
    public void close() {}

    @Override
    public boolean requiresLayout() {
      return false;
    }
  };
  private ClassLoader before;
  private Path path;

  /** The local file system under another name. */
  public static final class Bucket extends RawLocalFileSystem {
    @Override
    public URI getUri() {
      return URI.create("s3a://bucket");
    }
  }

  @Before
  public void prepare() {
    before = Thread.currentThread().getContextClassLoader();
    path = folder.getRoot().toPath().resolve("fair.xml");
    Logger.getLogger(ConfigControl.class).addAppender(appender);
  }

  @After
  public void restore() {
    Thread.currentThread().setContextClassLoader(before);
    Logger.getLogger(ConfigControl.class).removeAppender(appender);
  }

  private static void write(Path file, String text, long modifiedMs) throws IOException {
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
    Files.setLastModifiedTime(file, FileTime.fromMillis(modifiedMs));
  }

  private static String queue(String name, double weight) {
    return "<allocations>\n<queue name='" + name + "'>\n<weight>" + weight
        + "</weight></queue></allocations>";
  }

  private Configuration conf(String named, String heddleJson) throws IOException {
    Configuration conf = TestCluster.conf(heddleJson);
    conf.set("heddle.queues.from", "fair");
    if (named != null) {
      conf.set(NAMED, named);
    }
    return conf;
  }

  /** Makes a cluster that looks at the file only when a test asks for it. */
  private static TestCluster cluster(Configuration conf) throws Exception {
    TestCluster cluster = new TestCluster(conf);
    cluster.scheduler.inspection().config().stop();
    return cluster;
  }

  /** Returns a queue's weight in the engine; null if there is no such queue. */
  private static Double weight(TestCluster cluster, String path) {
    for (JsonNode queue : cluster.request(SetupJson.request("queues")).path("queues")) {
      if (queue.path("path").asText().equals(path)) {
        return queue.path("weight").asDouble();
      }
    }
    return null;
  }

  private void expectRefused(Configuration conf, String... words) {
    try {
      new TestCluster(conf).close();
      fail("must not start");
    } catch (Exception e) {
      StringBuilder text = new StringBuilder();
      for (Throwable t = e; t != null; t = t.getCause()) {
        text.append(t.getMessage()).append('\n');
      }
      for (String word : words) {
        assertTrue(text.toString(), text.indexOf(word) >= 0);
      }
    }
  }

  // ---- Where it is found.

  @Test
  public void itIsFoundWhereTheFairSchedulerFindsIt() throws Exception {
    write(path, queue("absolute", 2), T0);
    // Not that of the class path, and not one of the default file system.
    Path onPath = folder.newFolder("a folder of conf").toPath();
    write(onPath.resolve("fair-scheduler.xml"), queue("standard", 3), T0);
    write(onPath.resolve("named.xml"), queue("named", 4), T0);
    Thread.currentThread().setContextClassLoader(
        new URLClassLoader(new URL[] {onPath.toUri().toURL()}, before));
    String[][] cases = {
        {path.toString(), "root.absolute"}, {"file://" + path, "root.absolute"},
        {null, "root.standard"}, {"named.xml", "root.named"},
        {"s3a://bucket" + path, "root.absolute"},
    };
    for (String[] one : cases) {
      Configuration conf = conf(one[0], "{}");
      conf.set("fs.defaultFS", "hdfs://nowhere.invalid:1");
      conf.set("fs.s3a.impl", Bucket.class.getName());
      try (TestCluster cluster = cluster(conf)) {
        assertNotNull(one[1], weight(cluster, one[1]));
      }
    }
  }

  @Test
  public void aNameThatIsNotOnTheClassPathMeansNoFile() throws Exception {
    try (TestCluster cluster = cluster(conf("no-such-file.xml", "{}"))) {
      assertNotNull(weight(cluster, "root"));
      cluster.scheduler.inspection().config().look(T0);
      assertEquals(Collections.emptyList(), lines);
      assertEquals("root.alice", cluster.submit("alice", null).getQueue());
    }
  }

  @Test
  public void aStartWithoutAFileThatCanBeReadIsRefused() throws Exception {
    expectRefused(conf("ftp://host/fair.xml", "{}"), NAMED, "hdfs, file, s3a, viewfs");
    expectRefused(conf(path.toString(), "{}"), path.toString(), "there is no such file");
    expectRefused(conf("org/junit/Test.class", "{}"), NAMED, "not a file on this machine");
  }

  // ---- Wrong files.

  @Test
  public void aStartWithAWrongFileNamesFileLineAndElement() throws Exception {
    write(path, "<allocations>\n<queue name='a'>\n<weight>x</weight></queue></allocations>", T0);
    expectRefused(conf(path.toString(), "{}"), path.toString(), "line 3", "weight");
    write(path, "<allocations>\n\n<queue name='a'>", T0);
    expectRefused(conf(path.toString(), "{}"), path.toString(), "line 3");
    Configuration conf = conf(path.toString(), "{}");
    conf.set("heddle.queues.from", "fare");
    expectRefused(conf, "heddle.queues.from", "fare", "heddle, fair or capacity");
  }

  @Test
  public void whatCannotBeDoneStopsAStartUnlessItIsTolerated() throws Exception {
    write(path, "<allocations>\n<queue name='a'>\n"
        + "<schedulingPolicy>org.example.Mine</schedulingPolicy></queue></allocations>", T0);
    expectRefused(conf(path.toString(), "{}"), path.toString(), "line 3", "schedulingPolicy",
        "heddle.queues.tolerate");
    Configuration conf = conf(path.toString(), "{}");
    conf.set("heddle.queues.tolerate", "weight, schedulingPolicy");
    try (TestCluster cluster = cluster(conf)) {
      assertNotNull(weight(cluster, "root.a"));
    }
  }

  // ---- Changes.

  @Test
  public void aChangeHoldsOnceItHasSettled() throws Exception {
    write(path, queue("a", 2), T0);
    String json = "{\"queues\": [{\"path\": \"root.b\", \"weight\": 7}]}";
    try (TestCluster cluster = cluster(conf(path.toString(), json))) {
      ConfigControl config = cluster.scheduler.inspection().config();
      assertEquals(2.0, weight(cluster, "root.a"), 0);
      assertEquals("heddle.json goes over it", 7.0, weight(cluster, "root.b"), 0);
      write(path, queue("a", 3), T0 + 10_000);
      config.look(T0 + 15_000);
      assertEquals("not settled", 2.0, weight(cluster, "root.a"), 0);
      config.look(T0 + 15_001);
      assertEquals(3.0, weight(cluster, "root.a"), 0);
      assertEquals(7.0, weight(cluster, "root.b"), 0);
      // Put in place with an older date, which the Fair Scheduler does not notice.
      write(path, queue("a", 4), T0 - 60_000);
      config.look(T0 + 30_000);
      assertEquals(4.0, weight(cluster, "root.a"), 0);
      assertEquals(Collections.emptyList(), lines);
    }
  }

  @Test
  public void aWrongChangeIsSaidOnceAndWhatIsInForceStays() throws Exception {
    write(path, queue("a", 2), T0);
    Configuration conf = conf(path.toString(), "{}");
    try (TestCluster cluster = cluster(conf)) {
      ConfigControl config = cluster.scheduler.inspection().config();
      write(path, "<allocations>\n<queue name='a'>\n<weight>x</weight></queue></allocations>",
          T0 + 10_000);
      config.look(T0 + 20_000);
      config.look(T0 + 30_000);
      assertEquals(lines.toString(), 1, lines.size());
      String said = lines.remove(0);
      assertTrue(said, said.contains(path + " line 3") && said.contains("in force stays"));
      try {
        cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
        fail("the file is wrong");
      } catch (IOException e) {
        assertTrue(e.getMessage(), e.getMessage().contains(path + " line 3"));
      }
      assertEquals(2.0, weight(cluster, "root.a"), 0);
      Files.delete(path);
      config.look(T0 + 40_000);
      assertTrue(lines.toString(), lines.remove(0).startsWith(path + ": there is no such file"));
      // An administrator's refresh reads it without the wait.
      write(path, queue("b", 5), System.currentTimeMillis());
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals(5.0, weight(cluster, "root.b"), 0);
      assertEquals("a queue that left the file", 1.0, weight(cluster, "root.a"), 0);
    }
  }
}
