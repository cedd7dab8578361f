/*
 * An ApplicationMaster that asks for one container at a time and measures how long it takes until
 * it is granted and until it runs. Asks at any moment between two reports of a node, and looks for
 * the answer every few milliseconds, so that its own interval adds nothing.
 */
package io.heddle.integration.jobs;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerSubState;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;

/** One application, from submission to {@link #close}. */
public final class GrantProbe implements AutoCloseable {
  private static final long POLL_MS = 5;
  private static final long TIMEOUT_SECONDS = 120;
  /** Longer than the interval of reports: asks come at any phase of it. */
  private static final int PAUSE_MS_MAX = 1_500;
  private static final Priority PRIORITY = Priority.newInstance(1);

  private final Unmanaged app;
  private final InProcessMaster running;
  private final Random random;

  /** How long one ask took. */
  public static final class Sample {
    /** From the call that asks to the answer that has the container. */
    public final double grantMs;
    /** From the same call until the container runs. */
    public final double startMs;

    private Sample(double grantMs, double startMs) {
      this.grantMs = grantMs;
      this.startMs = startMs;
    }
  }

  /** Submits the application and registers its ApplicationMaster. */
  public GrantProbe(Configuration conf, String user, String queue, long seed) throws Exception {
    random = new Random(seed);
    app = new Unmanaged(conf, user, queue);
    running = app.as(() -> new InProcessMaster(conf, app.yarn, app.id));
  }

  /** Takes this many containers and keeps them, without starting anything in them. */
  public void hold(Resource size, int count) throws Exception {
    app.as(() -> {
      for (int i = 0; i < count; i++) {
        running.master.addContainerRequest(new ContainerRequest(size, null, null, PRIORITY));
      }
      long endNanos = deadline();
      for (int got = 0; got < count; pause(endNanos)) {
        got += running.master.allocate(0).getAllocatedContainers().size();
      }
      return null;
    });
  }

  /** Asks this often for a container, runs {@code true} in it, and waits for its end. */
  public List<Sample> measure(Resource size, int samples) throws Exception {
    List<Sample> all = new ArrayList<>();
    for (int i = 0; i < samples; i++) {
      Thread.sleep(random.nextInt(PAUSE_MS_MAX));
      all.add(app.as(() -> once(size)));
    }
    return all;
  }

  private Sample once(Resource size) throws Exception {
    ContainerRequest request = new ContainerRequest(size, null, null, PRIORITY);
    running.master.addContainerRequest(request);
    long endNanos = deadline();
    long askedNanos = System.nanoTime();
    List<Container> got = running.master.allocate(0).getAllocatedContainers();
    while (got.isEmpty()) {
      pause(endNanos);
      got = running.master.allocate(0).getAllocatedContainers();
    }
    double grantMs = millisSince(askedNanos);
    running.master.removeContainerRequest(request);
    Container container = got.get(0);
    running.nodes.startContainer(container, ContainerLaunchContext.newInstance(
        null, null, Collections.singletonList("true"), null, null, null));
    while (!runs(running.nodes.getContainerStatus(container.getId(), container.getNodeId()))) {
      pause(endNanos);
    }
    double startMs = millisSince(askedNanos);
    while (!ended(running.master.allocate(0), container.getId())) {
      pause(endNanos);
    }
    return new Sample(grantMs, startMs);
  }

  private static boolean runs(ContainerStatus status) {
    return status.getState() == ContainerState.COMPLETE
        || status.getContainerSubState() == ContainerSubState.RUNNING;
  }

  private static boolean ended(AllocateResponse response, ContainerId id) {
    return response.getCompletedContainersStatuses().stream()
        .anyMatch(status -> status.getContainerId().equals(id));
  }

  private static double millisSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e6;
  }

  private static long deadline() {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
  }

  private static void pause(long endNanos) throws Exception {
    if (System.nanoTime() - endNanos > 0) {
      throw new TimeoutException("no container within " + TIMEOUT_SECONDS + " s");
    }
    Thread.sleep(POLL_MS);
  }

  /** Finishes the application, which gives back what it holds. */
  @Override
  public void close() throws IOException {
    try {
      app.as(() -> {
        running.finish();
        return null;
      });
    } catch (Exception e) {
      throw new IOException("the ApplicationMaster did not finish", e);
    } finally {
      running.close();
      app.close();
    }
  }
}
