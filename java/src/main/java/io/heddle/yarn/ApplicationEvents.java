package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.compat.Compat;
import io.heddle.yarn.economy.Submissions;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.facts.FactFeed;
import io.heddle.yarn.facts.JobHints;
import io.heddle.yarn.queues.HeddleQueue;
import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEvent;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerEventType;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Handles events of applications and attempts. Called with the scheduler's write lock held. */
final class ApplicationEvents {
  private static final Logger LOG = LoggerFactory.getLogger(ApplicationEvents.class);
  private static final String MAPREDUCE = "MAPREDUCE";

  private final HeddleScheduler scheduler;
  private final RMContext rmContext;
  private final ConcurrentMap<ApplicationId, SchedulerApplication<HeddleAppAttempt>> applications;
  private final EngineBooks books;
  private final Engine engine;
  private final Names names;
  private final DirtyAttempts dirty;
  private final Submissions submissions;
  private final FactFeed facts;

  ApplicationEvents(HeddleScheduler scheduler, RMContext rmContext,
      ConcurrentMap<ApplicationId, SchedulerApplication<HeddleAppAttempt>> applications,
      EngineBooks books, Engine engine, Names names, DirtyAttempts dirty, Submissions submissions,
      FactFeed facts) {
    this.scheduler = scheduler;
    this.rmContext = rmContext;
    this.applications = applications;
    this.books = books;
    this.engine = engine;
    this.names = names;
    this.dirty = dirty;
    this.submissions = submissions;
    this.facts = facts;
  }

  /**
   * Tells the engine of the jobs held back, once recovery is over. In high availability the
   * dispatcher begins attempts of waiting applications while others are still being recovered.
   */
  void beforeEvent() {
    if (scheduler.isInState(Service.STATE.STARTED)) {
      books.tellHeldBack();
    }
  }

  /** Handles an event of an application or an attempt; returns false for any other. */
  boolean dispatch(SchedulerEvent event) {
    switch (event.getType().name()) {
      case "APP_ADDED":
        added((AppAddedSchedulerEvent) event);
        return true;
      case "APP_REMOVED":
        removed((AppRemovedSchedulerEvent) event);
        return true;
      case "APP_ATTEMPT_ADDED":
        attemptAdded((AppAttemptAddedSchedulerEvent) event);
        return true;
      case "APP_ATTEMPT_REMOVED":
        attemptRemoved((AppAttemptRemovedSchedulerEvent) event);
        return true;
      default:
        return false;
    }
  }

  /** Accepts or rejects an application that was submitted or recovered. */
  private void added(AppAddedSchedulerEvent event) {
    try {
      add(event);
    } catch (RuntimeException e) {
      // YARN would wait forever for an answer.
      ApplicationId id = event.getApplicationId();
      applications.remove(id);
      facts.jobRemoved(id);
      if (books.job(id) != null) {
        books.jobRemoved(books.job(id));
      }
      reject(id, "The scheduler failed to accept this application: " + e + ". Submit it again");
      throw e;
    }
  }

  private void add(AppAddedSchedulerEvent event) {
    ApplicationId id = event.getApplicationId();
    boolean recovering = event.getIsAppRecovering();
    // YARN marks a recovered application without an attempt as new, but sends it before the start.
    boolean takenBefore = recovering || !scheduler.isInState(Service.STATE.STARTED);
    String user = event.getUser();
    HeddleQueue queue;
    try {
      queue = scheduler.placeLocked(user, event.getQueue(), takenBefore);
    } catch (YarnException e) {
      reject(id, e.getMessage());
      return;
    }
    if (!takenBefore && !scheduler.reports.maySubmit(
        queue.getQueueName(), UserGroupInformation.createRemoteUser(user))) {
      // Checked again: the configuration may have changed since the submission.
      reject(id, "User " + user + " does not have permission to submit " + id + " to queue "
          + queue.getQueueName());
      return;
    }
    RMApp rmApp = rmContext.getRMApps().get(id);
    JsonNode terms;
    Priority priority = event.getApplicatonPriority() != null
        ? event.getApplicatonPriority() : Priority.newInstance(0);
    try {
      terms = submissions.check(id, rmApp, user, queue.getQueueName(), takenBefore);
      if (takenBefore) {
        priority = scheduler.recovered(priority, queue.getQueueName());
      } else if (rmApp != null) {
        priority = scheduler.ofWorkflow(rmApp, priority, queue.getQueueName());
      }
    } catch (YarnException e) {
      reject(id, e.getMessage());
      return;
    }
    boolean unmanaged = rmApp != null && rmApp.getApplicationSubmissionContext() != null
        && rmApp.getApplicationSubmissionContext().getUnmanagedAM();
    if (rmApp != null) {
      rmApp.setQueue(queue.getQueueName());
    }
    applications.put(id, Compat.newApplication(queue, user, priority, unmanaged));
    HeddleJob job = new HeddleJob(id, queue, user, names.users.intern(user),
        priority.getPriority(), flags(rmApp, unmanaged), submitted(rmApp),
        new JobHints(terms.path("hints")));
    job.setBounds(terms.path("bounds").isObject() ? terms.path("bounds") : null);
    if (takenBefore && lost(event.getQueue(), queue)) {
      job.setLostQueue(event.getQueue());
      LOG.warn("{}: {}", id, job.sayWhereItIs());
    }
    books.jobAdded(job, takenBefore && !recovering);
    facts.jobAdded(job);
    queue.userCame(user);
    Compat.submitApp(queue.getMetrics(), user, unmanaged);
    LOG.info("Accepted {} of user {} in queue {}", id, user, queue);
    if (!recovering) {
      if (rmApp != null && rmApp.getApplicationSubmissionContext() != null) {
        // YARN stores it, so a restart finds the same queue.
        rmApp.getApplicationSubmissionContext().setQueue(queue.getQueueName());
      }
      send(new RMAppEvent(id, RMAppEventType.APP_ACCEPTED));
    }
  }

