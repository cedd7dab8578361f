/*
 * An application other than MapReduce: an unmanaged ApplicationMaster in this JVM asks for
 * containers and runs a shell command in each. The scheduler sees one opaque phase.
 */
package io.heddle.integration.jobs;

import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.client.api.YarnClientApplication;

/** Runs as one user, to its end, in the calling thread. */
public final class ShellApplication {
  private static final int POLL_MS = 100;
  private static final int TIMEOUT_SECONDS = 300;

  private final Configuration conf;
  private final String user;
  private final String queue;
  private Set<String> tags = Collections.emptySet();

  /** Makes an application for a user and a queue; submits nothing yet. */
  public ShellApplication(Configuration conf, String user, String queue) {
    this.conf = conf;
    this.user = user;
    this.queue = queue;
  }

  /** Sets the application tags. */
  ShellApplication tagged(Set<String> tags) {
    this.tags = tags;
    return this;
  }

  /** The result of a run. */
  public static final class Result {
    private final ApplicationId id;
    private final List<Container> containers = new ArrayList<>();
    private final List<ContainerStatus> statuses = new ArrayList<>();

    private Result(ApplicationId id) {
      this.id = id;
    }

    /** Returns the application's id. */
    public ApplicationId id() {
      return id;
    }

    /** Returns every container that was granted and used. */
    public List<Container> containers() {
      return Collections.unmodifiableList(containers);
    }

    /** Returns how each of them ended. */
    public List<ContainerStatus> statuses() {
      return Collections.unmodifiableList(statuses);
    }
  }

  /**
   * Runs the command once for each request and waits for all of them.
   *
   * @param requests the asks: resource, hosts, whether other hosts are allowed
   * @param command a line for {@code sh}
   */
  public Result run(List<ContainerRequest> requests, String command) throws Exception {
    return UserGroupInformation.createRemoteUser(user)
        .doAs((PrivilegedExceptionAction<Result>) () -> runAsUser(requests, command));
  }

  private Result runAsUser(List<ContainerRequest> requests, String command) throws Exception {
    try (YarnClient yarn = YarnClient.createYarnClient()) {
      yarn.init(conf);
      yarn.start();
      ApplicationId id = submit(yarn);
      try (InProcessMaster running = new InProcessMaster(conf, yarn, id)) {
        Result result = new Result(id);
        requests.forEach(running.master::addContainerRequest);
        work(running.master, running.nodes, result, requests, command);
        running.finish();
        return result;
      }
    }
  }

  /** Submits it, and gives the current user the token of its master once YARN has that. */
  ApplicationId submit(YarnClient yarn) throws Exception {
    YarnClientApplication application = yarn.createApplication();
    ApplicationSubmissionContext context = application.getApplicationSubmissionContext();
    context.setApplicationName("shell of " + user);
    context.setQueue(queue);
    context.setApplicationTags(tags);
    context.setPriority(Priority.newInstance(0));
    context.setUnmanagedAM(true);
    context.setAMContainerSpec(
        ContainerLaunchContext.newInstance(null, null, null, null, null, null));
    yarn.submitApplication(context);
    awaitState(yarn, context.getApplicationId(), YarnApplicationState.ACCEPTED);
    ApplicationId id = context.getApplicationId();
    // The token exists once the attempt is launched, a moment after the application is accepted.
    long endNanos = deadline();
    while (yarn.getAMRMToken(id) == null) {
      pollUntil(endNanos, "no token for " + id);
    }
    UserGroupInformation.getCurrentUser().addToken(yarn.getAMRMToken(id));
    return id;
  }

  private void work(
      AMRMClient<ContainerRequest> master,
      NMClient nodes,
      Result result,
      List<ContainerRequest> requests,
      String command)
      throws Exception {
    List<ContainerRequest> open = new ArrayList<>(requests);
    long endNanos = deadline();
    while (result.statuses.size() < requests.size()) {
      AllocateResponse response = master.allocate((float) result.statuses.size() / requests.size());
      for (Container container : response.getAllocatedContainers()) {
        if (!take(master, open, container)) {
          master.releaseAssignedContainer(container.getId());
          continue;
        }
        result.containers.add(container);
        nodes.startContainer(
            container,
            ContainerLaunchContext.newInstance(
                null, null, Collections.singletonList(command), null, null, null));
      }
      for (ContainerStatus status : response.getCompletedContainersStatuses()) {
        if (result.containers.stream().anyMatch(c -> c.getId().equals(status.getContainerId()))) {
          result.statuses.add(status);
        }
      }
      pollUntil(
          endNanos,
          String.format(
              "%d of %d containers granted, %d done",
              result.containers.size(), requests.size(), result.statuses.size()));
    }
  }

  /** Removes the request that this container serves; returns false if there is none. */
  private static boolean take(
      AMRMClient<ContainerRequest> master, List<ContainerRequest> open, Container container) {
    for (ContainerRequest request : open) {
      if (request.getPriority().equals(container.getPriority())) {
        master.removeContainerRequest(request);
        open.remove(request);
        return true;
      }
    }
    return false;
  }

  /** Waits until it has finished; throws if it failed or was killed. */
  static void awaitFinished(YarnClient yarn, ApplicationId id) throws Exception {
    awaitState(yarn, id, YarnApplicationState.FINISHED);
  }

  private static void awaitState(YarnClient yarn, ApplicationId id, YarnApplicationState wanted)
      throws Exception {
    long endNanos = deadline();
    while (true) {
      ApplicationReport report = yarn.getApplicationReport(id);
      YarnApplicationState state = report.getYarnApplicationState();
      if (state == wanted) {
        return;
      }
      if (state == YarnApplicationState.FAILED || state == YarnApplicationState.KILLED) {
        throw new IllegalStateException(id + " is " + state + ": " + report.getDiagnostics());
      }
      pollUntil(endNanos, id + " is " + state + ", not " + wanted);
    }
  }

  private static long deadline() {
    return System.nanoTime() + TimeUnit.SECONDS.toNanos(TIMEOUT_SECONDS);
  }

  private static void pollUntil(long endNanos, String otherwise) throws Exception {
    if (System.nanoTime() - endNanos > 0) {
      throw new TimeoutException("within " + TIMEOUT_SECONDS + " s: " + otherwise);
    }
    Thread.sleep(POLL_MS);
  }
}
