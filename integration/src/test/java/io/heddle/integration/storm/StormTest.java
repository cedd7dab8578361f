package io.heddle.integration.storm;

import static org.junit.Assert.assertEquals;

import org.junit.Test;

/**
 * A minute of {@code ./x storm}, shared by all presets; another seed each time, which is printed.
 * Newest Hadoop only: what the storm looks for is Heddle's own.
 */
public class StormTest {
  private static final long MINUTE_MS = 60_000;

  @Test
  public void everythingAtOnceHurtsNothing() throws Exception {
    long seed = Long.getLong("heddle.storm.seed", System.nanoTime());
    assertEquals("", new Storm(seed, System.out).run(Storm.PRESETS, MINUTE_MS));
  }
}
