package io.heddle.yarn;

import io.heddle.yarn.economy.SpendingBounds;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.HeddleQueue;
import io.heddle.yarn.queues.Placement;
import io.heddle.yarn.queues.QueueControl;
import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.queues.QueueView;
import io.heddle.yarn.web.WebHandler;
import io.heddle.yarn.web.WebScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.security.AccessControlException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.ipc.RPCUtil;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests of clients, administrators, AMs and web pages: queues, rights, priorities,
 * moves. The reads take no lock and never enter the engine; the changes take the write lock. What
 * happens to the cluster is in {@link HeddleScheduler}.
 */
abstract class ClientOperations
    extends AbstractYarnScheduler<HeddleAppAttempt, HeddleNode> implements WebScheduler {
  private static final Logger LOG = LoggerFactory.getLogger(ClientOperations.class);

  // Vcores count as much as memory; which of them decides a share is the engine's affair.
  private static final ResourceCalculator CALCULATOR = new DominantResourceCalculator();

  /** Made in serviceInit, as are the others. */
  protected QueueReports reports;
  protected QueueControl queues;
  protected Engine engine;
  protected EngineBooks books;
  /** Why applications wait. */
  protected Explanations explanations;

  private volatile WebHandler webHandler;

  ClientOperations(String name) {
    super(name);
  }

  // ---- The web.

  @Override
  public QueueReports queueReports() {
    return reports;
  }

  @Override
  public WebHandler webHandler() {
    return webHandler;
  }

  /** Sets what answers there; null turns the answers off. */
  public void setWebHandler(WebHandler handler) {
    webHandler = handler;
  }

  // ---- Queues.

  @Override
  public QueueInfo getQueueInfo(String name, boolean includeChildQueues, boolean recursive)
      throws IOException {
    QueueInfo info = reports.info(name, includeChildQueues, recursive);
    if (info == null) {
      throw new IOException("Unknown queue: " + name);
    }
    return info;
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo() {
    try {
      return reports.userAcls(UserGroupInformation.getCurrentUser());
    } catch (IOException e) {
      // A caller without a name has no rights.
      return new ArrayList<>();
    }
  }

  @Override
  public boolean checkAccess(UserGroupInformation user, QueueACL acl, String queueName) {
    return reports.hasAccess(queueName, acl, user);
  }

  @Override
  public List<ApplicationAttemptId> getAppsInQueue(String name) {
    QueueView queue = reports.table().snapshot().find(name);
    if (queue == null) {
      return null;
    }
    String below = queue.path + ".";
    List<ApplicationAttemptId> attempts = new ArrayList<>();
    for (SchedulerApplication<HeddleAppAttempt> application : applications.values()) {
      HeddleAppAttempt attempt = application.getCurrentAppAttempt();
      String path = application.getQueue().getQueueName();
      if (attempt != null && (path.equals(queue.path) || path.startsWith(below))) {
        attempts.add(attempt.getApplicationAttemptId());
      }
    }
    return attempts;
  }

  @Override
  public QueueMetrics getRootQueueMetrics() {
    return reports.table().root().getMetrics();
  }

  @Override
  public ResourceCalculator getResourceCalculator() {
    return CALCULATOR;
  }

  /** Both, or the ResourceManager tells AMs that vcores are not looked at. */
  @Override
  public EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return EnumSet.of(SchedulerResourceTypes.MEMORY, SchedulerResourceTypes.CPU);
  }

  @Override
  public int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }

  // Neither is marked as an override: each version has only one of the two.

  /** The form of 3.3 and 3.4. */
  public long checkAndGetApplicationLifetime(String queueName, long lifetime) {
    return lifetime;
  }

  /** The form of 3.5. */
  public long checkAndGetApplicationLifetime(String queueName, long lifetime, RMAppImpl app) {
    return lifetime;
  }

  // ---- Priority.

  /**
   * Called for every submission that is not a recovery, with user and queue: the only place before
   * acceptance where a scheduler that YARN does not know by name can check the right to submit.
   */
  @Override
  public Priority checkAndGetApplicationPriority(Priority requested, UserGroupInformation user,
      String queueName, ApplicationId applicationId) throws YarnException {
    if (!reports.hasAccess(queueName, QueueACL.SUBMIT_APPLICATIONS, user)) {
      throw RPCUtil.getRemoteException(new AccessControlException(
          "User " + user.getShortUserName() + " does not have permission to submit "
              + applicationId + " to queue " + queueName));
    }
    return admissible(requested);
  }

  private Priority admissible(Priority requested) {
    if (requested == null) {
      return Priority.newInstance(0);
    }
    int most = getMaxClusterLevelAppPriority().getPriority();
    return requested.getPriority() > most ? Priority.newInstance(most) : requested;
  }

  @Override
  public Priority updateApplicationPriority(Priority requested, ApplicationId applicationId,
      SettableFuture<Object> future, UserGroupInformation user) throws YarnException {
    writeLock.lock();
    try {
      SchedulerApplication<HeddleAppAttempt> application = applications.get(applicationId);
      RMApp rmApp = rmContext.getRMApps().get(applicationId);
      if (application == null || rmApp == null) {
        throw new YarnException("Application '" + applicationId
            + "' is not present, hence could not change priority.");
      }
      Priority priority = admissible(requested);
      if (priority.equals(application.getPriority())) {
        future.set(null);
        return priority;
      }
      store(rmApp, priority, future);
      application.setPriority(priority);
      HeddleJob job = books.job(applicationId);
      if (job != null) {
        job.setPriority(priority.getPriority());
        engine.out().jobPriority(job.id(), priority.getPriority());
        engine.wake();
        engine.flushIfLong();
      }
      LOG.info("{} has priority {} now, by {}", applicationId, priority.getPriority(),
          user.getShortUserName());
      return priority;
    } finally {
      writeLock.unlock();
    }
  }

  /** Makes a priority durable first; an active store has completed the future on return. */
  private void store(RMApp rmApp, Priority priority, SettableFuture<Object> future)
      throws YarnException {
    Priority before = rmApp.getApplicationSubmissionContext().getPriority();
    rmApp.getApplicationSubmissionContext().setPriority(priority);
    ApplicationStateData state = ApplicationStateData.newInstance(rmApp.getSubmitTime(),
        rmApp.getStartTime(), rmApp.getApplicationSubmissionContext(), rmApp.getUser(),
        rmApp.getRealUser(), rmApp.getCallerContext());
    state.setApplicationTimeouts(rmApp.getApplicationTimeouts());
    state.setLaunchTime(rmApp.getLaunchTime());
    rmContext.getStateStore().updateApplicationStateSynchronously(state, false, future);
    if (!future.isDone()) {
      // A store that was fenced never answers, and the scheduler's lock is held here.
      rmApp.getApplicationSubmissionContext().setPriority(before);
      throw new YarnException("The priority of " + rmApp.getApplicationId()
          + " could not be stored, as this ResourceManager is no longer active");
    }
    try {
      future.get();
    } catch (InterruptedException | ExecutionException e) {
      rmApp.getApplicationSubmissionContext().setPriority(before);
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      throw new YarnException("The priority of " + rmApp.getApplicationId()
          + " could not be stored and stays as it was", e);
    }
  }

  // ---- Moves.

  @Override
  public void preValidateMoveApplication(ApplicationId applicationId, String target)
      throws YarnException {
    writeLock.lock();
    try {
      moveTarget(applicationId, target);
    } finally {
      writeLock.unlock();
    }
  }

  @Override
  public String moveApplication(ApplicationId applicationId, String target)
      throws YarnException {
    writeLock.lock();
    try {
      HeddleQueue to = moveTarget(applicationId, target);
      HeddleJob job = books.job(applicationId);
      if (to == job.queue()) {
        return to.getQueueName();
      }
      LOG.info("{} moves from {} to {}", applicationId, job.queue(), to);
      enterQueue(job, to);
      engine.out().jobMoved(job.id(), to.id());
      if (job.bounds() != null) {
        // They were signed for one queue; of another's credits the job has none.
        job.setBounds(SpendingBounds.NOTHING);
        books.authorize(job);
      }
      engine.wake();
      engine.flushIfLong();
      return to.getQueueName();
    } finally {
      writeLock.unlock();
    }
  }

  /** Enters a job into another queue, in all of Java's books; with the write lock held. */
  void enterQueue(HeddleJob job, HeddleQueue queue) {
    HeddleAppAttempt attempt = job.attempt();
    if (attempt != null) {
      attempt.getWriteLock().lock();
      try {
        for (RMContainer container : attempt.getLiveContainers()) {
          countWhereItRuns(container, attempt.getUser(), job.queue(), queue);
        }
        attempt.move(queue);
      } finally {
        attempt.getWriteLock().unlock();
      }
    }
    SchedulerApplication<HeddleAppAttempt> application = applications.get(job.applicationId());
    if (application != null) {
      application.setQueue(queue);
    }
    job.setQueue(queue);
  }

  /**
   * Makes up for what YARN's move miscounts: it counts a container under the label that was asked
   * for, which its node may have lost since, and opportunistic ones, which no queue counts.
   */
  private void countWhereItRuns(
      RMContainer container, String user, HeddleQueue from, HeddleQueue to) {
    HeddleNode node = books.node(container.getContainer().getNodeId());
    String asked = container.getNodeLabelExpression();
    String partition = node == null ? asked : node.getPartition();
    boolean counted = container.getExecutionType() == ExecutionType.GUARANTEED;
    if (counted && partition.equals(asked)) {
      return;
    }
    Resource amount = container.getContainer().getResource();
    from.getMetrics().allocateResources(asked, user, 1, amount, false);
    to.getMetrics().releaseResources(asked, user, 1, amount);
    if (counted) {
      from.getMetrics().releaseResources(partition, user, 1, amount);
      to.getMetrics().allocateResources(partition, user, 1, amount, false);
    }
  }

  /** Does what the ResourceManager itself does after a move that was asked for. */
  void tellRmApp(HeddleJob job) {
    RMApp rmApp = rmContext.getRMApps().get(job.applicationId());
    if (rmApp != null) {
      rmApp.setQueue(job.queue().getQueueName());
    }
  }

  private HeddleQueue moveTarget(ApplicationId applicationId, String target)
      throws YarnException {
    if (books.job(applicationId) == null) {
      throw new YarnException("App to be moved " + applicationId + " not found.");
    }
    HeddleQueue to = queues.leaf(target);
    if (to == null) {
      throw new YarnException("Target queue " + target + " is not known or has queues below it."
          + " Name a leaf queue that exists, such as " + queues.examples());
    }
    if (to != books.job(applicationId).queue() && queues.draining(to)) {
      throw new YarnException("Target queue " + to + " is being removed and takes no more"
          + " applications. Name another, such as " + queues.examples());
    }
    return to;
  }

  // ---- Placement.

  /**
   * Finds the queue of a submission; called by its thread. Waits for the scheduler only if the
   * queue is not there yet.
   */
  String place(String user, String queue, boolean recovering) throws YarnException {
    if (!recovering) {
      Placement.Foreseen foreseen = queues.foresee(user, queue);
      if (foreseen.leaf != null) {
        return foreseen.leaf.path;
      }
      if (foreseen.made != null) {
        checkMayMake(user, foreseen.made);
      }
    }
    writeLock.lock();
    try {
      return queues.place(user, queue, recovering).getQueueName();
    } finally {
      writeLock.unlock();
    }
  }

  /** YARN asks for the right to submit only when the queue has been found, which makes it. */
  private void checkMayMake(String user, String path) throws YarnException {
    UserGroupInformation caller = UserGroupInformation.createRemoteUser(user);
    if (!reports.hasAccess(path, QueueACL.SUBMIT_APPLICATIONS, caller)) {
      throw RPCUtil.getRemoteException(new AccessControlException("User " + user
          + " does not have permission to submit to queue " + path + ", which does not exist yet"));
    }
  }

  /** As above for an application that was placed before; with the write lock held. */
  HeddleQueue placeLocked(String user, String queue, boolean recovering) throws YarnException {
    HeddleQueue known = queues.leaf(queue);
    if (known != null) {
      return known;
    }
    if (!recovering && Placement.queueOf(user).equals(queue)) {
      // Made for this submission by a rule, and gone with an engine that was lost meanwhile: as a
      // name that was asked for it might be refused.
      HeddleQueue again = queues.place(user, null, false);
      if (again.getQueueName().equals(queue)) {
        return again;
      }
    }
    return queues.place(user, queue, recovering);
  }

  // ---- What there is not.

  @Override
  public Set<String> getPlanQueues() throws YarnException {
    throw new YarnException(getClass().getSimpleName() + " does not support reservations");
  }

  // ---- For operators.

  /**
   * Returns the engine's knowledge of an application, as JSON.
   *
   * @return null if it knows nothing of it, or is just being replaced
   */
  public String describe(ApplicationId id) {
    return about(id, "job");
  }

  /**
   * When the application is expected to start its first task and to end, each with a band, as JSON.
   * Times are on the engine's clock, whose reading stands beside them as {@code now_ms}.
   *
   * @return null if the engine knows nothing of it, or is just being replaced
   */
  public String predict(ApplicationId id) {
    return about(id, "predict");
  }

  private String about(ApplicationId id, String operation) {
    writeLock.lock();
    try {
      HeddleJob job = books.job(id);
      return job == null ? null : engine.request(SetupJson.about(operation, job.id()));
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Why an application waits, what would change that, and what was decided of it lately, as JSON.
   *
   * @return null if the engine knows nothing of it, or is just being replaced
   */
  public String explain(ApplicationId id) {
    writeLock.lock();
    try {
      HeddleJob job = books.job(id);
      String reply = job == null
          ? null : engine.request(SetupJson.request("explain", "job", job.id()));
      return reply == null ? null : explanations.named(reply);
    } finally {
      writeLock.unlock();
    }
  }
}
