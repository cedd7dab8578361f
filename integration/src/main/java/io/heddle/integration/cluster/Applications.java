/*
 * Reads an application's state from the active ResourceManager's own records, not from the
 * scheduler's policy. Changes nothing.
 */
package io.heddle.integration.cluster;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerAppReport;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNodeReport;
import org.apache.hadoop.yarn.util.resource.Resources;

/** Reads of one cluster's ResourceManager. */
public final class Applications {
  /** The priority at which MapReduce's ApplicationMaster asks for reduces. */
  private static final int REDUCE_PRIORITY = 10;

  private final Supplier<ResourceManager> manager;

  /** Reads from this cluster, whichever of its ResourceManagers is active at each call. */
  public Applications(MiniCluster cluster) {
    this(cluster::resourceManager);
  }

  /** Reads from this ResourceManager. */
  Applications(Supplier<ResourceManager> manager) {
    this.manager = manager;
  }

  private ResourceScheduler scheduler() {
    return manager.get().getResourceScheduler();
  }

  /** Returns the ResourceManager's record of an application, or null. */
  public RMApp find(ApplicationId id) {
    return manager.get().getRMContext().getRMApps().get(id);
  }

  /** Returns the host of the ApplicationMaster's container, or null while there is none. */
  public String masterHost(ApplicationId id) {
    RMApp app = find(id);
    RMAppAttempt attempt = app == null ? null : app.getCurrentAppAttempt();
    return attempt == null || attempt.getMasterContainer() == null
        ? null
        : attempt.getMasterContainer().getNodeId().getHost();
  }

  /** Returns the hosts of the running task containers, one entry for each container. */
  public List<String> taskHosts(ApplicationId id) {
    return running(id, container -> true);
  }

  /** Returns the hosts of a MapReduce job's running reduces. */
  public List<String> reduceHosts(ApplicationId id) {
    return running(
        id, container -> container.getAllocatedPriority().getPriority() == REDUCE_PRIORITY);
  }

  private List<String> running(ApplicationId id, Predicate<RMContainer> which) {
    return live(id).stream()
        .filter(container -> !container.isAMContainer())
        .filter(container -> container.getState() == RMContainerState.RUNNING)
        .filter(which)
        .map(container -> container.getAllocatedNode().getHost())
        .collect(Collectors.toList());
  }

  /** Returns its attempt, its live containers with their states, and how many it ever got. */
  public String describe(ApplicationId id) {
    RMApp app = find(id);
    RMAppAttempt attempt = app == null ? null : app.getCurrentAppAttempt();
    if (attempt == null) {
      return "unknown";
    }
    return attempt.getAppAttemptId() + " " + attempt.getState() + " "
        + live(id).stream()
            .map(
                container -> container.getContainerId().getContainerId() + " "
                    + container.getState() + " on " + container.getAllocatedNode().getHost())
            .collect(Collectors.toList())
        + " of " + allocated(id) + " " + app.getDiagnostics();
  }

  /** Returns how many containers it holds, its ApplicationMaster's included. */
  public int containers(ApplicationId id) {
    return live(id).size();
  }

  /** Returns whether it waits for a container, its ApplicationMaster's included. */
  public boolean waits(ApplicationId id) {
    RMApp app = find(id);
    if (app == null || app.getCurrentAppAttempt() == null) {
      return false;
    }
    SchedulerApplicationAttempt attempt =
        ((AbstractYarnScheduler<?, ?>) scheduler())
            .getApplicationAttempt(app.getCurrentAppAttempt().getAppAttemptId());
    return attempt != null
        && attempt.getAppAttemptResourceUsage().getPending().getMemorySize() > 0;
  }

  /**
   * Returns whether any unfinished application of this user waits for a container: for its grant,
   * or for the call of its ApplicationMaster that takes it.
   */
  public boolean anyWaits(String user) {
    return manager.get().getRMContext().getRMApps().values().stream()
        .filter(app -> app.getUser().equals(user) && app.getFinishTime() == 0)
        .map(RMApp::getApplicationId)
        .anyMatch(id -> waits(id) || live(id).stream().anyMatch(
            container -> container.getState() == RMContainerState.ALLOCATED));
  }

  private Collection<RMContainer> live(ApplicationId id) {
    RMApp app = find(id);
    if (app == null || app.getCurrentAppAttempt() == null) {
      return new ArrayList<>();
    }
    SchedulerAppReport report =
        scheduler().getSchedulerAppInfo(app.getCurrentAppAttempt().getAppAttemptId());
    return report == null ? new ArrayList<>() : new ArrayList<>(report.getLiveContainers());
  }

  /**
   * Returns the number of containers by locality, indexed by {@link NodeType#ordinal()}: on the
   * host asked for, on its rack, elsewhere. Leaves out requests without a host.
   */
  public int[] localities(ApplicationId id) {
    int[] sums = new int[NodeType.values().length];
    RMApp app = find(id);
    if (app == null) {
      return sums;
    }
    for (RMAppAttempt attempt : app.getAppAttempts().values()) {
      int[][] counts = attempt.getRMAppAttemptMetrics().getLocalityStatistics();
      for (NodeType got : NodeType.values()) {
        sums[got.ordinal()] += counts[got.ordinal()][NodeType.NODE_LOCAL.ordinal()];
      }
    }
    return sums;
  }

  /** Returns how many containers it ever got. */
  public int allocated(ApplicationId id) {
    RMApp app = find(id);
    return app == null
        ? 0
        : app.getAppAttempts().values().stream()
            .mapToInt(attempt -> attempt.getRMAppAttemptMetrics().getTotalAllocatedContainers())
            .sum();
  }

  /** Returns the resources used on all nodes, by the scheduler's books. */
  public Resource used() {
    Resource sum = Resources.createResource(0, 0);
    for (NodeId node : manager.get().getRMContext().getRMNodes().keySet()) {
      SchedulerNodeReport report = scheduler().getNodeReport(node);
      if (report != null) {
        Resources.addTo(sum, report.getUsedResource());
      }
    }
    return sum;
  }
}
