package io.heddle.yarn.facts;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.facts.FactFeedTest.MAP;
import static io.heddle.yarn.facts.FactFeedTest.asked;
import static io.heddle.yarn.facts.FactFeedTest.fast;
import static io.heddle.yarn.facts.FactFeedTest.json;
import static io.heddle.yarn.facts.FactFeedTest.totals;
import static org.junit.Assert.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.ContainerKeys;
import io.heddle.yarn.engine.SetupJson;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.junit.Test;

/** Tests what ApplicationMasters tell of single tasks, true or not, on the way to the engine. */
public class TaskFactsTest {
  private static final String RECLAIMING = "{\"policy\": \"dynamic-priority\","
      + " \"dynamic_priority\": {\"reclaim_interval_ms\": 1000}, \"heartbeat_fill\": 1.0}";

  private static String mapOf(int number) {
    return "task_1_0001_m_00000" + number;
  }

  private static String attempt(String state, double percent, Object container) {
    return json("{'taskAttempts': {'taskAttempt': [{'state': '" + state + "', 'progress': "
        + percent + ", 'assignedContainerId': '" + container + "'}]}}");
  }

  private static String mapList(double... percents) {
    StringBuilder tasks = new StringBuilder();
    for (int i = 0; i < percents.length; i++) {
      tasks.append(i == 0 ? "" : ",").append("{'id': '").append(mapOf(i))
          .append("', 'state': 'RUNNING', 'startTime': 1, 'progress': ").append(percents[i])
          .append('}');
    }
    return json("{'tasks': {'task': [" + tasks + "]}}");
  }

  /** Returns the progress of a container's task and whether it commits, from a job's facts. */
  private static String told(JsonNode facts, Container container) {
    for (JsonNode task : facts.get("tasks")) {
      if (task.get(0).asLong() == ContainerKeys.of(container.getId())) {
        return task.get(1) + " " + task.get(2);
      }
    }
    return "nothing";
  }

  /** Victims are chosen by progress, so a policy that takes containers back has each task told. */
  @Test
  public void mapsTellTheirProgressAndThatTheyCommit() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(fast(RECLAIMING))) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      List<Container> maps = job.run(MAP, 2);
      server.answer(job.path() + "/tasks?type=m", mapList(25, 99));
      server.answer(job.path() + "/tasks/" + mapOf(0) + "/attempts",
          attempt("RUNNING", 25, maps.get(0).getId()));
      server.answer(job.path() + "/tasks/" + mapOf(1) + "/attempts",
          attempt("COMMIT_PENDING", 99, maps.get(1).getId()));
      server.answer(job.path(), totals(2, 0, 0, 0));
      job.await("a map", () -> told(job.look(), maps.get(0)).equals("250 false"));
      job.await("a commit", () -> told(job.look(), maps.get(1)).equals("990 true"));
    }
  }

  /**
   * An ApplicationMaster claims what it likes; it counts for its own containers. A claim with a
   * progress beyond 100 % is refused whole, its commit included.
   */
  @Test
  public void falseWordsOnTasksConcernNobodyElse() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(fast(RECLAIMING))) {
      MockNM node = cluster.node("localhost", 16 * GB);
      Job victim = new Job(cluster, node, "MAPREDUCE", "");
      Container others = victim.run(MAP, 1).get(0);
      Job job = new Job(cluster, node, "MAPREDUCE", server.url());
      // Each claim has a container of its own, because the next poll may have told some already.
      List<Container> own = job.run(MAP, 2);
      Object[] claimed = {others.getId(), "container_1_0001_01_999999", "../../conf",
          own.get(0).getId(), own.get(1).getId()};
      double[] percents = {0, 0, 0, 1e9, 50};
      for (int i = 0; i < claimed.length; i++) {
        server.answer(job.path() + "/tasks/" + mapOf(i) + "/attempts",
            attempt(i == 4 ? "RUNNING" : "COMMIT_PENDING", percents[i], claimed[i]));
      }
      server.answer(job.path() + "/tasks?type=m", mapList(0, 0, 0, 0, 0));
      server.answer(job.path(), totals(5, 0, 0, 0));
      job.await("all were asked about", () -> {
        job.look();
        return asked(server, job.path() + "/tasks/" + mapOf(4) + "/attempts") > 1;
      });
      cluster.tick();
      JsonNode neighbour = cluster.request(SetupJson.request("job", "job", 0));
      assertEquals("the neighbour's", 0, neighbour.get("tasks").size());
      JsonNode liar = cluster.request(SetupJson.request("job", "job", 1));
      assertEquals(liar.toString(), 1, liar.get("tasks").size());
      assertEquals("of an impossible progress", "nothing", told(liar, own.get(0)));
      assertEquals("500 false", told(liar, own.get(1)));
    }
  }

  /** Reduces go where map output is. Of few maps each is asked once, after it has ended. */
  @Test
  public void endedMapsTellTheirOutput() throws Exception {
    try (LoopbackServer server = new LoopbackServer();
        TestCluster cluster = new TestCluster(
            fast("{\"policy\": \"shufflewatcher\", \"heartbeat_fill\": 1.0}"))) {
      Job job = new Job(cluster, cluster.node("localhost", 8 * GB), "MAPREDUCE", server.url());
      List<Container> maps = job.run(MAP, 2);
      String attempt = "attempt_1_0001_m_000000_0";
      String path = job.path() + "/tasks/" + mapOf(0) + "/attempts/" + attempt;
      server.answer(job.path() + "/counters", "{}");
      server.answer(job.path() + "/tasks?type=m", json("{'tasks': {'task': [{'id': '" + mapOf(0)
          + "', 'state': 'SUCCEEDED', 'successfulAttempt': '" + attempt + "'}, {'id': '" + mapOf(1)
          + "', 'state': 'SUCCEEDED', 'successfulAttempt': '../../conf'}]}}"));
      server.answer(path, json("{'taskAttempt': {'state': 'SUCCEEDED', 'assignedContainerId': '"
          + maps.get(0).getId() + "'}}"));
      server.answer(path + "/counters", json("{'jobTaskAttemptCounters': {"
          + "'taskAttemptCounterGroup': [{"
          + "'counterGroupName': 'org.apache.hadoop.mapreduce.TaskCounter', 'counter':"
          + " [{'name': 'MAP_OUTPUT_MATERIALIZED_BYTES', 'value': 700}]}]}}"));
      cluster.completed(job.node, maps.get(0));
      cluster.completed(job.node, maps.get(1));
      job.await("both maps ended", () -> job.look().get("done").get(0).asInt() == 2);
      server.answer(job.path(), totals(2, 2, 1, 0));
      job.await("the output of one", () -> placed(job).path("told").asInt() == 1);
      assertEquals(700, placed(job).path("output").elements().next().asInt());
      assertEquals("of the other", 1, placed(job).path("silent").elements().next().asInt());
      job.await("more polls", () -> {
        job.look();
        return asked(server, job.path()) > 5;
      });
      assertEquals("asked once", 1, asked(server, path));
    }
  }

  private static JsonNode placed(Job job) {
    job.look();
    return job.cluster.request(SetupJson.request("stages")).path("place").path("jobs").path("0");
  }
}
