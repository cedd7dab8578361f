/*
 * Records operations and violations. Any thread may call it.
 */
package io.heddle.integration.storm;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Counts, the last operations, and violations. */
final class History {
  private static final int REMEMBERED = 60;
  private static final int VIOLATIONS_MAX = 20;

  private final Map<Operation, Long> counts = new EnumMap<>(Operation.class);
  private final Deque<String> last = new ArrayDeque<>();
  private final List<String> violations = new ArrayList<>();
  private final Set<String> kinds = new HashSet<>();

  synchronized void count(Operation operation) {
    counts.merge(operation, 1L, Long::sum);
  }

  /** Records an operation that is about to happen. */
  synchronized void note(Operation operation, Object detail) {
    if (last.size() == REMEMBERED) {
      last.removeFirst();
    }
    last.addLast(String.format(Locale.ROOT, "%-8s %s %s",
        Thread.currentThread().getName(), operation, detail));
  }

  synchronized void violation(String what, Throwable cause) {
    // Keeps one of each kind: others differ only in numbers.
    String kind = (what + (cause == null || cause.getStackTrace().length == 0
        ? "" : cause.getStackTrace()[0])).replaceAll("[0-9]+", "#");
    if (violations.size() >= VIOLATIONS_MAX || !kinds.add(kind)) {
      return;
    }
    StringWriter text = new StringWriter().append(what);
    if (cause != null) {
      text.append(": ");
      cause.printStackTrace(new PrintWriter(text));
    }
    if (violations.isEmpty()) {
      text.append("\n  the last operations before it:\n  ").append(String.join("\n  ", last));
    }
    violations.add(text.toString());
  }

  synchronized List<String> violations() {
    return new ArrayList<>(violations);
  }

  synchronized Map<Operation, Long> counts() {
    return new EnumMap<>(counts);
  }
}
