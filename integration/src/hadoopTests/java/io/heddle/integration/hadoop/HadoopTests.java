package io.heddle.integration.hadoop;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs one of Hadoop's test classes and compares its failures with the list of those expected.
 * Arguments: the class, the list, a file to which a line of counts for each kind is added.
 */
public final class HadoopTests implements TestExecutionListener {
  private static final String PACKAGE = "org.apache.hadoop.yarn.server.resourcemanager.";
  // Hadoop's own limits assume an idle machine; `Watch` has a longer one.
  private static final String TIMEOUTS = "junit.jupiter.execution.timeout.mode";
  private static final String SCHEDULER =
      Boolean.getBoolean("heddle.hadoop-tests.stock") ? "stock" : "heddle";
  // Tests print to System.out, and some replace it.
  private static final PrintStream OUT = System.out;

  private final Listed listed;
  private final Map<String, int[]> counts = new TreeMap<>();
  private final Set<String> failedAsListed = new HashSet<>();
  private final List<String> unexpected = new ArrayList<>();
  private final Watch watch = new Watch(Thread.currentThread());
  /** Tests that passed, or failed as listed. */
  private int asExpected;

  private HadoopTests(Listed listed) {
    this.listed = listed;
  }

  /** Runs the class, or one method of it; exits with 1 if a result is not as expected. */
  public static void main(String[] arguments) throws Exception {
    Surroundings.prepare();
    if (SCHEDULER.equals("heddle")) {
      Swap.install();
    }
    Class<?> testClass = Class.forName(PACKAGE + arguments[0]);
    HadoopTests tests = new HadoopTests(Listed.read(Paths.get(arguments[1]),
        SCHEDULER, testClass.getSimpleName()));
    LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
        .configurationParameter(TIMEOUTS, "disabled")
        .selectors(arguments.length > 3
            ? selectMethod(testClass, method(testClass, arguments[3])) : selectClass(testClass))
        .build();
    tests.watch.start();
    LauncherFactory.create().execute(request, tests);
    if (SCHEDULER.equals("heddle") && Swap.made() == 0) {
      tests.fails("no test made a scheduler", null);
    }
    tests.close(testClass.getSimpleName(), Paths.get(arguments[2]));
    // Threads of ResourceManagers that a failed test did not stop would keep the JVM.
    System.exit(tests.unexpected.isEmpty() && tests.asExpected > 0 ? 0 : 1);
  }

  private static Method method(Class<?> testClass, String name) {
    return Arrays.stream(testClass.getMethods())
        .filter(method -> method.getName().equals(name)).findFirst().get();
  }

  @Override
  public void executionStarted(TestIdentifier test) {
    Surroundings.logIn();
    watch.begin(test.isTest());
  }

  @Override
  public void executionSkipped(TestIdentifier test, String reason) {
    OUT.printf("SKIPPED  %s: %s%n", test.getDisplayName(), reason);
  }

  @Override
  public void executionFinished(TestIdentifier test, TestExecutionResult result) {
    watch.begin(false);
    if (!test.isTest() || !test.getSource().isPresent()) {
      result.getThrowable().ifPresent(e -> fails(test.getDisplayName(), e));
      return;
    }
    MethodSource method = (MethodSource) test.getSource().get();
    String name = method.getJavaClass().getSimpleName() + "." + method.getMethodName();
    String kind = kind(test.getDisplayName());
    int[] counted = counts.computeIfAbsent(kind, k -> new int[3]);
    String reason = listed.reason(kind, name);
    if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
      counted[0]++;
      if (reason == null || Listed.isFlaky(reason)) {
        asExpected++;
        OUT.printf("PASSED   %s %s%n", kind, name);
      } else {
        fails(kind + " " + name, new AssertionError("passes, but is listed: " + reason));
      }
    } else if (result.getStatus() == TestExecutionResult.Status.ABORTED) {
      counted[2]++;
      OUT.printf("ABORTED  %s %s%n", kind, name);
    } else if (reason != null) {
      counted[1]++;
      asExpected++;
      failedAsListed.add(kind + " " + name);
      failedAsListed.add("* " + name);
      OUT.printf("LISTED   %s %s: %s%n", kind, name, reason);
      result.getThrowable().ifPresent(e -> e.printStackTrace(OUT));
    } else {
      counted[1]++;
      fails(kind + " " + name, result.getThrowable().orElse(null));
    }
  }

  private void fails(String what, Throwable cause) {
    unexpected.add(what + ": " + cause);
    OUT.printf("FAILED   %s%n", what);
    if (cause != null) {
      cause.printStackTrace(OUT);
    }
  }

  /** Returns the scheduler among a test's parameters; a test without them is named `name()`. */
  private static String kind(String displayName) {
    String name = displayName.endsWith("()") ? "" : displayName.toUpperCase(Locale.ROOT);
    return name.contains("CAPACITY") ? "CAPACITY" : name.contains("FAIR") ? "FAIR" : "-";
  }

  private void close(String testClass, Path results) throws IOException {
    for (String entry : listed.entries()) {
      boolean flaky = Listed.isFlaky(listed.reason(entry));
      String name = entry.replace("* ", "");
      if (!flaky && !failedAsListed.contains(entry)
          && unexpected.stream().noneMatch(line -> line.startsWith(name))) {
        unexpected.add(entry + ": is listed, but did not fail");
      }
    }
    StringBuilder lines = new StringBuilder();
    counts.forEach((kind, counted) -> lines.append(String.format("%s,%s,%s,%d,%d,%d%n",
        testClass, SCHEDULER, kind, counted[0], counted[1], counted[2])));
    Files.write(results, lines.toString().getBytes(StandardCharsets.UTF_8),
        StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    OUT.print(lines);
    unexpected.forEach(line -> OUT.println("not ok " + line));
    OUT.printf("%d passed, %d failed%n", asExpected, unexpected.size());
  }
}
