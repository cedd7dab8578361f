/*
 * Requests of clients, administrators and web pages: descriptions, moves, priorities, valid and
 * invalid configurations, and thousands of queues.
 */
package io.heddle.integration.storm;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.SettableFuture;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.Resource;

/** One client. */
final class ClientStorm extends StormThread {
  private static final String[] NONSENSE = {"", ".", "root.", ".root", "root..a", "nosuch",
      "root.nosuch", "root.default.below", " ", "root.a b", "root.\u00fcml\u00e4ut", "ROOT",
      "root.\u0000", "root.\"quoted\"", "root.\ud83d", "*", "/", "root.a/b", "\n"};

  private final Lives lives;
  private final Path heddleJson;
  private final String preset;
  /** Applications in new queues, which end soon. */
  private final Deque<StormApp> visitors = new ArrayDeque<>();
  private int made;

  ClientStorm(int number, StormCluster cluster, Path heddleJson, String preset, long seed) {
    super("client-" + number, cluster, Operation.Role.CLIENT, seed);
    this.lives = new Lives(cluster);
    this.heddleJson = heddleJson;
    this.preset = preset;
  }

  @Override
  void perform(Operation operation) throws Exception {
    StormApp app = anyApp();
    ApplicationId id = app == null ? cluster.nextApplicationId() : app.getApplicationId();
    switch (operation) {
      case READ:
        read(operation, one("root", "default", "root.q0", "q1", "root.group"), id);
        break;
      case READ_NONSENSE:
        read(operation, one(NONSENSE), cluster.nextApplicationId());
        break;
      case MAKE_QUEUE:
        visit("user" + random.nextInt(5), "root.made-" + getName() + "." + "x" + made++);
        break;
      case NAME_BADLY:
        visit(one("user1", "a.b", "..", "\u00fc", "user with blanks", "x\ny"),
            one("root", one(NONSENSE), "root." + new String(new char[5000]).replace('\0', 'q')));
        break;
      case MOVE:
        move(operation, id);
        break;
      case PRIORITY:
        cluster.call(operation, () -> cluster.scheduler.updateApplicationPriority(
            Priority.newInstance(one(-1, 0, 5, 11, Integer.MAX_VALUE, Integer.MIN_VALUE)), id,
            SettableFuture.create(), UserGroupInformation.createRemoteUser("operator")));
        break;
      case EXPLAIN:
        cluster.call(operation, () -> cluster.scheduler.explain(id) + cluster.scheduler.describe(id)
            + cluster.scheduler.predict(id));
        break;
      case REFRESH_WELL:
        refresh(operation, true);
        break;
      case REFRESH_BADLY:
        refresh(operation, false);
        break;
      case UNKNOWN_APPLICATION:
        unknown(operation);
        break;
      default:
        throw new IllegalArgumentException(operation + " is not done by clients");
    }
  }

  private void read(Operation operation, String queue, ApplicationId id) {
    cluster.call(operation, () -> cluster.scheduler.getQueueInfo(
        queue, random.nextBoolean(), random.nextBoolean()));
    cluster.call(operation, () -> cluster.scheduler.getAppsInQueue(queue));
    cluster.call(operation, () -> cluster.scheduler.getQueueUserAclInfo());
    cluster.call(operation, () -> cluster.scheduler.checkAccess(
        UserGroupInformation.createRemoteUser("user1"), QueueACL.ADMINISTER_QUEUE, queue));
    cluster.call(operation, () -> cluster.scheduler.getMaximumResourceCapability(queue));
    cluster.call(operation, () -> cluster.scheduler.getRootQueueMetrics().getAvailableMB()
        + cluster.scheduler.getNumClusterNodes()
        + cluster.scheduler.getClusterResource().getMemorySize());
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1 + random.nextInt(300));
    cluster.call(operation, () -> cluster.scheduler.getSchedulerAppInfo(attempt));
    cluster.call(operation, () -> cluster.scheduler.getAppResourceUsageReport(attempt));
    cluster.call(operation, () -> cluster.scheduler.getPendingResourceRequestsForAttempt(attempt));
    cluster.call(operation, () ->
        cluster.scheduler.getRMContainer(ContainerId.newContainerId(attempt, 1)));
    NodeId node = random.nextBoolean()
        ? one(cluster.nodes).id : NodeId.newInstance("nowhere", random.nextInt(9));
    cluster.call(operation, () -> cluster.scheduler.getNodeReport(node));
    cluster.call(operation, () -> cluster.scheduler.getPlanQueues());
  }

  /** Submits to a new queue; ends the oldest of more than three such applications. */
  private void visit(String user, String queue) {
    StormApp app = lives.submit(user, queue, "YARN", 0, Resource.newInstance(256, 1), 1);
    if (app != null) {
      visitors.add(app);
    }
    while (visitors.size() > 3) {
      lives.end(visitors.removeFirst());
    }
  }

  private void move(Operation operation, ApplicationId id) {
    String target = random.nextInt(4) == 0 ? one(NONSENSE)
        : one("root.q0", "root.q1", "q2", "default", "root", "root.group");
    history.note(operation, id + " to " + target);
    cluster.call(operation, () -> {
      cluster.scheduler.preValidateMoveApplication(id, target);
      return cluster.scheduler.moveApplication(id, target);
    });
  }

  private void unknown(Operation operation) {
    ApplicationId id = ApplicationId.newInstance(1, random.nextInt(1000));
    ApplicationAttemptId attempt = ApplicationAttemptId.newInstance(id, 1);
    cluster.handle(new org.apache.hadoop.yarn.server.resourcemanager.scheduler.event
        .AppAttemptAddedSchedulerEvent(attempt, random.nextBoolean()));
    cluster.handle(new org.apache.hadoop.yarn.server.resourcemanager.scheduler.event
        .AppAttemptRemovedSchedulerEvent(attempt, null, random.nextBoolean()));
    cluster.handle(new org.apache.hadoop.yarn.server.resourcemanager.scheduler.event
        .AppRemovedSchedulerEvent(id, null));
    lives.allocate(operation, attempt, new ArrayList<>(), new ArrayList<>(),
        Collections.singletonList("nowhere"), null,
        new org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates());
    move(operation, id);
  }

  // ---- Other configurations.

  /** Reloads a configuration; one client at a time, because they share the file. */
  private void refresh(Operation operation, boolean good) throws Exception {
    synchronized (cluster) {
      String text = good ? Configurations.good(preset, random) : Configurations.bad(preset, random);
      history.note(operation, text);
      Files.write(heddleJson, text.getBytes(StandardCharsets.UTF_8));
      boolean[] taken = new boolean[1];
      cluster.call(operation, () -> {
        cluster.scheduler.reinitialize(cluster.harness.conf, cluster.harness.context);
        taken[0] = true;
        return null;
      });
      if (taken[0] != good) {
        history.violation(
            (good ? "refused a good file: " : "took a bad file: ") + text, null);
      }
    }
  }

  List<StormApp> left() {
    return new ArrayList<>(visitors);
  }
}
