package io.heddle.yarn.facts;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.economy.Economy;
import io.heddle.yarn.economy.Submissions;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.SetupJson;
import java.io.File;
import java.security.PrivilegedExceptionAction;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.Test;

/** Tests hints in submissions, from the client's call to the engine. */
public class HintTest {
  /** Largest difference between readings of two clocks. */
  private static final long CLOCKS_MS = 60_000;

  /** Submits like a client, with the AM's environment and with tags. */
  static RMApp submit(TestCluster cluster, String user, String name,
      Map<String, String> environment, String... tags) throws Exception {
    ApplicationId id = cluster.rm.getClientRMService()
        .getNewApplication(GetNewApplicationRequest.newInstance()).getApplicationId();
    ContainerLaunchContext master = ContainerLaunchContext.newInstance(
        null, environment, Collections.<String>emptyList(), null, null, null);
    ApplicationSubmissionContext submission = ApplicationSubmissionContext.newInstance(
        id, name, null, Priority.newInstance(0), master, false, true, 2,
        Resource.newInstance(TestCluster.GB, 1), "MAPREDUCE");
    submission.setApplicationTags(new HashSet<>(Arrays.asList(tags)));
    UserGroupInformation.createRemoteUser(user).doAs((PrivilegedExceptionAction<Object>) () ->
        cluster.rm.getClientRMService().submitApplication(
            SubmitApplicationRequest.newInstance(submission)));
    cluster.rm.waitForState(id, RMAppState.ACCEPTED);
    cluster.rm.drainEvents();
    return cluster.rm.getRMContext().getRMApps().get(id);
  }