  /** Returns whether an application that ran before is in another queue than the recorded one. */
  private static boolean lost(String recorded, HeddleQueue queue) {
    // Only whole paths were recorded; a shorter name may mean this queue.
    return recorded != null && recorded.startsWith("root.")
        && !recorded.equals(queue.getQueueName());
  }

  private static int flags(RMApp rmApp, boolean unmanaged) {
    int flags = unmanaged ? FrameLayout.JOB_UNMANAGED_AM : 0;
    if (rmApp != null && MAPREDUCE.equalsIgnoreCase(rmApp.getApplicationType())) {
      flags |= FrameLayout.JOB_MAPREDUCE;
    }
    return flags;
  }

  private static long submitted(RMApp rmApp) {
    return EngineClock.toMonotonic(
        rmApp != null && rmApp.getSubmitTime() > 0
            ? rmApp.getSubmitTime() : org.apache.hadoop.util.Time.now());
  }

  private void reject(ApplicationId id, String message) {
    LOG.info("Rejected {}: {}", id, message);
    send(new RMAppEvent(id, RMAppEventType.APP_REJECTED, message));
  }

  @SuppressWarnings("unchecked")
  private void send(org.apache.hadoop.yarn.event.Event<?> event) {
    rmContext.getDispatcher().getEventHandler().handle(event);
  }

  /** Removes an application that ended. */
  void removed(AppRemovedSchedulerEvent event) {
    ApplicationId id = event.getApplicationID();
    SchedulerApplication<HeddleAppAttempt> application = applications.remove(id);
    if (application == null) {
      LOG.warn("Application {} ended but is not known", id);
      return;
    }
    try {
      application.stop(event.getFinalState());
    } finally {
      facts.jobRemoved(id);
      HeddleJob job = books.job(id);
      if (job != null) {
        stopForgotten(job);
        books.jobRemoved(job);
        // Another job may have waited for its place.
        engine.wake();
      }
    }
  }

  /** Stops an attempt whose end was lost to an error: it must not write to a reused number. */
  private static void stopForgotten(HeddleJob job) {
    if (job.attempt() != null && !job.attempt().isStopped()) {
      job.attempt().stop(RMAppAttemptState.FAILED);
    }
  }

  /** Begins an attempt. */
  private void attemptAdded(AppAttemptAddedSchedulerEvent event) {
    try {
      addAttempt(event);
    } catch (RuntimeException e) {
      failAttempt(event.getApplicationAttemptId(), e);
      throw e;
    }
  }

  /** Fails an attempt that would wait forever; the application may begin another. */
  void failAttempt(ApplicationAttemptId id, RuntimeException cause) {
    send(new RMAppAttemptEvent(id, RMAppAttemptEventType.FAIL,
        "The scheduler failed to begin " + id + ": " + cause));
  }

  private void addAttempt(AppAttemptAddedSchedulerEvent event) {
    ApplicationAttemptId id = event.getApplicationAttemptId();
    SchedulerApplication<HeddleAppAttempt> application =
        applications.get(id.getApplicationId());
    HeddleJob job = books.job(id.getApplicationId());
    if (application == null || job == null) {
      LOG.warn("Attempt {} belongs to an unknown application and is ignored", id);
      return;
    }
    if (job.attempt() != null) {
      stopForgotten(job);
      // The asks of the previous attempt are void and their numbers are reused.
      engine.out().jobReset(job.id());
    }
    HeddleAppAttempt attempt = new HeddleAppAttempt(
        id, application.getUser(), job, job.queue(), rmContext, names, dirty, books);
    if (event.getTransferStateFromPreviousAttempt() && application.getCurrentAppAttempt() != null) {
      attempt.transferStateFromPreviousAttempt(application.getCurrentAppAttempt());
    }
    attempt.setPriority(application.getPriority());
    application.setCurrentAppAttempt(attempt);
    job.setAttempt(attempt);
    Compat.submitAppAttempt(
        job.queue().getMetrics(), application.getUser(), attempt.getUnmanagedAM());
    LOG.info("Added attempt {} in queue {}, as job {}", id, job.queue(), job.id());
    if (!event.getIsAttemptRecovering()) {
      send(new RMAppAttemptEvent(id, RMAppAttemptEventType.ATTEMPT_ADDED));
    }
  }

  /** Ends an attempt and its containers, except those that YARN keeps for the next attempt. */
  private void attemptRemoved(AppAttemptRemovedSchedulerEvent event) {
    ApplicationAttemptId id = event.getApplicationAttemptID();
    scheduler.explanations.withdraw(id);
    HeddleAppAttempt attempt = scheduler.getApplicationAttempt(id);
    if (attempt == null || !attempt.getApplicationAttemptId().equals(id)) {
      LOG.info("Attempt {} ended but is not the current one", id);
      return;
    }
    if (attempt.isStopped()) {
      LOG.info("Attempt {} has been stopped before", id);
      return;
    }
    // The engine must know the current sizes of the containers that stay.
    dirty.writeTo(engine.out());
    for (RMContainer container : attempt.getLiveContainers()) {
      if (event.getKeepContainersAcrossAppAttempts()
          && container.getState() == RMContainerState.RUNNING) {
        continue;
      }
      scheduler.completedContainer(container,
          SchedulerUtils.createAbnormalContainerStatus(
              container.getContainerId(), SchedulerUtils.COMPLETED_APPLICATION),
          RMContainerEventType.KILL);
    }
    attempt.stop(event.getFinalAttemptState());
    engine.out().jobReset(attempt.job().id());
    engine.wake();
  }
}
