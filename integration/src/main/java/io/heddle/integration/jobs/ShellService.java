/*
 * An application other than MapReduce that does not end by itself: an unmanaged ApplicationMaster
 * in a thread of this JVM keeps a number of containers running a shell command, and replaces each
 * one that ends. Or it starts nothing in them, and gives each back after a time: the scheduler's
 * work is the same, at a twentieth of the processor time. The scheduler sees one opaque phase. For
 * work with an end see ShellApplication.
 */
package io.heddle.integration.jobs;

import java.lang.reflect.UndeclaredThrowableException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.server.utils.BuilderUtils;

/** Runs from {@link #start} until {@link #stop}, through changes of the ResourceManager. */
public final class ShellService {
  private static final int POLL_MS = 200;
  private static final int TIMEOUT_SECONDS = 300;
  private static final Priority PRIORITY = Priority.newInstance(1);

  private final Configuration conf;
  private final String user;
  private final String queue;
  private final int wanted;
  private final Resource size;
  /** Null to start nothing, and to give containers back after {@link #holdMs}. */
  private final String command;

  private final long holdMs;
  private final Set<String> tags;
  private final CompletableFuture<ApplicationId> id = new CompletableFuture<>();
  private final CompletableFuture<Void> end = new CompletableFuture<>();
  private final Queue<ContainerRequest> open = new ArrayDeque<>();
  private final Map<ContainerId, Container> running = new HashMap<>();
  private final Map<ContainerId, Long> heldSinceNanos = new HashMap<>();
  private final List<ContainerStatus> ended = new ArrayList<>();
  private final List<Long> grantTimesMs = new ArrayList<>();
  private volatile boolean stopping;

  private ShellService(
      Configuration conf,
      String user,
      String queue,
      int wanted,
      Resource size,
      String command,
      long holdMs,
      String... tags) {
    this.conf = conf;
    this.user = user;
    this.queue = queue;
    this.wanted = wanted;
    this.size = size;
    this.command = command;
    this.holdMs = holdMs;
    this.tags = new HashSet<>(Arrays.asList(tags));
  }

  /**
   * Submits it; returns once it is accepted.
   *
   * @param wanted number of containers to keep running
   * @param command a line for {@code sh}
   * @param tags application tags, such as hints
   */
  public static ShellService start(
      Configuration conf,
      String user,
      String queue,
      int wanted,
      Resource size,
      String command,
      String... tags)
      throws Exception {
    return started(new ShellService(conf, user, queue, wanted, size, command, 0, tags));
  }

  /** Starts one that runs nothing in its containers, and gives each back after a time. */
  public static ShellService startHolding(
      Configuration conf, String user, String queue, int wanted, Resource size, long holdMs)
      throws Exception {
    return started(new ShellService(conf, user, queue, wanted, size, null, holdMs));
  }

  private static ShellService started(ShellService service) throws Exception {
    Thread thread = new Thread(service::run, "service of " + service.user);
    thread.setDaemon(true);
    thread.start();
    service.id();
    return service;
  }

