/*
 * The stub: keeps YARN's books for every container exactly as any scheduler on
 * AbstractYarnScheduler must (RMContainerImpl, AppSchedulingInfo, SchedulerNode, events, queue
 * metrics, tokens). Decides nothing: it serves the application at the head of a ready list. It is
 * the lower bound of the bench, not a scheduler to use: it has no fairness, limits, recovery or
 * reservations.
 */
package io.heddle.integration.bench;

import io.heddle.yarn.compat.Compat;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.RMStateStore.RMState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeUpdateSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.Resources;

/** YARN's bookkeeping alone. */
public final class BookkeepingScheduler
    extends AbstractYarnScheduler<BookkeepingAttempt, FiCaSchedulerNode> {
  static final String QUEUES = "heddle.bench.stub.queues";
  /** It places nothing while this much is allocated; unset for no limit. */
  static final String LIMIT_MB = "heddle.bench.stub.limit-mb";

  private final ResourceCalculator calculator = new DefaultResourceCalculator();
  private final ArrayDeque<BookkeepingAttempt> ready = new ArrayDeque<>();
  private final ConcurrentHashMap<String, BookkeepingQueue> queues = new ConcurrentHashMap<>();
  private BookkeepingQueue root;
  private long limitMb;
  private RMContext rmContextOfOurs;

  /** Makes a stub; called by reflection, as the ResourceManager makes a scheduler. */
  public BookkeepingScheduler() {
    super(BookkeepingScheduler.class.getName());
  }

  @Override
  public void setRMContext(RMContext context) {
    rmContext = context;
    rmContextOfOurs = context;
  }

  @Override
  public void serviceInit(Configuration conf) throws Exception {
    applications = new ConcurrentHashMap<>();
    minimumAllocation = super.getMinimumAllocation();
    initMaximumResourceCapability(super.getMaximumAllocation());
    limitMb = conf.getLong(LIMIT_MB, Long.MAX_VALUE);
    root = new BookkeepingQueue("root", null, conf);
    for (int q = 0; q < conf.getInt(QUEUES, 1); q++) {
      String path = "root." + Shape.queueName(q);
      queues.put(path, new BookkeepingQueue(path, root, conf));
    }
    super.serviceInit(conf);
  }

  @Override
  public void handle(SchedulerEvent event) {
    Lock lock = writeLock;
    lock.lock();
    try {
      switch (event.getType()) {
        case NODE_ADDED:
          addNode(((NodeAddedSchedulerEvent) event).getAddedRMNode());
          break;
        case NODE_UPDATE:
          nodeUpdate(((NodeUpdateSchedulerEvent) event).getRMNode());
          break;
        case APP_ADDED:
          addApplication((AppAddedSchedulerEvent) event);
          break;
        case APP_ATTEMPT_ADDED:
          addAttempt(((AppAttemptAddedSchedulerEvent) event).getApplicationAttemptId());
          break;
        case APP_ATTEMPT_REMOVED:
          removeAttempt((AppAttemptRemovedSchedulerEvent) event);
          break;
        case APP_REMOVED:
          removeApplication((AppRemovedSchedulerEvent) event);
          break;
        case NODE_LABELS_UPDATE:
        case NODE_ATTRIBUTES_UPDATE:
          break;
        default:
          throw new Violation("the stub was sent an event that the bench never makes: " + event);
      }
    } finally {
      lock.unlock();
    }
  }

  private void addNode(RMNode rmNode) {
    nodeTracker.addNode(new FiCaSchedulerNode(rmNode, false));
  }

  private void addApplication(AppAddedSchedulerEvent event) {
    BookkeepingQueue queue = queues.get(event.getQueue());
    applications.put(event.getApplicationId(),
        Compat.newApplication(queue, event.getUser(), null, false));
    Compat.submitApp(queue.getMetrics(), event.getUser(), false);
    rmContextOfOurs.getDispatcher().getEventHandler()
        .handle(new RMAppEvent(event.getApplicationId(), RMAppEventType.APP_ACCEPTED));
  }

  private void addAttempt(ApplicationAttemptId id) {
    SchedulerApplication<BookkeepingAttempt> application =
        applications.get(id.getApplicationId());
    BookkeepingAttempt attempt = new BookkeepingAttempt(id, application.getUser(),
        (BookkeepingQueue) application.getQueue(), rmContextOfOurs);
    application.setCurrentAppAttempt(attempt);
    Compat.submitAppAttempt(attempt.queue().getMetrics(), application.getUser(), false);
    rmContextOfOurs.getDispatcher().getEventHandler()
        .handle(new RMAppAttemptEvent(id, RMAppAttemptEventType.ATTEMPT_ADDED));
  }

  private void removeAttempt(AppAttemptRemovedSchedulerEvent event) {
    BookkeepingAttempt attempt = getApplicationAttempt(event.getApplicationAttemptID());
    for (RMContainer container : attempt.getLiveContainers()) {
      completedContainer(container, SchedulerUtils.createAbnormalContainerStatus(
          container.getContainerId(), SchedulerUtils.COMPLETED_APPLICATION),
          RMContainerEventType.KILL);
    }
    attempt.stop(event.getFinalAttemptState());
    ready.remove(attempt);
    attempt.listed = false;
  }

  private void removeApplication(AppRemovedSchedulerEvent event) {
    applications.remove(event.getApplicationID()).stop(event.getFinalState());
  }

  @Override
  protected void nodeUpdate(RMNode rmNode) {
    super.nodeUpdate(rmNode);
    FiCaSchedulerNode node = nodeTracker.getNode(rmNode.getNodeID());
    BookkeepingAttempt head;
    while ((head = ready.peekFirst()) != null && root.getMetrics().getAllocatedMB() < limitMb) {
      BookkeepingAttempt.Outcome outcome = head.serve(node);
      if (outcome == BookkeepingAttempt.Outcome.NO_ROOM) {
        break;
      }
      if (outcome == BookkeepingAttempt.Outcome.NO_ASK) {
        ready.pollFirst();
        head.listed = false;
      }
    }
    root.getMetrics().setAvailableResourcesToQueue(
        Resources.subtract(getClusterResource(), root.getMetrics().getAllocatedResources()));
  }

  @Override
  public Allocation allocate(ApplicationAttemptId id, List<ResourceRequest> ask,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals,
      ContainerUpdates updateRequests) {
    BookkeepingAttempt attempt = getApplicationAttempt(id);
    normalizeResourceRequests(ask);
    if (!ask.isEmpty()) {
      Lock lock = writeLock;
      lock.lock();
      try {
        attempt.updateResourceRequests(ask);
        if (!attempt.listed) {
          attempt.listed = true;
          ready.addLast(attempt);
        }
      } finally {
        lock.unlock();
      }
    }
    List<Container> containers = attempt.pullNewlyAllocatedContainers();
    Resource headroom = getClusterResource();
    attempt.setApplicationHeadroomForMetrics(headroom);
    return new Allocation(containers, headroom, null, null, null, attempt.pullUpdatedNMTokens());
  }

  @Override
  protected void completedContainerInternal(RMContainer rmContainer, ContainerStatus status,
      RMContainerEventType event) {
    BookkeepingAttempt attempt = getCurrentAttemptForContainer(rmContainer.getContainerId());
    if (attempt != null && attempt.completed(rmContainer, status, event)) {
      getNode(rmContainer.getAllocatedNode())
          .releaseContainer(rmContainer.getContainerId(), false);
    }
  }

  @Override
  public void killContainer(RMContainer container) {
    throw new UnsupportedOperationException("the bench kills no container");
  }

  @Override
  public QueueInfo getQueueInfo(String name, boolean children, boolean recursive) {
    throw new UnsupportedOperationException("the bench asks for no queue");
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    return Collections.emptyList();
  }

  @Override
  public ResourceCalculator getResourceCalculator() {
    return calculator;
  }

  @Override
  public int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    return root.getMetrics();
  }

  @Override
  public boolean checkAccess(UserGroupInformation caller, QueueACL acl, String queue) {
    return true;
  }

  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String queue) {
    List<ApplicationAttemptId> attempts = new ArrayList<>();
    for (ApplicationId id : applications.keySet()) {
      attempts.add(ApplicationAttemptId.newInstance(id, 1));
    }
    return attempts;
  }

  @Override
  public void recover(RMState state) {
    // The bench recovers nothing.
  }

  @Override
  public void reinitialize(Configuration conf, RMContext context) {
    throw new UnsupportedOperationException("the bench never refreshes");
  }
}