  private static Map<String, String> environment(String... keysAndValues) {
    Map<String, String> environment = new HashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      environment.put(keysAndValues[i], keysAndValues[i + 1]);
    }
    return environment;
  }

  /** Returns the engine's hints of the cluster's first job. */
  private static JsonNode known(TestCluster cluster) {
    return known(cluster, 0);
  }

  private static JsonNode known(TestCluster cluster, int job) {
    return cluster.request(SetupJson.request("job", "job", job)).get("hints");
  }

  private static void assertNothing(JsonNode hints, String... exceptFor) {
    hints.fields().forEachRemaining(hint -> assertTrue(hint.toString(),
        hint.getValue().isNull() || Arrays.asList(exceptFor).contains(hint.getKey())));
  }

  /** Collects the library's log lines when jobs are submitted. */
  private static final class Lines extends AppenderSkeleton implements AutoCloseable {
    private final List<String> lines = new ArrayList<>();

    Lines() {
      Logger.getLogger(Economy.class).addAppender(this);
    }

    @Override
    protected void append(LoggingEvent event) {
      lines.add(event.getRenderedMessage());
    }

    @Override
    public void close() {
      Logger.getLogger(Economy.class).removeAppender(this);
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }
  }

  @Test
  public void theEnvironmentOfTheAmTellsTheEngine() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      RMApp app = submit(cluster, "alice", "daily report 17", environment("HEDDLE_MAPS", "40",
          "HEDDLE_REDUCES", "0", "HEDDLE_INPUT_BYTES", "12g", "HEDDLE_SHUFFLE_RATIO", "0.35",
          "HEDDLE_DEADLINE", "+90m", "HEDDLE_MAP_MS", "12000", "HEDDLE_REDUCE_MS", "34000",
          "PATH", "/bin"));
      JsonNode hints = known(cluster);
      assertEquals(40, hints.get("maps").asInt());
      assertEquals(0, hints.get("reduces").asInt());
      assertFalse("known to be none", hints.get("reduces").isNull());
      assertEquals(12L << 30, hints.get("input_bytes").asLong());
      assertEquals(350, hints.get("shuffle_per_mille").asInt());
      assertEquals(12_000, hints.get("map_ms").asLong());
      assertEquals(34_000, hints.get("reduce_ms").asLong());
      // Ninety minutes after submission, on the monotonic clock.
      long submittedMs = Time.monotonicNow() - (Time.now() - app.getSubmitTime());
      assertEquals(submittedMs + 90 * 60_000, hints.get("deadline_ms").asLong(), CLOCKS_MS);
      assertFalse(hints.get("signature").isNull());
    }
  }

  /** Fills in the shipped template as MapReduce's client does. */
  @Test
  public void theTemplateSaysWhatAJobSets() throws Exception {
    File folder = new File("").getAbsoluteFile();
    while (!new File(folder, "conf/mapred-site.xml").isFile()) {
      folder = folder.getParentFile();
    }
    Configuration job = new Configuration(false);
    job.addResource(new File(folder, "conf/mapred-site.xml").toURI().toURL());
    job.setInt("mapreduce.job.maps", 40);
    job.setInt("mapreduce.job.reduces", 4);
    String prefix = "yarn.app.mapreduce.am.env.";
    try (TestCluster cluster = new TestCluster(); Lines log = new Lines()) {
      Map<String, String> unset = job.getPropsWithPrefix(prefix);
      for (String value : unset.values()) {
        assertFalse("no ApplicationMaster would start: " + value, value.contains("${"));
      }
      submit(cluster, "alice", "N/A", unset);
      long hints = unset.keySet().stream()
          .filter(name -> !name.matches("HEDDLE_(MAPRED_)?JOB_.*")).count();
      assertEquals("one for each hint", known(cluster).size(), hints);
      assertEquals(40, known(cluster).get("maps").asInt());
      assertEquals(4, known(cluster).get("reduces").asInt());
      assertNothing(known(cluster), "maps", "reduces");
      String[][] set = {{"deadline", "+90m"}, {"input-bytes", "12g"}, {"shuffle-ratio", "0.5"},
          {"map-ms", "1000"}, {"reduce-ms", "2000"}, {"signature", "etl"}};
      for (String[] hint : set) {
        job.set("heddle." + hint[0], hint[1]);
      }
      submit(cluster, "alice", "N/A", job.getPropsWithPrefix(prefix));
      known(cluster, 1).fields().forEachRemaining(
          hint -> assertFalse(hint.getKey(), hint.getValue().isNull()));
      assertEquals(2000, known(cluster, 1).get("reduce_ms").asLong());
      assertEquals(Collections.emptyList(), log.lines);
    }
  }

  /** YARN keeps tags in lower case. */
  @Test
  public void tagsDoToo() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      Instant at = Instant.now().plusSeconds(3600);
      submit(cluster, "alice", "report", environment(), "heddle:maps=7", "HEDDLE:Reduces=3",
          "heddle:deadline=" + at, "etl", "team=heddle");
      JsonNode hints = known(cluster);
      assertEquals(7, hints.get("maps").asInt());
      assertEquals(3, hints.get("reduces").asInt());
      assertEquals(Time.monotonicNow() + 3_600_000, hints.get("deadline_ms").asLong(), CLOCKS_MS);
      assertNothing(hints, "maps", "reduces", "deadline_ms", "signature");
    }
  }

  @Test
  public void theEnvironmentGoesBeforeTags() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      submit(cluster, "alice", "report", environment("HEDDLE_MAPS", "5", "HEDDLE_REDUCES", "none"),
          "heddle:maps=7", "heddle:reduces=3");
      assertEquals(5, known(cluster).get("maps").asInt());
      assertEquals("what the template leaves open", 3, known(cluster).get("reduces").asInt());
    }
  }

  @Test
  public void aSubmissionThatSaysNothingIsScheduledAllTheSame() throws Exception {
    try (TestCluster cluster = new TestCluster(); Lines log = new Lines()) {
      RMApp app = submit(cluster, "alice", "N/A", environment(
          "HEDDLE_MAPS", "none", "HEDDLE_DEADLINE", "${heddle.deadline}", "HEDDLE_SIGNATURE", ""));
      assertNothing(known(cluster));
      assertEquals(Collections.emptyList(), log.lines);
      MockNM node = cluster.node("a1", 8 * TestCluster.GB);
      cluster.launch(app, node);
      // Has neither an environment nor a specification of the AM's container.
      RMApp bare = cluster.submit("bob", null);
      assertNull(cluster.scheduler.describe(ApplicationId.newInstance(1, 1)));
      assertNotNull(cluster.scheduler.describe(bare.getApplicationId()));
      cluster.launch(bare, node);
      assertNothing(known(cluster, 1));
    }
  }

  @Test
  public void whatCannotBeReadIsLeftOutWithOneLineThatSaysWhatWasExpected() throws Exception {
    try (TestCluster cluster = new TestCluster(); Lines log = new Lines()) {
      RMApp app = submit(cluster, "alice", "N/A", environment("HEDDLE_MAPS", "4",
          "HEDDLE_REDUCES", "-1", "HEDDLE_DEADLINE", "tomorrow", "HEDDLE_INPUT_BYTES", "9999t",
          "HEDDLE_MAP_MS", "99999999999999999999", "HEDDLE_SHUFFLE_RATIO", "NaN",
          "HEDDLE_DEADLNE", "1", "HEDDLE_SIGNATURE", "a\nb`$(c)"));
      JsonNode hints = known(cluster);
      assertEquals(4, hints.get("maps").asInt());
      assertNothing(hints, "maps");
      assertEquals(log.lines.toString(), 1, log.lines.size());
      String line = log.lines.get(0);
      for (String part : new String[] {app.getApplicationId() + " of user alice",
          "reduces is \"-1\", expected a whole number", "deadline is \"tomorrow\", expected",
          "or a span after submission such as +90m", "up to 8192t, such as", "whole milliseconds",
          "such as 0.35", "no hint is called \"deadlne\", expected one of maps, reduces",
          "signature is \"a?b`$(c)\", expected up to 100"}) {
        assertTrue(part + " is not in: " + line, line.contains(part));
      }
      MockNM node = cluster.node("a1", 8 * TestCluster.GB);
      cluster.launch(app, node);
    }
  }

  /** A very long text must not delay the scheduler. */
  @Test(timeout = 60_000)
  public void longTextCostsNothing() throws Exception {
    char[] colons = new char[1 << 20];
    Arrays.fill(colons, ':');
    String novel = new String(colons);
    try (TestCluster cluster = new TestCluster(); Lines log = new Lines()) {
      submit(cluster, "alice", novel, environment(
          "HEDDLE_MAPS", novel, "HEDDLE_DEADLINE", "none" + novel.replace(":", ":none"),
          "HEDDLE_" + novel, "1"));
      assertNothing(known(cluster), "signature");
      assertEquals(log.lines.toString(), 1, log.lines.size());
      assertTrue(log.lines.get(0).length() + " characters", log.lines.get(0).length() < 2000);
    }
  }

  /** Reads every form of a time, also milliseconds mistaken for seconds. */
  @Test
  public void timesAreReadInThreeForms() throws Exception {
    try (TestCluster cluster = new TestCluster(); Lines log = new Lines()) {
      long now = Time.now();
      String[] good = {String.valueOf(now + 600_000),
          Instant.ofEpochMilli(now + 600_000).toString(), "+600s", "+10M",
          "2090-01-01T00:00:00+02:00", "none:+10m", "+10m:none", "+10m:+20m"};
      String[] bad = {String.valueOf(now / 1000), "2090-01-01T00:00:00", "2001-01-01T00:00:00Z",
          "+10", "+10y", "-10m", "+99999999d", "999999999999999999999", "+1000000000-12-31T00:00Z"};
      for (int i = 0; i < good.length; i++) {
        submit(cluster, "alice", "N/A", environment("HEDDLE_DEADLINE", good[i]));
        long deadlineMs = known(cluster, i).get("deadline_ms").asLong();
        if (!good[i].startsWith("2090")) {
          assertEquals(good[i], Time.monotonicNow() + 600_000, deadlineMs, CLOCKS_MS);
        } else {
          assertTrue(good[i], deadlineMs > Time.monotonicNow() + 365L * 86_400_000);
        }
      }
      assertEquals(Collections.emptyList(), log.lines);
      for (int i = 0; i < bad.length; i++) {
        submit(cluster, "alice", "N/A", environment("HEDDLE_DEADLINE", bad[i]));
        assertNothing(known(cluster, good.length + i));
        assertEquals(bad[i], i + 1, log.lines.size());
      }
    }
  }

  @Test
  public void runsOfOneProgramOfOneUserHaveOneSignature() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      String[][] jobs = {{"alice", "daily report 17"}, {"alice", "Daily report 18"},
          {"bob", "daily report 17"}, {"alice", "weekly report 17"}};
      for (String[] job : jobs) {
        submit(cluster, job[0], job[1], environment());
      }
      submit(cluster, "alice", "x", environment("HEDDLE_SIGNATURE", "Mine"));
      submit(cluster, "alice", "y", environment(), "heddle:signature=mine");
      JsonNode[] signatures = new JsonNode[6];
      for (int i = 0; i < signatures.length; i++) {
        signatures[i] = known(cluster, i).get("signature");
      }
      assertEquals(signatures[0], signatures[1]);
      assertNotEquals("another user's", signatures[0], signatures[2]);
      assertNotEquals("another program", signatures[0], signatures[3]);
      assertEquals("claimed, by either way", signatures[4], signatures[5]);
      assertNotEquals(signatures[0], signatures[4]);
    }
  }

  @Test
  public void theyOutliveTheEngineAndTheResourceManager() throws Exception {
    Configuration conf = TestCluster.recovering("{\"testing\": {\"faults\": true}}");
    MemoryRMStateStore store = new MemoryRMStateStore();
    store.init(conf);
    try (TestCluster old = new TestCluster(conf, store).withoutAudit().expectFaults()) {
      submit(old, "alice", "report",
          environment("HEDDLE_MAPS", "40", "HEDDLE_DEADLINE", "+2h"), "heddle:reduces=4");
      JsonNode before = known(old);
      assertEquals(40, before.get("maps").asInt());
      old.scheduler.inspection().injectFault(FrameLayout.FAULT_PANIC);
      old.tick();
      assertEquals(1, old.scheduler.inspection().engineRebuilds());
      assertEquals(before, known(old));
      try (TestCluster next = new TestCluster(conf, store)) {
        next.rm.drainEvents();
        next.tick();
        JsonNode after = known(next);
        assertEquals(40, after.get("maps").asInt());
        assertEquals(4, after.get("reduces").asInt());
        assertEquals(before.get("signature"), after.get("signature"));
        assertEquals("counted from the submission, not from the restart",
            before.get("deadline_ms").asLong(), after.get("deadline_ms").asLong(), 1_000);
      }
    }
  }

  @Test
  public void theyCanBeTurnedOff() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.setBoolean(Submissions.HINTS_PROPERTY, false);
    try (TestCluster cluster = new TestCluster(conf); Lines log = new Lines()) {
      submit(cluster, "alice", "report", environment("HEDDLE_MAPS", "x"), "heddle:reduces=4");
      assertNothing(known(cluster));
      assertEquals(Collections.emptyList(), log.lines);
    }
  }
}
