package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static io.heddle.yarn.TestCluster.onHost;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.Journal;
import io.heddle.yarn.engine.RebuildLimiter;
import io.heddle.yarn.engine.SetupJson;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceBlacklistRequest;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.junit.Test;

/** Tests that a lost engine is rebuilt and that no job notices. */
public class RebuildTest {
  private static final String FAULTS =
      "{\"heartbeat_fill\": 1.0, \"testing\": {\"faults\": true},"
      + " \"delay\": {\"node_wait_ms\": 3600000, \"rack_wait_ms\": 3600000},"
      + " \"queues\": [{\"path\": \"root.ads\", \"weight\": 2.0}]}";

  @Test
  public void aPanicLosesNoContainerAndNoAsk() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM first = cluster.node("a1", 8 * GB);
      MockNM second = cluster.node("b1", 8 * GB);
      MockAM ads = cluster.launch(cluster.submit("alice", "root.ads"), first);
      MockAM bob = cluster.run("bob", first);
      ask(ads, any(1, GB, 2));
      cluster.heartbeat(second);
      List<Container> running = fetch(ads);
      assertEquals(2, running.size());
      cluster.running(second, running);
      // An ask without room now, a blacklist, and another ask after the panic.
      ask(bob, onHost(1, "b1", 7 * GB, 1, false));
      bob.allocate(AllocateRequest.newInstance(0, 0f, new ArrayList<ResourceRequest>(),
          new ArrayList<ContainerId>(), ResourceBlacklistRequest.newInstance(
              Collections.singletonList("a1"), new ArrayList<String>())));
      cluster.heartbeat(second);
      assertEquals(0, fetch(bob).size());

      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      assertEquals(1, cluster.scheduler.inspection().engineRebuilds());
      assertNull("the new engine knows everything", cluster.scheduler.inspection().differences());
      assertNotNull(cluster.scheduler.getQueueInfo("root.bob", false, false));

