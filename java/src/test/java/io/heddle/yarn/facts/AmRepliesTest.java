package io.heddle.yarn.facts;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.engine.SetupJson;
import org.junit.Test;

/** Tests addresses and answers of ApplicationMasters. */
public class AmRepliesTest {
  @Test
  public void anAttemptWithoutAContainerIsNone() {
    AmReplies.ReduceAttempt reduce =
        AmReplies.runningAttempt(SetupJson.read("[\"container_1_0001_01_000005\", 0.8, 1234]"));
    assertEquals("container_1_0001_01_000005", reduce.container.toString());
    assertNull(AmReplies.runningAttempt(SetupJson.read("[\"x\", 0.8, -1]")));
    assertNull(AmReplies.runningAttempt(SetupJson.read("null")));
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
   * A job of 4 reduces, of which 1 is done and 2 run: at P = 0.5 + 0.45 * 0.6 the reduces' mean is
   * 0.6 and their sum 2.4. Without the finished one that is 1.4, or 0.7 for each running one.
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

  /** From 0.6 at 10 s to 0.7 at 13 s: two thirds were passed at 12 s. */
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
