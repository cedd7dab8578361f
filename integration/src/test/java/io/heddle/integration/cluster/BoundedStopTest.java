package io.heddle.integration.cluster;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.junit.Test;

/** A part of a cluster that does not stop is reported and blocks no test. Newest Hadoop only. */
public class BoundedStopTest {
  private final CountDownLatch hangs = new CountDownLatch(1);
  private final CountDownLatch never = new CountDownLatch(1);

  private void hang() {
    hangs.countDown();
    try {
      never.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  public void aStopThatHangsIsGivenUpWithItsStack() throws InterruptedException {
    Thread other = new Thread(this::hang, "one that it waits for");
    other.setDaemon(true);
    other.start();
    hangs.await();
    BoundedStop.Hang told =
        assertThrows(
            BoundedStop.Hang.class, () -> BoundedStop.run("a part", 10, this::hang));
    assertTrue(told.getMessage(), told.getMessage().startsWith("a part did not stop in 10 s"));
    assertTrue(told.getMessage(), told.getMessage().contains("one that it waits for"));
    assertTrue(
        Arrays.toString(told.getStackTrace()),
        Arrays.stream(told.getStackTrace()).anyMatch(at -> at.getMethodName().equals("hang")));
    BoundedStop.runOrTell("a part", 1, this::hang);
    never.countDown();
  }

  @Test
  public void aStopThatEndsIsWaitedFor() {
    int[] stopped = new int[1];
    BoundedStop.run("a part", 60, () -> stopped[0]++);
    BoundedStop.runOrTell("a part", 60, () -> stopped[0]++);
    assertEquals(2, stopped[0]);
  }

  @Test
  public void aStopThatFailsIsNoHang() {
    Runnable fails = () -> {
      throw new IllegalArgumentException("broken");
    };
    IllegalStateException told =
        assertThrows(
            IllegalStateException.class, () -> BoundedStop.runOrTell("a part", 60, fails));
    assertEquals("broken", told.getCause().getMessage());
  }
}
