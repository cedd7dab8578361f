/*
 * The parts of the ResourceManager's record of an application that schedulers use: the real
 * RMAppImpl and RMAppAttemptImpl, whose state machines are not used. The driver plays their part
 * (submit, start the attempt, pull the AM container, finish).
 */
package io.heddle.integration.bench;

import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptImpl;
import org.apache.hadoop.yarn.util.Records;

/** One application with one attempt. */
public final class BenchApp extends RMAppImpl {
  private final Attempt attempt;

  /** The attempt. Schedulers ask it for its AM container. */
  private static final class Attempt extends RMAppAttemptImpl {
    private volatile Container master;

    Attempt(ApplicationAttemptId id, RMContext context, Configuration conf, BenchApp app,
        List<ResourceRequest> amRequests) {
      super(id, context, context.getScheduler(), null, app.getApplicationSubmissionContext(), conf,
          amRequests, app);
    }

    @Override
    public Container getMasterContainer() {
      return master;
    }
  }

  BenchApp(ApplicationId id, RMContext context, Configuration conf, String user, String queue,
      String type, ResourceRequest amRequest) {
    super(id, context, conf, "bench", user, queue, submission(id, queue, type, amRequest),
        context.getScheduler(), null, System.currentTimeMillis(), type,
        Collections.emptySet(), Collections.singletonList(amRequest));
    attempt = new Attempt(ApplicationAttemptId.newInstance(id, 1), context, conf, this,
        Collections.singletonList(amRequest));
  }

  /**
   * Stands for an application that the ResourceManager has placed.
   *
   * @param amRequests null if the AM is unmanaged
   */
  public BenchApp(RMContext context, Configuration conf, String user, String queue,
      ApplicationSubmissionContext submission, List<ResourceRequest> amRequests) {
    super(submission.getApplicationId(), context, conf, submission.getApplicationName(), user,
        queue, submission, context.getScheduler(), null,
        System.currentTimeMillis(), submission.getApplicationType(),
        submission.getApplicationTags(), amRequests);
    attempt = new Attempt(ApplicationAttemptId.newInstance(submission.getApplicationId(), 1),
        context, conf, this, amRequests);
  }

  private static ApplicationSubmissionContext submission(ApplicationId id, String queue,
      String type, ResourceRequest amRequest) {
    ApplicationSubmissionContext context =
        Records.newRecord(ApplicationSubmissionContext.class);
    context.setApplicationId(id);
    context.setQueue(queue);
    context.setApplicationType(type);
    context.setPriority(Priority.newInstance(0));
    context.setMaxAppAttempts(1);
    context.setResource(Resource.newInstance(amRequest.getCapability()));
    return context;
  }

  @Override
  public RMAppAttempt getCurrentAppAttempt() {
    return attempt;
  }

  @Override
  public RMAppAttempt getRMAppAttempt(ApplicationAttemptId id) {
    return id.equals(attempt.getAppAttemptId()) ? attempt : null;
  }

  /** Sets the AM container once it is pulled; then the application itself calls allocate(). */
  public void setMasterContainer(Container container) {
    attempt.master = container;
  }
}
