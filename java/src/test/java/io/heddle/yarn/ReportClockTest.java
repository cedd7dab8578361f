package io.heddle.yarn;

import static org.junit.Assert.assertEquals;

import java.util.Collections;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.util.resource.Resources;
import org.junit.Test;

/** Tests which nodes count as silent. */
public class ReportClockTest {
  private final ReportClock clock = new ReportClock(2_000);

  private static HeddleNode node() {
    return new HeddleNode(MockNodes.newNodeInfo(0, Resources.createResource(1024)), false,
        Collections.emptySet());
  }

  /** Reports several times for a node; returns the time of the last report. */
  private long reports(HeddleNode node, int times, long intervalMs) {
    for (int i = 1; i <= times; i++) {
      clock.reported(node, i * intervalMs);
    }
    return times * intervalMs;
  }

  @Test
  public void aNodeIsLateByItsOwnInterval() {
    HeddleNode quick = node();
    HeddleNode slow = node();
    long lastMs = reports(slow, 10, 10_000);
    for (long nowMs = 1_000; nowMs <= lastMs; nowMs += 1_000) {
      clock.reported(quick, nowMs);
    }
    assertEquals(Collections.emptyList(), clock.late(lastMs + 4_999));
    assertEquals(Collections.singletonList(quick), clock.late(lastMs + 5_000));
    assertEquals("told once", Collections.emptyList(), clock.late(lastMs + 29_999));
    assertEquals(Collections.singletonList(slow), clock.late(lastMs + 30_000));
    clock.reported(quick, lastMs + 40_000);
    assertEquals("it may be for longer, after such a gap", Collections.emptyList(),
        clock.late(lastMs + 45_000));
    assertEquals(Collections.singletonList(quick), clock.late(lastMs + 80_000));
  }

  /** It may have left before its second report. */
  @Test
  public void aNodeThatReportedOnceIsLateByTheConfiguredInterval() {
    HeddleNode node = node();
    long lastMs = reports(node, 1, 1_000);
    assertEquals(Collections.emptyList(), clock.late(lastMs + 5_999));
    assertEquals(Collections.singletonList(node), clock.late(lastMs + 6_000));
  }
}
