package io.heddle.yarn.engine;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.junit.Test;

/** Tests numbers for names and items, keys of containers, and pauses between rebuilds. */
public class NumbersTest {
  @Test
  public void namesKeepTheirNumbers() throws Exception {
    Interner names = new Interner("*");
    assertEquals(0, names.intern("*"));
    assertEquals(Interner.UNKNOWN, names.find("a"));
    for (int i = 0; i < 100; i++) {
      assertEquals(i + 1, names.intern("host" + i));
    }
    assertEquals(51, names.find("host50"));
    assertEquals(101, names.intern("one more"));
  }

  @Test
  public void threadsThatNameTheSameGetTheSameNumber() throws Exception {
    Interner names = new Interner();
    int[][] seen = new int[4][1000];
    Thread[] threads = new Thread[4];
    for (int t = 0; t < threads.length; t++) {
      int[] mine = seen[t];
      threads[t] = new Thread(() -> {
        for (int i = 0; i < mine.length; i++) {
          mine[i] = names.intern("n" + i);
        }
      });
      threads[t].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(1000, names.intern("one more"));
    assertEquals(1000, Arrays.stream(seen[0]).distinct().count());
    for (int i = 0; i < 1000; i++) {
      for (int[] mine : seen) {
        assertEquals(seen[0][i], mine[i]);
      }
      assertEquals(seen[0][i], names.find("n" + i));
    }
  }

  @Test
  public void freedNumbersAreGivenAgainTheSmallestFirst() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    DenseTable<Integer> table = new DenseTable<>();
    java.util.TreeSet<Integer> free = new java.util.TreeSet<>();
    Map<Integer, Integer> model = new HashMap<>();
    int end = 0;
    for (int i = 0; i < 5000; i++) {
      if (random.nextInt(100) < 55) {
        int id = table.add(i);
        int expected = free.isEmpty() ? end++ : free.pollFirst();
        assertEquals("seed " + seed, expected, id);
        model.put(id, i);
      } else if (!model.isEmpty()) {
        int id = random.nextInt(end);
        table.remove(id);
        if (model.remove(id) != null) {
          free.add(id);
        }
      }
      assertEquals("seed " + seed, model.size(), table.size());
    }
    for (int id = -1; id <= end; id++) {
      assertEquals("seed " + seed, model.get(id), table.get(id));
    }
  }

  @Test
  public void containerIdsSurviveTheirKeys() {
    ApplicationId app = ApplicationId.newInstance(1234567890123L, 42);
    long[] numbers = {1, 5L << 40 | 1, 65535L << 40 | (1L << 32) - 1};
    for (long number : numbers) {
      for (int attempt : new int[] {1, 2, 255, 256, 65535}) {
        ContainerId id = ContainerId.newContainerId(
            ApplicationAttemptId.newInstance(app, attempt), number);
        assertEquals(id, ContainerKeys.toId(app, ContainerKeys.of(id)));
      }
    }
    assertEquals(0x0005_0002_00000007L, ContainerKeys.of(5L << 40 | 7, 2));
  }

  @Test
  public void accidentsAreFreeAndLoopsAreSlowedDown() {
    RebuildLimiter limiter = new RebuildLimiter();
    long now = 1_000_000;
    for (int i = 0; i < RebuildLimiter.FREE_REBUILDS; i++) {
      assertEquals(0, limiter.lost(now++));
      assertTrue(limiter.allows(now));
    }
    long pause = limiter.lost(now);
    assertEquals(RebuildLimiter.PAUSE_MIN_MS, pause);
    assertFalse(limiter.allows(now + pause - 1));
    assertTrue(limiter.allows(now + pause));
    long last = pause;
    for (int i = 0; i < 12; i++) {
      now += last;
      long next = limiter.lost(now);
      if (next == 0) {
        // The pauses are now so long that losses no longer count as frequent.
        assertTrue(last >= RebuildLimiter.WINDOW_MS / RebuildLimiter.FREE_REBUILDS);
        return;
      }
      assertEquals(Math.min(RebuildLimiter.PAUSE_MAX_MS, last * 2), next);
      last = next;
    }
  }

  @Test
  public void rareLossesNeverSlowDown() {
    RebuildLimiter limiter = new RebuildLimiter();
    for (int i = 0; i < 100; i++) {
      assertEquals(0, limiter.lost(i * RebuildLimiter.WINDOW_MS));
    }
  }
}
