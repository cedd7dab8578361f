package io.heddle.integration.stock;

/** Which seeds to play; the environment variable HEDDLE_SEEDS has one, such as 17, or 1-3000. */
record Seeds(long first, long last) {
  /**
   * Returns the seeds that were asked for.
   *
   * @param few the last one if none were
   * @param many the last one with {@code --all}
   */
  static Seeds asked(long few, long many) {
    String seeds = System.getenv("HEDDLE_SEEDS");
    if (seeds == null) {
      return new Seeds(1, System.getenv("HEDDLE_TEST_ALL") == null ? few : many);
    }
    int dash = seeds.indexOf('-');
    return new Seeds(Long.parseLong(dash < 0 ? seeds : seeds.substring(0, dash)),
        Long.parseLong(seeds.substring(dash + 1)));
  }
}
