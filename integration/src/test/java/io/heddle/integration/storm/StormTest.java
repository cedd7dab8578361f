package io.heddle.integration.storm;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

/**
 * Runs {@code ./x storm} for one minute, shared by all presets. Prints its seed, which differs
 * each time. Newest Hadoop only: the storm looks for faults of Heddle alone.
 */
public class StormTest {
  private static final long STORM_MS = 60_000;

  @Test
  public void everythingAtOnceHurtsNothing() throws Exception {
    long seed = Long.getLong("heddle.storm.seed", System.nanoTime());
    assertEquals("", new Storm(seed, System.out).run(Storm.PRESETS, STORM_MS));
  }
}
