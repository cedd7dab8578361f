package io.heddle.integration.stock;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** A seeded source of choices. */
final class Dice {
  private final Random random;

  Dice(long seed) {
    // Neighbouring seeds of Random begin alike.
    random = new Random(seed * 0x9E3779B97F4A7C15L ^ 0x5DEECE66DL);
  }

  /** Returns true in this share of cases. */
  boolean chance(double share) {
    return random.nextDouble() < share;
  }

  int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  @SafeVarargs
  final <T> T of(T... choices) {
    return choices[random.nextInt(choices.length)];
  }

  <T> T of(List<T> choices) {
    return choices.get(random.nextInt(choices.size()));
  }

  /** Returns this many different ones of the choices, in random order. */
  <T> List<T> some(int count, List<T> choices) {
    List<T> shuffled = new ArrayList<>(choices);
    Collections.shuffle(shuffled, random);
    return shuffled.subList(0, Math.min(count, shuffled.size()));
  }
}