  /** Returns the application's id. */
  public ApplicationId id() throws Exception {
    return id.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  /** Returns how the containers ended that it did not release itself. */
  public synchronized List<ContainerStatus> ended() {
    return Collections.unmodifiableList(new ArrayList<>(ended));
  }

  /**
   * Returns when the ResourceManager granted each container that the master knows, in order. The
   * times come from the tokens, so they are right even if a busy machine delays the master.
   */
  public synchronized List<Long> grantTimesMs() {
    return new ArrayList<>(grantTimesMs);
  }

  /** Returns how many of the ended containers were preempted. */
  public int preempted() {
    return (int)
        ended().stream()
            .filter(status -> status.getExitStatus() == ContainerExitStatus.PREEMPTED)
            .count();
  }

  /** Returns why it ended before it was stopped, or null. */
  public Throwable failure() {
    return end.isCompletedExceptionally() ? end.handle((done, why) -> why).join() : null;
  }

  /** Ends the application and waits until YARN reports its success. */
  public void stop() throws Exception {
    stopping = true;
    end.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  private void run() {
    try {
      UserGroupInformation.createRemoteUser(user)
          .doAs(
              (PrivilegedExceptionAction<Void>)
                  () -> {
                    runAsUser();
                    return null;
                  });
      end.complete(null);
    } catch (Exception | Error e) {
      // Checked exceptions other than IOException come wrapped, without a message of their own.
      Throwable cause = e instanceof UndeclaredThrowableException ? e.getCause() : e;
      id.completeExceptionally(cause);
      end.completeExceptionally(cause);
    }
  }

  private void runAsUser() throws Exception {
    ShellApplication application = new ShellApplication(conf, user, queue).tagged(tags);
    try (YarnClient yarn = YarnClient.createYarnClient()) {
      yarn.init(conf);
      yarn.start();
      ApplicationId submitted = application.submit(yarn);
      try (InProcessMaster running = new InProcessMaster(conf, yarn, submitted)) {
        id.complete(submitted);
        for (int i = 0; i < wanted; i++) {
          ask(running.master);
        }
        while (!stopping) {
          allocate(running.master, running.nodes);
          Thread.sleep(POLL_MS);
        }
        running.finish();
      }
    }
  }

  private void ask(AMRMClient<ContainerRequest> master) {
    ContainerRequest request = new ContainerRequest(size, null, null, PRIORITY);
    open.add(request);
    master.addContainerRequest(request);
  }

  private void allocate(AMRMClient<ContainerRequest> master, NMClient nodes) throws Exception {
    AllocateResponse response;
    try {
      response = master.allocate(0);
    } catch (YarnRuntimeException | ApplicationAttemptNotFoundException e) {
      // A ResourceManager that this JVM stops fails calls which a dying process would drop: its
      // ApplicationMasterService forgets all attempts, and does not wait for calls that have begun.
      // The client keeps what it had to say for the next call.
      return;
    }
    for (Container container : response.getAllocatedContainers()) {
      long grantedMs =
          BuilderUtils.newContainerTokenIdentifier(container.getContainerToken()).getCreationTime();
      synchronized (this) {
        grantTimesMs.add(grantedMs);
      }
      if (open.isEmpty()) {
        // The ask was sent twice, around a failover of the ResourceManager.
        master.releaseAssignedContainer(container.getId());
        continue;
      }
      master.removeContainerRequest(open.remove());
      running.put(container.getId(), container);
      if (command == null) {
        heldSinceNanos.put(container.getId(), System.nanoTime());
        continue;
      }
      try {
        nodes.startContainer(
            container,
            ContainerLaunchContext.newInstance(
                null, null, Collections.singletonList(command), null, null, null));
      } catch (YarnException e) {
        // It was preempted before it began, or its token expired while the node was busy.
        master.releaseAssignedContainer(container.getId());
        running.remove(container.getId());
        ask(master);
      }
    }
    for (ContainerStatus status : response.getCompletedContainersStatuses()) {
      if (running.remove(status.getContainerId()) != null) {
        synchronized (this) {
          ended.add(status);
        }
        ask(master);
      }
    }
    giveBack(master);
  }

  /** Gives back what was held for long enough, and asks for as much. */
  private void giveBack(AMRMClient<ContainerRequest> master) {
    long untilNanos = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(holdMs);
    heldSinceNanos.keySet().retainAll(running.keySet());
    for (Iterator<Map.Entry<ContainerId, Long>> held = heldSinceNanos.entrySet().iterator();
        held.hasNext(); ) {
      Map.Entry<ContainerId, Long> one = held.next();
      if (one.getValue() - untilNanos <= 0) {
        master.releaseAssignedContainer(one.getKey());
        running.remove(one.getKey());
        held.remove();
        ask(master);
      }
    }
  }
}