      // The old ask is served once there is room, on the only host that it names.
      cluster.completed(second, running.get(0));
      cluster.completed(second, running.get(1));
      cluster.heartbeat(first);
      cluster.heartbeat(second);
      List<Container> late = fetch(bob);
      assertEquals(1, late.size());
      assertEquals(second.getNodeId(), late.get(0).getNodeId());
      ask(bob, any(2, GB, 1));
      cluster.heartbeat(first);
      assertEquals("the blacklist was told again", 0, fetch(bob).size());
    }
  }

  /** Jobs that ran when a shadow begins are counted apart; those that come later have names. */
  @Test
  public void theShadowOfANewEngineBeginsWithItsBooks() throws Exception {
    Configuration conf = TestCluster.conf(FAULTS);
    conf.set("heddle.shadow", TestCluster.write("{\"policy\": \"fifo\"}").getPath());
    try (TestCluster cluster = new TestCluster(conf).expectFaults()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM before = cluster.run("alice", node);
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      assertEquals(1, cluster.scheduler.inspection().engineRebuilds());
      MockAM after = cluster.run("bob", node);
      for (MockAM am : new MockAM[] {before, after}) {
        ApplicationId id = am.getApplicationAttemptId().getApplicationId();
        cluster.rm.killApp(id);
        cluster.rm.waitForState(id, RMAppState.KILLED);
      }
      JsonNode report = SetupJson.object();
      long untilMs = Time.monotonicNow() + 60_000;
      while (report.path("jobs").size() == 0
          || report.path("ended").path("ran_before").asInt() == 0) {
        assertTrue(report.toString(), Time.monotonicNow() < untilMs);
        Thread.sleep(50);
        // Reports are made once a second, when something happens.
        cluster.heartbeat();
        cluster.tick();
        report = SetupJson.read(
            cluster.scheduler.inspection().request("{\"op\": \"shadowReport\"}")).path("report");
      }
      assertEquals(report.toString(), 1, report.path("ended").path("ran_before").asInt());
      assertEquals(report.toString(), 1, report.path("jobs").size());
      assertEquals(after.getApplicationAttemptId().getApplicationId().toString(),
          report.path("jobs").path(0).path("application").asText());
    }
  }

  /** A replacement that the operator planned: no fault, and nothing is lost by it either. */
  @Test
  public void aFullRecordingIsFollowedByANewEngine() throws Exception {
    final long bytesMax = 60_000;
    File folder = Files.createTempDirectory("heddle-journal").toFile();
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.set(Journal.PATH_PROPERTY, new File(folder, "rm.journal").getPath());
    conf.setLong(Journal.BYTES_PROPERTY, bytesMax);
    conf.setLong(Journal.RENEW_PROPERTY, 1);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 64 * GB, 64);
      MockAM am = cluster.run("alice", node);
      int asked = 0;
      int got = 0;
      long untilMs = Time.monotonicNow() + 120_000;
      for (int recording = 0; recording < 4; recording = recording(cluster)) {
        assertTrue("in recording " + recording, Time.monotonicNow() < untilMs);
        if (asked < 50) {
          ask(am, any(1, GB, 1));
          asked++;
        }
        cluster.heartbeat();
        got += fetch(am).size();
        cluster.tick();
      }
      assertEquals(asked, got);
      cluster.assertBooksEqual();
      assertEquals("no fault", 0, cluster.scheduler.inspection().engineRebuilds());
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
    }
    long bytes = 0;
    for (File file : folder.listFiles()) {
      bytes += file.length();
    }
    assertTrue(bytes + " bytes", bytes <= bytesMax);
    conf.set(Journal.RENEW_PROPERTY, "daily");
    try {
      Journal.of(conf);
      fail("taken");
    } catch (YarnRuntimeException e) {
      assertEquals("heddle.journal.renew-interval-ms in yarn-site.xml is daily; expected a number"
          + " of milliseconds", e.getMessage());
    }
  }

  private static int recording(TestCluster cluster) {
    return cluster.request(SetupJson.request("journal")).get("recording").asInt();
  }

  @Test
  public void panicsBetweenHeartbeatsAreSurvivedAgainAndAgain() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 64 * GB, 64);
      MockAM am = cluster.run("alice", node);
      int got = 0;
      for (int i = 0; i < RebuildLimiter.FREE_REBUILDS; i++) {
        ask(am, any(1, GB, 2));
        cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
        cluster.heartbeat();
        got += fetch(am).size();
        cluster.assertBooksEqual();
      }
      assertEquals(RebuildLimiter.FREE_REBUILDS, cluster.scheduler.inspection().engineRebuilds());
      assertEquals(2 * RebuildLimiter.FREE_REBUILDS, got);
    }
  }

  @Test
  public void anEngineThatIsLostTooOftenIsLeftAloneForAWhile() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 64 * GB, 64);
      MockAM am = cluster.run("alice", node);
      for (int i = 0; i <= RebuildLimiter.FREE_REBUILDS; i++) {
        cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      }
      long rebuilds = cluster.scheduler.inspection().engineRebuilds();
      assertEquals(RebuildLimiter.FREE_REBUILDS, rebuilds);
      // Without an engine nothing is granted, and nothing fails.
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(0, fetch(am).size());
      assertEquals("root.alice", cluster.submit("alice", null).getQueue());
      Thread.sleep(RebuildLimiter.PAUSE_MIN_MS + 100);
      cluster.heartbeat();
      assertEquals(rebuilds + 1, cluster.scheduler.inspection().engineRebuilds());
      // The second job's AM and the waiting container.
      assertEquals(1, fetch(am).size());
    }
  }

  @Test
  public void aUserKeepsTheirQueueWhileThereIsNoEngine() throws Exception {
    String theirs = "{\"testing\": {\"faults\": true}, \"queues\": [{\"path\": \"root.al.bo\"}]}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(theirs)).expectFaults()) {
      cluster.node("a1", 8 * GB);
      assertEquals("root.al_dot_bo", cluster.submit("al.bo", null).getQueue());
      for (int i = 0; i <= RebuildLimiter.FREE_REBUILDS; i++) {
        cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      }
      assertEquals("root.al_dot_bo", cluster.submit("al.bo", null).getQueue());
    }
  }

  @Test
  public void booksThatDifferTwiceInARowMakeANewEngine() throws Exception {
    try (TestCluster cluster = new TestCluster(TestCluster.conf(FAULTS)).expectFaults()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(1, GB, 2));
      cluster.heartbeat();
      List<Container> containers = fetch(am);
      assertEquals(2, containers.size());
      cluster.tick();
      assertEquals(0, cluster.scheduler.inspection().engineRebuilds());
      // Tells the engine that one ended, which is false.
      HeddleAppAttempt attempt = cluster.attempt(am);
      cluster.scheduler.inspection().books()
          .containerCompleted(attempt, containers.get(0).getId(), 0);
      assertNotNull(cluster.scheduler.inspection().differences());
      cluster.scheduler.inspection().auditSoon();
      cluster.tick();
      assertEquals("once may be a coincidence", 0, cluster.scheduler.inspection().engineRebuilds());
      cluster.tick();
      assertEquals(1, cluster.scheduler.inspection().engineRebuilds());
      assertNull(cluster.scheduler.inspection().differences());
    }
  }

  @Test
  public void aRebuildNeverLetsAWaitingJobTakeThePlaceOfARunningOne() throws Exception {
    String limited = "{\"heartbeat_fill\": 1.0, \"testing\": {\"faults\": true}, \"queues\": ["
        + "{\"path\": \"root.one\", \"max_running_jobs\": 1, \"max_am_share\": 1.0}]}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(limited)).expectFaults()) {
      MockNM node = cluster.node("a1", 8 * GB);
      // It has the smallest number, which the waiting job then reuses.
      RMApp ended = cluster.submit("zoe", null);
      MockAM running = cluster.launch(cluster.submit("alice", "root.one"), node);
      cluster.rm.killApp(ended.getApplicationId());
      cluster.rm.waitForState(ended.getApplicationId(), RMAppState.KILLED);
      cluster.rm.waitForAppRemovedFromScheduler(ended.getApplicationId());
      RMApp waiting = cluster.submit("bob", "root.one");
      assertTrue("the test expects numbers to be given again",
          cluster.scheduler.inspection().books().job(waiting.getApplicationId()).id()
              < cluster.attempt(running).job().id());
      cluster.heartbeat();

      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      ask(running, any(1, GB, 2));
      cluster.heartbeat();
      assertEquals("the running job goes on", 2, fetch(running).size());
      assertEquals("the other waits on", 0, cluster.scheduler.getApplicationAttempt(
          waiting.getCurrentAppAttempt().getAppAttemptId()).getLiveContainers().size());
    }
  }

  @Test
  public void aJobWhoseQueueIsGoneMovesInAllBooks() throws Exception {
    String strict = FAULTS.replace("\"queues\"",
        "\"placement\": [{\"rule\": \"specified\", \"create\": false}], \"queues\"");
    Configuration conf = TestCluster.conf(strict);
    try (TestCluster cluster = new TestCluster(conf).expectFaults()) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = cluster.submit("alice", "root.ads");
      MockAM am = cluster.launch(app, node);
      ask(am, any(1, GB, 1));
      cluster.heartbeat();
      assertEquals(1, fetch(am).size());
      Files.write(new File(conf.get(ConfigFile.FILE_PROPERTY)).toPath(),
          strict.replace("root.ads", "root.web").getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals("its queue drains", 1, cluster.scheduler.getAppsInQueue("root.ads").size());

      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      assertNull(cluster.scheduler.inspection().differences());
      assertEquals(1, cluster.scheduler.getAppsInQueue("root.recovery").size());
      assertEquals("root.recovery", app.getQueue());
      QueueMetrics metrics =
          cluster.scheduler.reports.table().get("root.recovery").getMetrics();
      assertEquals(2, metrics.getAllocatedContainers());
      MockRM.finishAMAndVerifyAppState(app, cluster.rm, node, am);
      cluster.rm.drainEvents();
      assertEquals("it ends where it counts", 1, metrics.getAppsCompleted());
      assertEquals(0, metrics.getAllocatedContainers());
    }
  }

  @Test
  public void withoutAnEngineNoReloadSucceeds() throws Exception {
    Configuration conf = TestCluster.conf(FAULTS);
    File file = new File(conf.get(ConfigFile.FILE_PROPERTY));
    try (TestCluster cluster = new TestCluster(conf).expectFaults()) {
      cluster.node("a1", 8 * GB);
      for (int i = 0; i <= RebuildLimiter.FREE_REBUILDS; i++) {
        cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      }
      // Without an engine nothing can check them; the second would fail every new engine.
      for (String next : new String[] {FAULTS.replace("root.ads", "root.web"), "{\"polcy\": 1}"}) {
        Files.write(file.toPath(), next.getBytes(StandardCharsets.UTF_8));
        try {
          cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
          fail("nothing checked " + next);
        } catch (IOException e) {
          assertTrue(e.getMessage(), e.getMessage().contains(file.getPath()));
        }
      }
      Thread.sleep(RebuildLimiter.PAUSE_MIN_MS + 100);
      cluster.tick();
      assertEquals(RebuildLimiter.FREE_REBUILDS + 1,
          cluster.scheduler.inspection().engineRebuilds());
      assertNotNull("the old configuration is in force",
          cluster.scheduler.getQueueInfo("root.ads", false, false));
    }
  }

  @Test
  public void aSubmissionSurvivesARebuildBetweenItsTwoSteps() throws Exception {
    String strict = "{\"testing\": {\"faults\": true}, \"placement\": ["
        + "{\"rule\": \"specified\", \"create\": false}, {\"rule\": \"user\"}]}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(strict)).expectFaults()) {
      cluster.node("a1", 8 * GB);
      assertEquals("root.alice", cluster.scheduler.place("alice", null, null, false));
      // The queue has no job yet, so the new engine does not know it.
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      ApplicationId application = ApplicationId.newInstance(1, 77);
      cluster.scheduler.handle(new AppAddedSchedulerEvent(application, "root.alice", "alice"));
      assertNotNull(cluster.scheduler.inspection().books().job(application));
      assertEquals("root.alice",
          cluster.scheduler.inspection().books().job(application).queue().getQueueName());
    }
  }
}
