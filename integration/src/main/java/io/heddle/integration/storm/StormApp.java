/*
 * The ResourceManager's record of one application with any number of attempts: the real RMAppImpl
 * and RMAppAttemptImpl, whose state machines are not used. MasterStorm plays their part.
 */
package io.heddle.integration.storm;

import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptImpl;
import org.apache.hadoop.yarn.util.Records;

/** One application. */
final class StormApp extends RMAppImpl {
  /** The scheduler's answer to its submission. */
  enum Answer { NONE, ACCEPTED, REJECTED }

  private final RMContext context;
  private final Configuration conf;
  private final ResourceRequest amAsk;
  private volatile Attempt current;
  volatile Answer answer = Answer.NONE;
  /** The attempt that the scheduler has accepted. */
  volatile ApplicationAttemptId known;
  /** Whether the container of the current attempt's AM has ended. */
  volatile boolean masterEnded;

  private static final class Attempt extends RMAppAttemptImpl {
    private volatile Container master;

    Attempt(ApplicationAttemptId id, RMContext context, Configuration conf, StormApp app) {
      super(id, context, context.getScheduler(), null, app.getApplicationSubmissionContext(), conf,
          Collections.singletonList(app.amAsk), app);
    }

    @Override
    public Container getMasterContainer() {
      return master;
    }
  }

  StormApp(ApplicationId id, RMContext context, Configuration conf, String user,
      ApplicationSubmissionContext submission, ResourceRequest amAsk, int firstAttempt) {
    super(id, context, conf, "storm", user, submission.getQueue(), submission,
        context.getScheduler(), null, System.currentTimeMillis(), submission.getApplicationType(),
        Collections.emptySet(), Collections.singletonList(amAsk));
    this.context = context;
    this.conf = conf;
    this.amAsk = amAsk;
    beginAttempt(firstAttempt);
  }

  static ApplicationSubmissionContext submission(
      ApplicationId id, String queue, String type, int priority, Resource amSize) {
    ApplicationSubmissionContext submission =
        Records.newRecord(ApplicationSubmissionContext.class);
    submission.setApplicationId(id);
    submission.setQueue(queue);
    submission.setApplicationType(type);
    submission.setPriority(Priority.newInstance(priority));
    submission.setMaxAppAttempts(Integer.MAX_VALUE);
    submission.setResource(Resource.newInstance(amSize));
    return submission;
  }

  void beginAttempt(int number) {
    masterEnded = false;
    current = new Attempt(
        ApplicationAttemptId.newInstance(getApplicationId(), number), context, conf, this);
  }

  ApplicationAttemptId attempt() {
    return current.getAppAttemptId();
  }

  ResourceRequest amAsk() {
    return amAsk;
  }

  void setMasterContainer(Container container) {
    current.master = container;
  }

  boolean hasMaster() {
    return current.master != null;
  }

  /** Notes that a container of this application ended. */
  void ended(ContainerId container) {
    Container master = current.master;
    if (master != null && master.getId().equals(container)) {
      masterEnded = true;
    }
  }

  @Override
  public RMAppAttempt getCurrentAppAttempt() {
    return current;
  }

  @Override
  public RMAppAttempt getRMAppAttempt(ApplicationAttemptId id) {
    return id.equals(current.getAppAttemptId()) ? current : null;
  }
}
