package io.heddle.yarn.web;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * Chooses between the types that an answer can be given in, by the {@code Accept} header, as the
 * ResourceManager's own REST does: the range with the highest {@code q} wins, the first on a tie,
 * and of the types that it covers the first one offered. No JAX-RS is asked: the three Hadoop
 * versions have two kinds of it.
 */
final class MediaTypes {
  static final String JSON = "application/json";
  static final String XML = "application/xml";

  private MediaTypes() {}

  /** One element of the header. */
  private static final class Range {
    final String type;
    final double quality;

    Range(String element) {
      String[] parts = element.split(";");
      type = parts[0].trim().toLowerCase(Locale.ROOT);
      double q = 1;
      for (int i = 1; i < parts.length; i++) {
        String parameter = parts[i].trim().toLowerCase(Locale.ROOT);
        if (parameter.startsWith("q=")) {
          q = number(parameter.substring(2));
        }
      }
      quality = q;
    }

    private static double number(String text) {
      try {
        return Double.parseDouble(text.trim());
      } catch (NumberFormatException e) {
        return 0;
      }
    }

    boolean covers(String offered) {
      return type.equals("*/*") || type.equals(offered)
          || type.endsWith("/*") && offered.startsWith(type.substring(0, type.length() - 1));
    }
  }

  /**
   * Returns the type to answer with, or null if none will do.
   *
   * @param accept the header, or null
   */
  static String choose(String accept, String... offered) {
    if (accept == null || accept.trim().isEmpty()) {
      return offered[0];
    }
    List<Range> ranges = new ArrayList<>();
    for (String element : accept.split(",")) {
      ranges.add(new Range(element));
    }
    ranges.removeIf(range -> !(range.quality > 0));
    // The sort is stable: equals stay in the order of the header.
    ranges.sort(Comparator.comparingDouble((Range range) -> -range.quality));
    for (Range range : ranges) {
      for (String type : offered) {
        if (range.covers(type)) {
          return type;
        }
      }
    }
    return null;
  }
}
