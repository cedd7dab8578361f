package io.heddle.yarn.facts;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.SetupJson;
import java.util.Arrays;
import java.util.Collections;
import org.junit.Test;

/** What ApplicationMasters answer, the shapes of several versions and nonsense; and addresses. */
public class AmRepliesTest {
  private static JsonNode json(String text) {
    return SetupJson.read(text.replace('\'', '"'));
  }

  @Test
  public void totalsAreNumbersOrTexts() {
    AmReplies.Totals totals = new AmReplies.Totals(json(
        "{'job': {'mapsTotal': 40, 'reducesTotal': '3', 'mapsCompleted': 7,"
            + " 'reducesCompleted': 0}}"));
    assertEquals(40, totals.maps);
    assertEquals(3, totals.reduces);
    assertEquals(7, totals.mapsDone);
    assertEquals(0, totals.reducesDone);
  }

  @Test
  public void nonsenseIsUnknown() {
    for (String value : new String[] {"-1", "'x'", "null", "[]", "{}", "true", "1e400", "-1e400",
        "'99999999999999999999'", "' '", "'NaN'"}) {
      AmReplies.Totals totals = new AmReplies.Totals(json("{'job': {'mapsTotal': " + value + "}}"));
      assertEquals(value, AmReplies.UNKNOWN, totals.maps);
    }
    assertEquals(AmReplies.UNKNOWN, new AmReplies.Totals(json("{'job': 7}")).maps);
    assertEquals(AmReplies.UNKNOWN, new AmReplies.Totals(json("{'job': []}")).reduces);
    assertEquals(-1, AmReplies.percent(json("{'p': 101}").path("p")), 0);
    assertEquals(-1, AmReplies.percent(json("{'p': 'NaN'}").path("p")), 0);
    assertEquals(0.5, AmReplies.percent(json("{'p': '50.0'}").path("p")), 0);
  }

  @Test
  public void countersAreAddedOverFileSystemsButNotLocalOnes() {
    AmReplies.Moved moved = new AmReplies.Moved(json("{'jobCounters': {'counterGroup': ["
        + "{'counterGroupName': 'org.apache.hadoop.mapreduce.FileSystemCounter', 'counter': ["
        + "{'name': 'FILE_BYTES_READ', 'mapCounterValue': 9, 'totalCounterValue': 9},"
        + "{'name': 'HDFS_BYTES_READ', 'mapCounterValue': 100, 'totalCounterValue': 120},"
        + "{'name': 'S3A_BYTES_READ', 'mapCounterValue': 20, 'totalCounterValue': 20},"
        + "{'name': 'HDFS_BYTES_WRITTEN', 'mapCounterValue': 0, 'totalCounterValue': 30}]},"
        + "{'counterGroupName': 'org.apache.hadoop.mapreduce.TaskCounter', 'counter': ["
        + "{'name': 'REDUCE_SHUFFLE_BYTES', 'totalCounterValue': 40},"
        + "{'name': 'MAP_OUTPUT_MATERIALIZED_BYTES', 'totalCounterValue': '50'}]},"
        + "{'counterGroupName': 'mine', 'counter': {'name': 'REDUCE_SHUFFLE_BYTES',"
        + " 'totalCounterValue': 1000}}]}}"));
    assertEquals(120, moved.input);
    assertEquals(30, moved.written);
    assertEquals(40, moved.shuffled);
    assertEquals(50, moved.mapOutput);
    AmReplies.Moved none = new AmReplies.Moved(json("{'jobCounters': {'counterGroup': 'x'}}"));
    assertEquals(0, none.input + none.written + none.shuffled + none.mapOutput);
  }

  @Test
  public void theFirstRunningReducesAreSamples() {
    JsonNode tasks = json("{'tasks': {'task': ["
        + "{'id': 'task_1_0001_r_000003', 'state': 'RUNNING', 'startTime': 30},"
        + "{'id': 'task_1_0001_r_000001', 'state': 'RUNNING', 'startTime': 10},"
        + "{'id': 'task_1_0001_r_000002', 'state': 'SUCCEEDED', 'startTime': 5},"
        + "{'id': 'task_1_0001_r_000004', 'state': 'RUNNING', 'startTime': 0},"
        + "{'id': '../../conf', 'state': 'RUNNING', 'startTime': 1},"
        + "{'id': 'task_1_0001_m_000000', 'state': 'RUNNING', 'startTime': 1}]}}");
    assertEquals(Arrays.asList("task_1_0001_r_000001", "task_1_0001_r_000003"),
        AmReplies.runningReduces(tasks, 5));
    assertEquals(Collections.singletonList("task_1_0001_r_000001"),
        AmReplies.runningReduces(tasks, 1));
    assertTrue(AmReplies.runningReduces(json("{'tasks': {}}"), 5).isEmpty());
  }

