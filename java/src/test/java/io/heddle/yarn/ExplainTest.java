package io.heddle.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.SetupJson;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.Test;

/** Tests that a waiting application's report says why it waits, with names for numbers. */
public class ExplainTest {
  private static String diagnostics(RMApp app) {
    return app.createAndGetApplicationReport(app.getUser(), true).getDiagnostics();
  }

  private static void assertSilent(RMApp app) {
    assertFalse(diagnostics(app), diagnostics(app).contains("waits"));
  }

  /** Ticks until the diagnostics match: the engine is asked for sentences at intervals. */
  private static void await(TestCluster cluster, RMApp app, Predicate<String> said)
      throws Exception {
    for (int i = 0; i < 600 && !said.test(diagnostics(app)); i++) {
      Thread.sleep(50);
      cluster.tick();
    }
    assertTrue(diagnostics(app), said.test(diagnostics(app)));
  }

  private static void awaitSilence(TestCluster cluster, RMApp app) throws Exception {
    await(cluster, app, said -> !said.contains("waits"));
  }

  /** Collects log lines at debug level. */
  private static final class Lines extends AppenderSkeleton implements AutoCloseable {
    private final List<String> lines = new ArrayList<>();
    private final Logger logger = Logger.getLogger(Explanations.class);

    Lines() {
      logger.setLevel(Level.DEBUG);
      logger.addAppender(this);
    }

    @Override
    protected void append(LoggingEvent event) {
      lines.add(event.getRenderedMessage());
    }

    @Override
    public void close() {
      logger.setLevel(null);
      logger.removeAppender(this);
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }
  }

  @Test
  public void anAcceptedApplicationSaysWhatItWaitsForUntilItRuns() throws Exception {
    String limited = "{\"heartbeat_fill\": 1.0, \"queues\": "
        + "[{\"path\": \"root.a\", \"max_running_jobs\": 1}]}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(limited));
        Lines log = new Lines()) {
      MockNM node = cluster.node("a1", 8 * TestCluster.GB);
      MockAM first = cluster.launch(cluster.submit("alice", "root.a"), node);
      RMApp second = cluster.submit("alice", "root.a");
      cluster.heartbeat();
      for (ApplicationId id : new ApplicationId[] {
          first.getApplicationAttemptId().getApplicationId(), second.getApplicationId()}) {
        JsonNode predicted = SetupJson.read(cluster.scheduler.predict(id)).path("jobs");
        assertEquals(predicted.toString(), 1, predicted.size());
        JsonNode job = SetupJson.read(cluster.scheduler.describe(id));
        assertEquals(job.path("job"), predicted.get(0).path("job"));
      }
      String said = "waits: queue `root.a` runs 1 of 1 jobs (max_running_jobs), and it is the next;"
          + " with max_running_jobs of queue `root.a` at 2 it would run";
      await(cluster, second, said::equals);
      assertTrue(log.lines.toString(), log.lines.contains(second.getApplicationId() + " " + said));
      MockRM.finishAMAndVerifyAppState(
          cluster.rm.getRMContext().getRMApps().get(
              first.getApplicationAttemptId().getApplicationId()), cluster.rm, node, first);
      cluster.launch(second, node);
      awaitSilence(cluster, second);
    }
  }

  @Test
  public void aRunningApplicationSaysWhatItWaitsForAndTheLastWordGoesWithIt() throws Exception {
    try (TestCluster cluster = new TestCluster(
        TestCluster.conf("{\"policy\": \"fifo\", \"heartbeat_fill\": 1.0}"))) {
      MockNM node = cluster.node("a1", 4 * TestCluster.GB);
      RMApp app = cluster.submit("alice", null);
      MockAM am = cluster.launch(app, node);
      RMApp other = cluster.submit("bob", null);
      MockAM later = cluster.launch(other, node);
      TestCluster.ask(am, TestCluster.any(1, TestCluster.GB, 3));
      TestCluster.ask(later, TestCluster.any(1, TestCluster.GB, 1));
      cluster.heartbeat();
      String room = "waits: it is next, and no node has room: a1:1234 has 0 MB free of the 1024 MB"
          + " that a container needs; a node with 1024 MB free would do";
      await(cluster, app, room::equals);
      String behind = "1 container of 1 other job go first, next " + app.getApplicationId();
      await(cluster, other, said -> said.contains(behind));
      assertTrue(diagnostics(other), diagnostics(other).contains("application priority of 1"));

      // Their containers end, and they get the rest.
      List<Container> got = TestCluster.fetch(am);
      assertEquals(2, got.size());
      cluster.running(node, got);
      cluster.completed(node, got.get(0));
      cluster.heartbeat();
      awaitSilence(cluster, app);
      await(cluster, other, room::equals);
      // It ends while it waits; its diagnostics then say only how it ended.
      MockRM.finishAMAndVerifyAppState(other, cluster.rm, node, later);
      cluster.rm.drainEvents();
      assertSilent(other);
      cluster.tick();
      assertSilent(other);
    }
  }

  @Test
  public void theWholeStoryIsToBeHadAsJson() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 4 * TestCluster.GB);
      RMApp app = cluster.submit("alice", null);
      MockAM am = cluster.launch(app, node);
      TestCluster.ask(am, TestCluster.any(1, TestCluster.GB, 9));
      cluster.heartbeat();
      cluster.rm.drainEvents();
      JsonNode told = SetupJson.read(cluster.scheduler.explain(app.getApplicationId()));
      assertEquals("root.alice", told.get("queue").asText());
      assertEquals(6, told.get("waits").get(0).get("pending").asInt());
      assertTrue(told.toString(), told.get("sentence").asText().contains("a1:1234"));
      JsonNode master = null;
      for (JsonNode entry : told.get("trace")) {
        boolean first = master == null && entry.get("what").asText().equals("granted");
        master = first ? entry : master;
      }
      assertTrue(master.toString(), master.get("am").asBoolean());
      assertTrue(master.toString(), master.get("sentence").asText().contains("on a1:1234"));
      assertNull(cluster.scheduler.explain(ApplicationId.newInstance(1, 99)));
    }
  }

  @Test
  public void withNoEntriesNothingIsSaid() throws Exception {
    String off = "{\"explain\": {\"entries\": 0}}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(off))) {
      RMApp app = cluster.submit("alice", null);
      cluster.tick();
      assertSilent(app);
    }
    try (TestCluster cluster = new TestCluster()) {
      RMApp app = cluster.submit("alice", null);
      await(cluster, app,
          "waits: no node is up; a node of 1024 MB and 1 vcores would do"::equals);
    }
  }
}
