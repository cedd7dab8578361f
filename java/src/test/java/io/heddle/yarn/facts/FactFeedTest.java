package io.heddle.yarn.facts;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;
import static io.heddle.yarn.TestCluster.ask;
import static io.heddle.yarn.TestCluster.fetch;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.SetupJson;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.junit.Test;

/**
 * Tests facts about running jobs, from an ApplicationMaster's web server or heartbeat to the
 * engine, and that nothing fails when a source is missing or turned off.
 */
public class FactFeedTest {
  static final int MAP = 20;
  private static final int REDUCE = 10;
  private static final String HFSP = "{\"policy\": \"hfsp\", \"heartbeat_fill\": 1.0}";

  static Configuration fast(String heddleJson) throws Exception {
    Configuration conf = TestCluster.conf(heddleJson);
    conf.setBoolean(AmPoller.ENABLE_PROPERTY, true);
    conf.setLong(AmPoller.INTERVAL_PROPERTY, 50);
    conf.setLong(AmPoller.COUNTERS_PROPERTY, 50);
    return conf;
  }

  static String json(String text) {
    return text.replace('\'', '"');
  }

  static String totals(int maps, int mapsDone, int reduces, int reducesDone) {
    return json("{'job': {'mapsTotal': " + maps + ", 'mapsCompleted': " + mapsDone
        + ", 'reducesTotal': '" + reduces + "', 'reducesCompleted': " + reducesDone + "}}");
  }