  @Test
  public void anAttemptTellsItsContainer() {
    String container = "container_1_0001_01_000005";
    AmReplies.ReduceAttempt reduce = AmReplies.runningAttempt(json("{'taskAttempts':"
        + " {'taskAttempt': {'state': 'RUNNING', 'progress': 80.0, 'assignedContainerId': '"
        + container + "', 'mergeFinishTime': 1234}}}"));
    assertEquals(container, reduce.container.toString());
    assertEquals(0.8, reduce.progress, 1e-9);
    assertEquals(1234, reduce.reducingSinceMs);
    assertNull(AmReplies.runningAttempt(json("{'taskAttempts': {'taskAttempt': [{'state':"
        + " 'RUNNING', 'progress': 80.0, 'assignedContainerId': 'x'}]}}")));
    assertNull(AmReplies.runningAttempt(json("{}")));
  }

  @Test
  public void onlyTheNodeOfTheMasterIsAsked() {
    assertEquals("http://n1:40000/ws/v1/mapreduce/",
        AmPoller.base("http://n1:40000", "n1").toString());
    assertEquals("whatever else it says is not used", "http://n1:40000/ws/v1/mapreduce/",
        AmPoller.base("http://u:p@N1:40000/admin?kill=1#x", "n1").toString());
    for (String address : new String[] {null, "", "N/A", "n1:40000", "http://n2:40000",
        "http://n1", "https://n1:40000", "ftp://n1:40000", "http://n1:40000@n2:80",
        "http://n1.evil:40000", "file:///etc/passwd", "http://[", "http://n1:x"}) {
      assertNull(address, AmPoller.base(address, "n1"));
    }
    assertEquals("http://n1:8042/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics",
        NodePoller.metrics("n1:8042", "n1").toString());
    assertNull(NodePoller.metrics("n2:8042", "n1"));
    assertNull(NodePoller.metrics(null, "n1"));
  }

  /**
   * A job of 4 reduces of which 1 is done and 2 run: at P = 0.5 + 0.45 * 0.6 the reduces' mean is
   * 0.6, their sum 2.4; less the one that is done 1.4, over two 0.7.
   */
  @Test
  public void theProgressOfRunningReducesFollowsFromTheJobs() {
    assertEquals(0.7, ReduceProgress.ofRunning(0.77, 4, 1, 2), 1e-9);
    assertEquals(0, ReduceProgress.ofRunning(0.5, 4, 1, 2), 1e-9);
    assertEquals(1, ReduceProgress.ofRunning(1, 4, 1, 2), 1e-9);
    assertTrue(ReduceProgress.ofRunning(0.77, 4, 1, 0) < 0);
    assertTrue(ReduceProgress.ofRunning(0.49, 4, 1, 2) < 0);
    assertTrue(ReduceProgress.ofRunning(Double.NaN, 4, 1, 2) < 0);
    assertTrue("more than there are", ReduceProgress.ofRunning(0.77, 2, 1, 2) < 0);
    assertTrue("two of one reduce", ReduceProgress.ofRunning(0.77, 2, -1, 3) < 0);
    assertTrue("two of one reduce", ReduceProgress.ofRunning(0.77, 2, -1, 1) < 0);
    assertEquals(0, ReduceProgress.executedPerMille(0.5));
    assertEquals(500, ReduceProgress.executedPerMille(5.0 / 6));
    assertEquals(1000, ReduceProgress.executedPerMille(1));
  }

  /** Seen at 0.6 at 10 s and at 0.7 at 13 s: two thirds were passed at 12 s. */
  @Test
  public void theBeginOfTheReduceFunctionsIsBetweenTwoLooks() {
    ReduceProgress progress = new ReduceProgress();
    assertFalse("still sorting", progress.note(0.6, 10_000));
    assertTrue(progress.note(0.7, 13_000));
    assertEquals(12_000, progress.reducingSinceMs());
    assertFalse("nothing new", progress.note(0.7005, 14_000));
    assertTrue(progress.note(0.8, 15_000));
    assertEquals(12_000, progress.reducingSinceMs());
    assertFalse("others run now", progress.note(0.3, 20_000));
    assertFalse(progress.note(-1, 21_000));
    ReduceProgress late = new ReduceProgress();
    assertTrue(late.note(0.9, 50_000));
    assertEquals("not seen before", 50_000, late.reducingSinceMs());
  }
}
