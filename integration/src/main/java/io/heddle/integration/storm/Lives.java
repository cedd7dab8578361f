/*
 * Plays the ResourceManager's part in the life of applications: sends the scheduler the events of
 * ClientRMService, RMAppManager, RMAppImpl and RMAppAttemptImpl in their order.
 */
package io.heddle.integration.storm;

import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.placement.ApplicationPlacementContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptAddedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppAttemptRemovedSchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.AppRemovedSchedulerEvent;

/** Begins, continues and ends applications. Any thread may call it. */
final class Lives {
  private final StormCluster cluster;

  Lives(StormCluster cluster) {
    this.cluster = cluster;
  }

  /** Submits an application; returns null if the scheduler refuses it before acceptance. */
  StormApp submit(String user, String queue, String type, int priority, Resource amSize,
      int firstAttempt) {
    ApplicationId id = cluster.nextApplicationId();
    cluster.history.note(Operation.SUBMIT, id + " by " + user + " to " + queue);
    ApplicationSubmissionContext submission =
        StormApp.submission(id, queue, type, priority, amSize);
    ApplicationPlacementContext placed = cluster.call(Operation.SUBMIT, () ->
        cluster.harness.context.getQueuePlacementManager().placeApplication(submission, user));
    if (placed == null) {
      return null;
    }
    submission.setQueue(placed.getQueue());
    Priority admitted = cluster.call(Operation.SUBMIT, () ->
        cluster.scheduler.checkAndGetApplicationPriority(submission.getPriority(),
            UserGroupInformation.createRemoteUser(user), placed.getQueue(), id));
    if (admitted == null) {
      return null;
    }
    ResourceRequest amAsk =
        ResourceRequest.newInstance(Priority.newInstance(0), ResourceRequest.ANY, amSize, 1);
    StormApp app = new StormApp(id, cluster.harness.context, cluster.harness.conf, user,
        submission, amAsk, firstAttempt);
    cluster.harness.context.getRMApps().put(id, app);
    cluster.apps.put(id, app);
    cluster.post(new AppAddedSchedulerEvent(
        id, placed.getQueue(), user, false, null, admitted, placed));
    return app;
  }

  void beginAttempt(StormApp app, boolean keep) {
    cluster.harness.nmTokens.registerApplicationAttempt(app.attempt());
    cluster.post(new AppAttemptAddedSchedulerEvent(app.attempt(), keep));
  }

  void nextAttempt(StormApp app, boolean keep) {
    ApplicationAttemptId before = app.attempt();
    cluster.post(new AppAttemptRemovedSchedulerEvent(before, RMAppAttemptState.FAILED, keep));
    cluster.harness.nmTokens.unregisterApplicationAttempt(before);
    app.beginAttempt(before.getAttemptId() + 1);
    beginAttempt(app, keep);
  }

  void end(StormApp app) {
    cluster.post(new AppAttemptRemovedSchedulerEvent(
        app.attempt(), RMAppAttemptState.FINISHED, false));
    cluster.post(new AppRemovedSchedulerEvent(app.getApplicationId(), RMAppState.FINISHED));
    cluster.later(() -> forget(app));
  }

  /** Removes an application from the ResourceManager's records. */
  void forget(StormApp app) {
    cluster.harness.nmTokens.unregisterApplicationAttempt(app.attempt());
    cluster.apps.remove(app.getApplicationId());
    cluster.harness.context.getRMApps().remove(app.getApplicationId());
  }

  Allocation allocate(Operation operation, ApplicationAttemptId attempt,
      List<ResourceRequest> asks, List<ContainerId> release, List<String> blacklist,
      List<String> pardon, ContainerUpdates updates) {
    return cluster.call(operation, () -> cluster.scheduler.allocate(
        attempt, asks, null, release, blacklist, pardon, updates));
  }

  void launch(Container container) {
    for (StormNode node : cluster.nodes) {
      if (node.id.equals(container.getNodeId())) {
        node.launch(container);
      }
    }
  }
}
