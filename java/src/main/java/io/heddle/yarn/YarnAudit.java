package io.heddle.yarn;

import io.heddle.yarn.engine.EngineClock;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compares the scheduler's own books with the ResourceManager's. An event whose handling failed may
 * have left a node half added, or kept an application that ended. A difference is repaired after
 * {@value #PATIENCE} intervals of the audit; until then its event may still be queued.
 * Called with the scheduler's write lock held.
 */
final class YarnAudit {
  private static final int PATIENCE = 6;

  private static final Logger LOG = LoggerFactory.getLogger(YarnAudit.class);

  private final HeddleScheduler scheduler;
  private final RMContext rmContext;
  private final EngineBooks books;
  private final NodeEvents nodeEvents;
  private final ApplicationEvents applicationEvents;
  private final Failures failures;
  private final long patienceMs;
  // When each difference of the last pass and of this one was first seen.
  private Map<Object, Long> before = new HashMap<>();
  private Map<Object, Long> differing = new HashMap<>();

  YarnAudit(HeddleScheduler scheduler, RMContext rmContext, EngineBooks books,
      NodeEvents nodeEvents, ApplicationEvents applicationEvents, Failures failures,
      long intervalMs) {
    this.scheduler = scheduler;
    this.rmContext = rmContext;
    this.books = books;
    this.nodeEvents = nodeEvents;
    this.applicationEvents = applicationEvents;
    this.failures = failures;
    this.patienceMs = PATIENCE * intervalMs;
  }

  /** Begins a pass over all jobs and nodes, and looks for missing nodes. */
  void begin() {
    before = differing;
    differing = new HashMap<>();
    for (RMNode node : rmContext.getRMNodes().values()) {
      if (NodeEvents.schedulable(node) && books.node(node.getNodeID()) == null
          && again(node.getNodeID(), "Node {} runs and is not scheduled; it registers again")) {
        nodeEvents.resync(node.getNodeID());
      }
    }
  }

  /** Removes a job that ended in YARN, and completes containers on unknown nodes. */
  void compare(HeddleJob job) {
    RMApp app = rmContext.getRMApps().get(job.applicationId());
    if (app == null || app.getState() == RMAppState.FINISHED
        || app.getState() == RMAppState.FAILED || app.getState() == RMAppState.KILLED) {
      if (again(job.applicationId(), "{} ended and is still scheduled; it is removed")) {
        RMAppState state = app == null ? RMAppState.FINISHED : app.getState();
        applicationEvents.removed(new AppRemovedSchedulerEvent(job.applicationId(), state));
      }
      return;
    }
    HeddleAppAttempt attempt = job.attempt();
    if (attempt == null || attempt.isStopped()) {
      return;
    }
    for (RMContainer container : attempt.getLiveContainers()) {
      NodeId node = container.getContainer().getNodeId();
      ContainerId id = container.getContainerId();
      if (books.node(node) == null
          && again(id, "{} is on no known node; it is reported as lost")) {
        scheduler.completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(
            id, SchedulerUtils.LOST_CONTAINER), RMContainerEventType.KILL);
      }
    }
  }

  /** Removes a node that left YARN. */
  void compare(HeddleNode node) {
    if (!rmContext.getRMNodes().containsKey(node.getNodeID())) {
      if (again(node.getNodeID(), "Node {} left and is still scheduled; it is removed")) {
        nodeEvents.removed(node.getRMNode());
      }
    }
  }

  /** Returns whether a difference has lasted long enough to repair it, and logs it then. */
  private boolean again(Object what, String line) {
    long now = EngineClock.nowMs();
    Long since = before.getOrDefault(what, now);
    differing.put(what, since);
    if (!before.containsKey(what) || now - since < patienceMs) {
      return false;
    }
    differing.remove(what);
    failures.count(Failures.Kind.DIFFERENCE);
    LOG.error(line, what);
    return true;
  }
}
