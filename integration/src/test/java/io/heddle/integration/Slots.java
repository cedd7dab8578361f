package io.heddle.integration;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.jobs.ShellService;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.junit.rules.ExternalResource;

/**
 * Counts the containers that applications hold, by the ResourceManager's own books. The clusters of
 * these tests have sixteen slots, four on each node. As a rule it stops services that a failed test
 * left running, which would starve the tests after it.
 */
final class Slots extends ExternalResource {
  /** The size of a task: sixteen fill the cluster. */
  static final Resource SIZE = Resource.newInstance(512, 1);

  /** Far longer than any test. */
  private static final String SLEEP = "exec sleep 3600";

  private static final long SAMPLE_MS = 100;

  private final ClusterRule cluster;
  private final List<ShellService> services = new ArrayList<>();

  Slots(ClusterRule cluster) {
    this.cluster = cluster;
  }

  @Override
  protected void after() {
    for (ShellService service : services) {
      try {
        service.stop();
      } catch (Exception e) {
        // The test has already failed, for this reason or a more important one.
        System.out.println("a service did not stop: " + e);
      }
    }
  }

  /** Starts an opaque application that always wants this many containers. */
  ShellService service(String user, String queue, int wanted) throws Exception {
    return service(user, queue, wanted, SIZE);
  }

  /** Starts one with containers of this size. */
  ShellService service(String user, String queue, int wanted, Resource size) throws Exception {
    return start(user, queue, wanted, size, SLEEP);
  }

  /** Starts one whose containers end after this many seconds, to be asked for again. */
  ShellService turning(String user, String queue, int wanted, int seconds, String... tags)
      throws Exception {
    return start(user, queue, wanted, SIZE, "exec sleep " + seconds, tags);
  }

  /** Starts one that runs nothing in its containers; it gives each back after some seconds. */
  ShellService holding(String user, String queue, int wanted, int seconds) throws Exception {
    return started(
        ShellService.startHolding(
            cluster.configuration(), user, queue, wanted, SIZE, 1000L * seconds));
  }

  private ShellService start(
      String user, String queue, int wanted, Resource size, String command, String... tags)
      throws Exception {
    return started(
        ShellService.start(
            cluster.configuration(), user, queue, wanted, size, command, tags));
  }

  private ShellService started(ShellService service) {
    services.add(service);
    return service;
  }

  /** Counts the containers of an application, including its ApplicationMaster's, if it has one. */
  int held(ApplicationId id) {
    return cluster.applications().containers(id);
  }

  int held(ShellService service) throws Exception {
    return held(service.id());
  }

  /** Waits until a condition about slots holds; says who held what if it does not. */
  void await(String what, Callable<Boolean> condition, ShellService... services)
      throws Exception {
    Await.until(what, ClusterRule.JOB_SECONDS, condition, () -> describe(services));
  }

  private String describe(ShellService... services) {
    StringBuilder text = new StringBuilder();
    try {
      for (ShellService service : services) {
        text.append(service.id()).append(" holds ").append(held(service)).append(" ");
        if (service.failure() != null) {
          text.append("and has failed: ").append(service.failure()).append(" ");
        }
      }
    } catch (Exception e) {
      text.append(e);
    }
    return text.toString();
  }

  /** Returns the average ratio of two applications' slots over a time. */
  double ratio(ShellService more, ShellService less, long overMs) throws Exception {
    long endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(overMs);
    long sum = 0;
    long other = 0;
    do {
      sum += held(more);
      other += held(less);
      Thread.sleep(SAMPLE_MS);
    } while (System.nanoTime() - endNanos < 0);
    return (double) sum / Math.max(1, other);
  }

  /** Returns the average slots of a job's tasks over a time. */
  double mean(ApplicationId id, long overMs) throws Exception {
    long endNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(overMs);
    long sum = 0;
    long samples = 0;
    do {
      // Its ApplicationMaster counts as none.
      sum += held(id) - 1;
      samples++;
      Thread.sleep(SAMPLE_MS);
    } while (System.nanoTime() - endNanos < 0);
    return (double) sum / samples;
  }

  /** Prints a figure for the record, one line each. */
  static void measured(String format, Object... values) {
    System.out.println("measured: " + String.format(format, values));
  }
}
