package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.compat.LinkCheck;
import io.heddle.yarn.config.CapacitySource;
import io.heddle.yarn.config.ConfigControl;
import io.heddle.yarn.economy.Submissions;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.ResourceCodec;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.HeddleQueue;
import io.heddle.yarn.queues.QueueControl;
import io.heddle.yarn.queues.QueueReports;
import io.heddle.yarn.queues.QueueView;
import io.heddle.yarn.queues.Submission;
import io.heddle.yarn.web.ConfigurationCheck;
import io.heddle.yarn.web.WebHandler;
import io.heddle.yarn.web.WebScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.ExecutionException;
import org.apache.hadoop.conf.Configuration;
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
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.ipc.RPCUtil;
import org.apache.hadoop.yarn.proto.YarnServiceProtos.SchedulerResourceTypes;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.records.ApplicationStateData;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ClusterNodeTracker;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.MutableConfScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.MutableConfigurationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Requests of clients, administrators, AMs and web pages: queues, permissions, priorities and
 * moves. Reads of YARN's interface take no lock and never enter the engine; changes take the write
 * lock. Events of the cluster are in {@link HeddleScheduler}.
 */
abstract class ClientOperations
    extends AbstractYarnScheduler<HeddleAppAttempt, HeddleNode>
    implements WebScheduler, MutableConfScheduler {
  private static final Logger LOG = LoggerFactory.getLogger(ClientOperations.class);

  /** Made in serviceInit, like the fields below. */
  protected QueueReports reports;
  protected QueueControl queues;
  protected Engine engine;
  protected ConfigControl config;
  /** Where the Capacity Scheduler's properties are. */
  protected CapacitySource capacity;
  protected EngineBooks books;
  /** Why applications wait. */
  protected Explanations explanations;
  protected Activities activities;
  protected JobNames jobNames;

  /** Has the types that count. */
  protected ResourceCodec resources;
  /** Asks are rounded up to multiples of it. */
  protected Resource increment;

  protected Configuration conf;
  private volatile WebHandler webHandler;

  ClientOperations(String name) {
    super(name);
  }

  /** Made by reflection, a scheduler gets its configuration here, before all else. */
  public void setConf(Configuration configuration) {
    LinkCheck.run(HeddleScheduler.class, configuration.getBoolean(LinkCheck.PROPERTY, true));
    conf = configuration;
  }

  public Configuration getConf() {
    return conf;
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

  /** Sets the handler of web requests; null turns them off. */
  public void setWebHandler(WebHandler handler) {
    webHandler = handler;
  }

  // ---- The configuration, which YARN's REST API changes.

  @Override
  public boolean isConfigurationMutable() {
    return capacity.store() != null;
  }

  @Override
  public MutableConfigurationProvider getMutableConfProvider() {
    return capacity.store();
  }

  @Override
  public Configuration getConfiguration() {
    return capacity.over(getConfig());
  }

  @Override
  public ConfigurationCheck configurationCheck() {
    return capacity == null || !isConfigurationMutable() ? null : change -> {
      Configuration next = capacity.changed(change);
      config.check(getConfig(), capacity.with(next));
      return next.getPropsWithPrefix("");
    };
  }

  /** Finds a queue for the policy that says which changes a user may request. */
  @Override
  public Queue getQueue(String name) {
    QueueView queue = reports.snapshot().find(name);
    return queue == null ? null : reports.table().get(queue.path);
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
      // A caller without a name has no permissions.
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
    return resources.calculator();
  }

  /** Returns the types that the ResourceManager tells AMs to count. */
  @Override
  public EnumSet<SchedulerResourceTypes> getSchedulingResourceTypes() {
    return resources.calculator() instanceof DefaultResourceCalculator
        ? EnumSet.of(SchedulerResourceTypes.MEMORY)
        : EnumSet.of(SchedulerResourceTypes.MEMORY, SchedulerResourceTypes.CPU);
  }

  @Override
  public int getNumClusterNodes() {
    return nodeTracker.nodeCount();
  }

  /** Only YARN's web services call it; the scheduler uses the field. */
  @Override
  @SuppressWarnings("unchecked")
  public ClusterNodeTracker<HeddleNode> getNodeTracker() {
    // Their type is lost there, so another class than the scheduler's does no harm.
    return activities == null ? super.getNodeTracker()
        : (ClusterNodeTracker<HeddleNode>) (ClusterNodeTracker<?>) activities.nodes();
  }

  @Override
  public Resource getMaximumResourceCapability(String queueName) {
    return reports.largestContainer(queueName, getMaximumResourceCapability());
  }

  /** Rounds an ask up to whole increments, between the smallest container and the given one. */
  @Override
  public Resource getNormalizedResource(Resource requested, Resource most) {
    return SchedulerUtils.getNormalizedResource(
        requested, resources.calculator(), minimumAllocation, most, increment);
  }

  // No @Override on either: each version has only one of the two.

  /** The signature of 3.3 and 3.4. */
  public long checkAndGetApplicationLifetime(String queueName, long lifetime) {
    return lifetimeIn(queueName, lifetime).path("lifetime").asLong();
  }

  /** The signature of 3.5. */
  public long checkAndGetApplicationLifetime(String queueName, long lifetime, RMAppImpl app) {
    return checkAndGetApplicationLifetime(queueName, lifetime);
  }

  @Override
  public long getMaximumApplicationLifetime(String queueName) {
    return lifetimeIn(queueName, null).path("most").asLong();
  }

  private JsonNode lifetimeIn(String queueName, Long requested) {
    return SetupJson.ask(
        "lifetime", "requested", requested, "queue", reports.described(queueName));
  }

  // ---- Priority.

  /**
   * Checks the right to submit and bounds the priority. YARN calls it for every submission that is
   * not a recovery. Only here can a scheduler that YARN does not know by name check that right
   * before acceptance.
   */
  @Override
  public Priority checkAndGetApplicationPriority(Priority requested, UserGroupInformation user,
      String queueName, ApplicationId applicationId) throws YarnException {
    if (!reports.maySubmit(queueName, user)) {
      throw RPCUtil.getRemoteException(new AccessControlException(
          "User " + user.getShortUserName() + " does not have permission to submit "
              + applicationId + " to queue " + queueName));
    }
    return admissible("submit", requested, queueName, user, applicationId, null);
  }

  /** Returns the priority that counts for an application which was accepted before a restart. */
  Priority recovered(Priority stored, String queueName) throws YarnException {
    return admissible("recover", stored, queueName, null, null, null);
  }

  /** Returns the priority of a new application, which that of its workflow replaces. */
  Priority ofWorkflow(RMApp app, Priority granted, String queueName) throws YarnException {
    String prefix = rmContext.getYarnConfiguration().get(
        YarnConfiguration.YARN_WORKFLOW_ID_TAG_PREFIX,
        YarnConfiguration.DEFAULT_YARN_WORKFLOW_ID_TAG_PREFIX);
    String workflow = "";
    for (String tag : app.getApplicationTags()) {
      // Of several the last counts, as in YARN's Capacity Scheduler.
      workflow = tag.trim().startsWith(prefix) ? tag.trim().substring(prefix.length()) : workflow;
    }
    if (workflow.isEmpty()) {
      return granted;
    }
    Priority priority = admissible("workflow", granted, queueName,
        UserGroupInformation.createRemoteUser(app.getUser()), app.getApplicationId(), workflow);
    app.getApplicationSubmissionContext().setPriority(priority);
    ((RMAppImpl) app).setApplicationPriority(priority);
    return priority;
  }

  private Priority admissible(String purpose, Priority requested, String queueName,
      UserGroupInformation user, ApplicationId id, String workflow) throws YarnException {
    JsonNode queue = reports.described(queueName);
    // Groups may come from a service far away.
    boolean checks = user != null && queue.has("max_priorities")
        && rmContext.getYarnConfiguration().getBoolean(
            YarnConfiguration.YARN_ACL_ENABLE, YarnConfiguration.DEFAULT_YARN_ACL_ENABLE);
    JsonNode priority = SetupJson.ask("priority", "purpose", purpose,
        "requested", requested == null ? null : requested.getPriority(),
        "most", getMaxClusterLevelAppPriority().getPriority(),
        "name", queueName, "queue", queue,
        "user", checks ? user.getShortUserName() : null,
        "groups", checks ? user.getGroups() : Collections.emptyList(),
        "application", String.valueOf(id), "workflow", workflow);
    if (priority.isTextual()) {
      throw new YarnException(priority.asText());
    }
    return Priority.newInstance(priority.asInt());
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
      Priority priority = admissible("update", requested,
          application.getQueue().getQueueName(), user, applicationId, null);
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

  /** Stores a priority durably; an active store has completed the future on return. */
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
      // A fenced store never answers, and the scheduler's lock is held here.
      rmApp.getApplicationSubmissionContext().setPriority(before);
      throw new YarnException("The priority of " + rmApp.getApplicationId()
          + " could not be stored, because this ResourceManager is no longer active");
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
        // The bounds were signed for one queue; the job may spend no credits of another.
        job.setBounds(Submissions.NOTHING);
        books.authorize(job);
      }
      engine.wake();
      engine.flushIfLong();
      return to.getQueueName();
    } finally {
      writeLock.unlock();
    }
  }

  /** Moves a job to another queue in all of Java's books; called with the write lock held. */
  void enterQueue(HeddleJob job, HeddleQueue queue) {
    queue.userCame(job.user());
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
   * Corrects what YARN's move miscounts. YARN moves a container under the label asked for, which
   * its node may have lost since. It also moves opportunistic containers, which no queue counts.
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

  /** Tells YARN's application its queue, as the ResourceManager does after a requested move. */
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
    HeddleJob job = books.job(applicationId);
    HeddleAppAttempt attempt = job.attempt();
    queues.checkMove(job.queue(), to, job.user(), attempt == null
        ? Collections.<String>emptySet()
        : attempt.getAppSchedulingInfo().getRequestedPartitions());
    return to;
  }

  // ---- Placement.

  /** Finds the queue of a submission; called by its thread. */
  String place(String user, String queue, String application, boolean recovering)
      throws YarnException {
    return new Placement(getConfig(), queues, reports, writeLock)
        .place(config.placesByFacts(), user, queue, application, recovering);
  }

  /** Has YARN refuse to remove a node label that a queue names, as for the Capacity Scheduler. */
  void tellLabels() {
    if (rmContext.getNodeLabelManager() != null) {
      queues.setLabelled(rmContext.getNodeLabelManager()::reinitializeQueueLabels);
    }
  }

  /**
   * Finds the queue of an application placed before; called with the write lock held. Does not
   * look up groups, because that may take seconds.
   */
  HeddleQueue placeLocked(String user, String queue, boolean recovering) throws YarnException {
    HeddleQueue known = queues.leaf(queue);
    if (known != null) {
      queues.record(user, known);
      return known;
    }
    if (!recovering && QueueControl.queueOf(user).equals(queue)) {
      // A rule made the queue for this submission, and an engine has lost it since. A request by
      // name might be refused, so the rules place the submission again.
      HeddleQueue again = queues.place(new Submission(user, null), false);
      if (again.getQueueName().equals(queue)) {
        return again;
      }
    }
    return queues.place(new Submission(user, queue), recovering);
  }

  // ---- For operators.

  /**
   * Returns the engine's knowledge of an application, as JSON.
   *
   * @return null if the engine does not know the application or is being replaced
   */
  public String describe(ApplicationId id) {
    return about(id, "job");
  }

  /**
   * Returns when the application is expected to start its first task and to end, each with a band,
   * as JSON. Times are on the engine's clock; {@code now_ms} is its current time.
   *
   * @return null if the engine does not know the application or is being replaced
   */
  public String predict(ApplicationId id) {
    return about(id, "predict");
  }

  private String about(ApplicationId id, String operation) {
    writeLock.lock();
    try {
      HeddleJob job = books.job(id);
      return job == null ? null : engine.request(
          SetupJson.request(operation, "job", job.id()));
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Returns why an application waits, what would change that, and recent decisions about it, as
   * JSON.
   *
   * @return null if the engine does not know the application or is being replaced
   */
  public String explain(ApplicationId id) {
    writeLock.lock();
    try {
      HeddleJob job = books.job(id);
      String reply = job == null
          ? null : engine.request(SetupJson.request("explain", "job", job.id()));
      return reply == null ? null : jobNames.named(reply);
    } finally {
      writeLock.unlock();
    }
  }
}