  @Test
  public void anApplicationMasterTellsHowManyTasksThereAre() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(
            fast("{\"testing\": {\"faults\": true}}")).expectFaults()) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      server.answer(job.path(), totals(40, 12, 3, 0));
      job.await("totals", () -> job.look().get("hints").get("maps").asInt() == 40);
      assertEquals(3, job.look().get("hints").get("reduces").asInt());
      assertEquals("ended before", 12, job.look().get("done").get(0).asInt());
      // A rebuilt engine has the facts without another poll.
      cluster.scheduler.inspection().facts().stop();
      cluster.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      cluster.tick();
      JsonNode again = cluster.request(SetupJson.request("job", "job", 0));
      assertEquals(40, again.get("hints").get("maps").asInt());
      assertEquals(12, again.get("done").get(0).asInt());
    }
  }

  @Test
  public void whatASubmissionSaysGoesBefore() {
    JobHints said = new JobHints(SetupJson.read("[7]"));
    JobHints more = said.withTotals(40, 3);
    assertEquals("the same object says that nothing is new", more, more.withTotals(50, 60));
    assertEquals(3, more.reduces());
    assertEquals(-1, said.reduces());
    assertEquals(more, more.withTotals(-1, Long.MAX_VALUE));
    java.nio.ByteBuffer record = java.nio.ByteBuffer.allocate(FrameLayout.JOB_HINTS_SIZE);
    more.write(record, 0);
    assertEquals(7, record.getInt(FrameLayout.JOB_HINTS_MAPS));
  }

  /** The address comes from a user's code, so polls are off unless a policy needs them. */
  @Test
  public void byDefaultOnlyAPolicyThatLooksAtTheAnswersHasMastersAsked() throws Exception {
    for (String policy : new String[] {"fair", "fifo", "dynamic-priority", "hfsp",
        "shufflewatcher", "reverse-adaptive"}) {
      Configuration conf = fast("{\"policy\": \"" + policy + "\"}");
      conf.unset(AmPoller.ENABLE_PROPERTY);
      boolean asks = Arrays.asList("hfsp", "shufflewatcher", "reverse-adaptive").contains(policy);
      try (LoopbackServer server = new LoopbackServer();
          TestCluster cluster = new TestCluster(conf)) {
        Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
        if (asks) {
          job.await(policy, () -> !server.asked.isEmpty());
          continue;
        }
        for (int i = 0; i < 10; i++) {
          job.look();
          Thread.sleep(20);
        }
        assertTrue(policy + server.asked, server.asked.isEmpty());
      }
    }
  }

  @Test
  public void nobodyElseIsAsked() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(fast("{}"))) {
      MockNM node = cluster.node("localhost", 16 * GB);
      String elsewhere = "http://127.0.0.1:" + server.port();
      new Job(cluster, node, "MAPREDUCE", elsewhere);
      new Job(cluster, node, "SPARK", server.url());
      new Job(cluster, node, "MAPREDUCE", "");
      Job last = new Job(cluster, node, "MAPREDUCE", "N/A");
      for (int i = 0; i < 10; i++) {
        last.look();
        Thread.sleep(20);
      }
      assertTrue(server.asked.toString(), server.asked.isEmpty());
    }
  }

  @Test
  public void aJobThatEndedIsAskedNoMoreAndOneThatFailsLess() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(fast("{}"))) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      job.await("a question", () -> !server.asked.isEmpty());
      for (int i = 0; i < 20; i++) {
        job.look();
        Thread.sleep(20);
      }
      assertEquals("no answer: left alone", 1, server.asked.size());
      server.answer(job.path(), totals(1, 0, 0, 0));
      cluster.rm.killApp(job.app.getApplicationId());
      cluster.rm.waitForState(job.app.getApplicationId(),
          org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState.KILLED);
      cluster.rm.drainEvents();
      cluster.scheduler.inspection().facts().look();
      assertEquals(1, server.asked.size());
    }
    JobWatch watch = new JobWatch(null);
    List<Long> pauses = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      pauses.add(watch.failed());
    }
    assertEquals(Arrays.asList(5_000L, 10_000L, 20_000L, 40_000L, 60_000L, 60_000L), pauses);
    watch.succeeded();
    assertEquals(5_000, watch.failed());
  }

  @Test
  public void countersAreAskedForOnlyForShuffleWatcher() throws Exception {
    for (String policy : new String[] {"shufflewatcher", "hfsp"}) {
      try (LoopbackServer server = new LoopbackServer();
          TestCluster cluster =
              new TestCluster(fast("{\"policy\": \"" + policy + "\"}"))) {
        Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
        server.answer(job.path(), totals(4, 0, 1, 0));
        server.answer(job.path() + "/counters", json("{'jobCounters': {'counterGroup': ["
            + "{'counterGroupName': 'org.apache.hadoop.mapreduce.FileSystemCounter', 'counter':"
            + " [{'name': 'HDFS_BYTES_READ', 'mapCounterValue': 500}]},"
            + "{'counterGroupName': 'org.apache.hadoop.mapreduce.TaskCounter', 'counter':"
            + " [{'name': 'MAP_OUTPUT_MATERIALIZED_BYTES', 'totalCounterValue': 1500}]}]}}"));
        job.await("totals", () -> job.look().get("hints").get("maps").asInt() == 4);
        if (policy.equals("hfsp")) {
          assertFalse(server.asked.contains(job.path() + "/counters"));
        } else {
          job.await("counters", () -> counted(job).equals("[500.0,1500.0]"));
        }
      }
    }
  }

  private static String counted(Job job) {
    job.look();
    return job.cluster.request(SetupJson.request("stages")).path("place").path("jobs").path("0")
        .path("counted").toString();
  }

  @Test
  public void sampleReducesAreAskedForOnlyForHfsp() throws Exception {
    for (String policy : new String[] {"hfsp", "fair"}) {
      try (LoopbackServer server = new LoopbackServer();
          TestCluster cluster = new TestCluster(
              fast("{\"policy\": \"" + policy + "\", \"heartbeat_fill\": 1.0}"))) {
        Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
        Container reduce = job.run(REDUCE, 1).get(0);
        String task = "task_1_0001_r_000000";
        server.answer(job.path() + "/tasks?type=r", json("{'tasks': {'task': [{'id': '" + task
            + "', 'state': 'RUNNING', 'startTime': 1, 'progress': 80}]}}"));
        server.answer(job.path() + "/tasks/" + task + "/attempts",
            json("{'taskAttempts': {'taskAttempt': [{'state': 'RUNNING', 'progress': 83.33333,"
                + " 'assignedContainerId': '" + reduce.getId() + "', 'mergeFinishTime': "
                + (Time.now() - 3_000) + "}]}}"));
        server.answer(job.path(), totals(0, 0, 1, 0));
        job.await("totals", () -> job.look().get("hints").get("reduces").asInt() == 1);
        if (policy.equals("hfsp")) {
          job.await("a reduce", () -> job.look().get("executing").size() == 1);
          JsonNode told = job.look().get("executing").get(0);
          assertEquals(ContainerKeys.of(reduce.getId()), told.get(0).asLong());
          assertEquals(500, told.get(1).asInt());
        } else {
          assertFalse(server.asked.toString(), server.asked.contains(job.path() + "/tasks?type=r"));
          assertEquals(0, job.look().get("executing").size());
        }
      }
    }
  }

  private static final String TASK = "task_1_0001_r_000000";

  /** Answers with a list of reduces and the progress of the running one, in percent. */
  private static void answerReduces(LoopbackServer server, Job job, Container reduce,
      double percent) {
    server.answer(job.path() + "/tasks?type=r", json("{'tasks': {'task': [{'id': '" + TASK
        + "', 'state': 'RUNNING', 'startTime': 1, 'progress': " + percent + "}]}}"));
    server.answer(job.path() + "/tasks/" + TASK + "/attempts",
        json("{'taskAttempts': {'taskAttempt': [{'state': 'RUNNING', 'progress': " + percent
            + ", 'assignedContainerId': '" + reduce.getId() + "'}]}}"));
  }

  static int asked(LoopbackServer server, String path) {
    return Collections.frequency(server.asked, path);
  }

  @Test
  public void reducesAreAskedForBetweenCountersToo() throws Exception {
    Configuration conf = fast(
        "{\"policy\": {\"order\": \"hfsp\", \"place\": \"shuffle-watcher\"},"
            + " \"heartbeat_fill\": 1.0}");
    conf.setLong(AmPoller.COUNTERS_PROPERTY, 600_000);
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(conf)) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      answerReduces(server, job, job.run(REDUCE, 1).get(0), 40);
      server.answer(job.path() + "/counters", "{}");
      server.answer(job.path(), totals(0, 0, 1, 0));
      job.await("polls", () -> {
        job.look();
        return asked(server, job.path()) > 3;
      });
      assertEquals(1, asked(server, job.path() + "/counters"));
      assertTrue(server.asked.toString(), asked(server, job.path() + "/tasks?type=r") >= 3);
    }
  }

  /** The list is missing, or would be too long to read: totals are still polled. */
  @Test
  public void withoutAListOfReducesTotalsAreTold() throws Exception {
    for (int reduces : new int[] {2, 3_001}) {
      try (LoopbackServer server = new LoopbackServer();
          TestCluster cluster = new TestCluster(fast(HFSP))) {
        Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
        server.answer(job.path(), totals(0, 0, reduces, 1));
        job.await("polls", () -> {
          job.look();
          return asked(server, job.path()) > 3;
        });
        assertEquals(reduces < 3_000, asked(server, job.path() + "/tasks?type=r") > 0);
      }
    }
  }

  /** Each answer is in time, but together they take longer than a poll should. */
  @Test
  public void whoIsSlowIsAskedLess() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(fast("{\"policy\": \"shufflewatcher\"}"))) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      server.delayMs = 1_100;
      server.answer(job.path(), totals(4, 0, 1, 0));
      server.answer(job.path() + "/counters", "{}");
      // The last time before the counters were asked for.
      long[] beforeMs = {Time.monotonicNow()};
      job.await("the question about counters", () -> {
        long nowMs = Time.monotonicNow();
        if (asked(server, job.path() + "/counters") > 0) {
          return true;
        }
        beforeMs[0] = nowMs;
        return false;
      });
      int asked = server.asked.size();
      job.await("the next question", () -> {
        job.look();
        return server.asked.size() > asked;
      });
      long pauseMs = Time.monotonicNow() - beforeMs[0];
      assertTrue(pauseMs + " ms, " + server.asked, pauseMs >= 5_000);
      assertEquals(4, job.look().get("hints").get("maps").asInt());
    }
  }

  /** The job's progress is a mean; an answer about a reduce takes precedence over it. */
  @Test
  public void theWordOnAReduceThatStillCopiesGoesBeforeAGuess() throws Exception {
    Configuration conf = fast(HFSP);
    conf.setLong(AmPoller.INTERVAL_PROPERTY, 2_000);
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(conf)) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      answerReduces(server, job, job.run(REDUCE, 1).get(0), 40);
      server.answer(job.path(), totals(0, 0, 1, 0));
      job.await("two polls, so one has ended", () -> {
        job.look();
        return asked(server, job.path()) > 1;
      });
      job.progress(0.5 + 0.45 * 5 / 6);
      assertEquals(0, job.look().get("executing").size());
    }
  }

  private static RMApp claiming(TestCluster cluster, int reduces) throws Exception {
    Map<String, String> environment = new HashMap<>();
    environment.put("HEDDLE_REDUCES", Integer.toString(reduces));
    return HintTest.submit(cluster, "alice", "a job", environment);
  }

  /** Both of 2 reduces run and the job is at 0.5 + 0.45 * 5/6: half of the function is done. */
  @Test
  public void theProgressOfAHeartbeatTellsOfReduces() throws Exception {
    for (boolean enabled : new boolean[] {true, false}) {
      Configuration conf = TestCluster.conf(HFSP);
      conf.setBoolean(AmPoller.ENABLE_PROPERTY, false);
      conf.setBoolean(FactFeed.PROGRESS_PROPERTY, enabled);
      try (TestCluster cluster = new TestCluster(conf)) {
        MockNM node = cluster.node("a1", 8 * GB);
        MockAM am = MockRM.launchAndRegisterAM(claiming(cluster, 2), cluster.rm, node);
        ask(am, any(MAP, GB, 1));
        cluster.heartbeat();
        List<Container> maps = fetch(am);
        cluster.running(node, maps);
        ask(am, any(REDUCE, GB, 2));
        cluster.completed(node, maps.get(0));
        cluster.heartbeat();
        List<Container> reduces = fetch(am);
        assertEquals(2, reduces.size());
        cluster.running(node, reduces);
        assertNull("still copying", told(cluster, am, 0.6));
        JsonNode executing = told(cluster, am, 0.5 + 0.45 * 5 / 6);
        if (enabled) {
          assertEquals(500, executing.get(1).asInt(), 1);
        } else {
          assertNull(executing);
        }
      }
    }
  }

  /**
   * The proxy of a federation tells the progress of all reduces; some of them run elsewhere. It
   * matters where a proxy passes on the type (Hadoop 3.5.0's do not).
   */
  @Test
  public void theProgressOfAllReducesSaysNothingOfThoseInOneSubCluster() throws Exception {
    assertNull(toldOfReduces("UnmanagedAM-first", true));
    // With the same steps, others tell; a client's ApplicationMaster has all its reduces here.
    assertEquals(500, toldOfReduces("UnmanagedAM-first", false).get(1).asInt(), 1);
    assertEquals(500, toldOfReduces("a client's", true).get(1).asInt(), 1);
  }

  /** Returns what is known of both reduces of such a job when half of the function is done. */
  private static JsonNode toldOfReduces(String name, boolean unmanaged) throws Exception {
    Configuration conf = TestCluster.conf(HFSP);
    conf.setBoolean(AmPoller.ENABLE_PROPERTY, false);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      RMApp app = MockRMAppSubmitter.submit(cluster.rm, cluster.submission("alice", null)
          .withAppName(name).withUnmanagedAM(unmanaged).withAppType("MAPREDUCE")
          .withApplicationTags(Collections.singleton("heddle:reduces=2")).build());
      ApplicationAttemptId attempt = app.getCurrentAppAttempt().getAppAttemptId();
      MockAM am;
      if (unmanaged) {
        cluster.rm.waitForState(attempt, RMAppAttemptState.LAUNCHED);
        am = new MockAM(
            cluster.rm.getRMContext(), cluster.rm.getApplicationMasterService(), attempt);
        am.registerAppAttempt();
      } else {
        am = cluster.launch(app, node);
      }
      ask(am, any(REDUCE, GB, 2));
      cluster.heartbeat();
      List<Container> reduces = fetch(am);
      assertEquals(2, reduces.size());
      cluster.running(node, reduces);
      assertNull("still copying", told(cluster, am, 0.6));
      JsonNode job = cluster.request(SetupJson.request("job", "job", 0));
      assertEquals(2, job.get("hints").get("reduces").asInt());
      return told(cluster, am, 0.5 + 0.45 * 5 / 6);
    }
  }

  private static JsonNode told(TestCluster cluster, MockAM am, double progress)
      throws Exception {
    am.allocate(AllocateRequest.newInstance(0, (float) progress,
        new ArrayList<ResourceRequest>(), new ArrayList<ContainerId>(), null));
    cluster.rm.drainEvents();
    cluster.scheduler.inspection().facts().look();
    cluster.tick();
    return cluster.request(SetupJson.request("job", "job", 0)).get("executing").get(0);
  }

  /** While maps run, the progress mixes both kinds and is no estimate for reduces. */
  @Test
  public void progressBesideMapsSaysNothing() throws Exception {
    Configuration conf = TestCluster.conf("{\"heartbeat_fill\": 1.0}");
    conf.setBoolean(AmPoller.ENABLE_PROPERTY, false);
    try (TestCluster cluster = new TestCluster(conf)) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = MockRM.launchAndRegisterAM(claiming(cluster, 2), cluster.rm, node);
      ask(am, any(MAP, GB, 1), any(REDUCE, GB, 2));
      cluster.heartbeat();
      cluster.running(node, fetch(am));
      assertNull(told(cluster, am, 0.9));
    }
  }

  @Test
  public void launchesAreTold() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      MockNM node = cluster.node("a1", 8 * GB);
      MockAM am = cluster.run("alice", node);
      ask(am, any(MAP, GB, 2));
      cluster.heartbeat();
      List<Container> maps = fetch(am);
      cluster.tick();
      int before = cluster.request(SetupJson.request("job", "job", 0)).get("launched").asInt();
      cluster.running(node, maps);
      cluster.tick();
      assertEquals(before + 2,
          cluster.request(SetupJson.request("job", "job", 0)).get("launched").asInt());
    }
  }

  /** Reads NodeManagers' metrics in the format of their web service. */
  @Test
  public void nodesTellWhatTheySent() throws Exception {
    ScheduledExecutorService watchdog = Executors.newScheduledThreadPool(1);
    List<Fact> found = new ArrayList<>();
    try (LoopbackServer server = new LoopbackServer();
        JsonFetcher fetcher = new JsonFetcher(watchdog, 1)) {
      String path = "/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics";
      server.answer(path, json("{'beans': [{'name': 'x', 'ShuffleOutputBytes': 123456}]}"));
      Configuration conf = new Configuration(false);
      Set<String> wants = new HashSet<>();
      NodePoller unset = new NodePoller(fetcher, () -> wants, found::add, conf);
      NodeId id = NodeId.newInstance("localhost", 1234);
      Map<NodeId, RMNode> known = Collections.singletonMap(id,
          node("localhost:" + server.port(), NodeState.LOST));
      List<Runnable> queued = new ArrayList<>();
      unset.look(known, queued::add, 0);
      assertTrue("off unless a policy uses traffic", queued.isEmpty());
      wants.add("traffic");
      unset.look(known, queued::add, 0);
      assertEquals(1, queued.size());
      queued.clear();
      conf.setBoolean(NodePoller.ENABLE_PROPERTY, false);
      NodePoller off = new NodePoller(fetcher, () -> wants, found::add, conf);
      off.look(known, queued::add, 0);
      assertTrue("off by the operator", queued.isEmpty() && !off.mayBeEnabled());
      wants.clear();
      conf.setBoolean(NodePoller.ENABLE_PROPERTY, true);
      NodePoller nodes = new NodePoller(fetcher, () -> wants, found::add, conf);
      nodes.look(known, queued::add, 0);
      nodes.look(known, queued::add, Long.MAX_VALUE);
      assertEquals("queued once", 1, queued.size());
      queued.remove(0).run();
      nodes.look(known, queued::add, Time.monotonicNow() + 9_000);
      assertEquals("not yet", 0, queued.size());
      nodes.look(known, queued::add, Time.monotonicNow() + 10_000);
      assertEquals(1, queued.size());
      nodes.poll(node("localhost:" + server.port(), NodeState.RUNNING));
      assertEquals(1, found.size());
      nodes.poll(node("127.0.0.1:" + server.port(), NodeState.RUNNING));
      nodes.poll(node("localhost:" + server.port(), NodeState.LOST));
      server.answer(path, json("{'beans': []}"));
      nodes.poll(node("localhost:" + server.port(), NodeState.RUNNING));
      assertEquals("elsewhere, lost, without the metric", 1, found.size());
      assertEquals(2, server.asked.size());
    } finally {
      watchdog.shutdownNow();
    }
  }

  /** With room for one at a time, each of three nodes gets a turn; a failing one pauses longer. */
  @Test
  public void nodesTakeTurnsAndThoseThatFailWait() {
    Configuration conf = new Configuration(false);
    conf.setBoolean(NodePoller.ENABLE_PROPERTY, true);
    conf.setLong(NodePoller.INTERVAL_PROPERTY, 1);
    // Every poll fails without a fetcher.
    NodePoller nodes = new NodePoller(null, HashSet::new, fact -> { }, conf);
    Map<NodeId, RMNode> known = new HashMap<>();
    for (int i = 1; i <= 3; i++) {
      known.put(NodeId.newInstance("n", i), node("localhost:1", NodeState.RUNNING));
    }
    for (int pause = 0; pause < 2; pause++) {
      long nowMs = Time.monotonicNow() + pause * 5_000;
      int asked = 0;
      for (int look = 0; look < 5; look++) {
        List<Runnable> queued = new ArrayList<>();
        nodes.look(known, work -> {
          if (!queued.isEmpty()) {
            throw new java.util.concurrent.RejectedExecutionException();
          }
          queued.add(work);
        }, nowMs + 500);
        asked += queued.size();
        queued.forEach(Runnable::run);
      }
      assertEquals("once each, until the pause is over", 3, asked);
    }
  }

  private static RMNode node(String httpAddress, NodeState state) {
    return (RMNode) Proxy.newProxyInstance(RMNode.class.getClassLoader(),
        new Class<?>[] {RMNode.class}, (proxy, method, arguments) -> {
          switch (method.getName()) {
            case "getHttpAddress":
              return httpAddress;
            case "getNodeID":
              return NodeId.newInstance("localhost", 1234);
            case "getState":
              return state;
            default:
              throw new UnsupportedOperationException(method.toString());
          }
        });
  }
}
