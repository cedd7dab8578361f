package io.heddle.yarn.queues;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.util.Records;

/**
 * A queue as YARN's own code needs it: a name and its metrics. The engine decides shares, order and
 * limits; reads are answered from the last {@link QueueSnapshot}.
 *
 * <p>Stays when its queue leaves the configuration, because applications that ran in it still refer
 * to it.
 */
public final class HeddleQueue implements Queue {
  /** Receives the containers of an attempt that began before the ResourceManager's restart. */
  public interface Member {
    void containerRecovered(RMContainer container);
  }

  private final String path;
  private final HeddleQueue parent;
  private final QueueReports reports;
  private final QueueGauges gauges;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;
  // Users who may have metrics of their own here.
  private final Set<String> metered = ConcurrentHashMap.newKeySet();
  // The engine's number; a rebuild of the engine may change it.
  private volatile int id = -1;
  // Whether its metrics are gone; guarded by its monitor.
  private boolean removed;

  HeddleQueue(String path, HeddleQueue parent, QueueReports reports, QueueGauges gauges) {
    this.path = path;
    this.parent = parent;
    this.reports = reports;
    this.gauges = gauges;
    this.metrics = gauges.make(path, parent);
    this.users = new ActiveUsersManager(metrics);
  }

  /** Notes a user with applications in it, who may get metrics in it and above it. */
  public void userCame(String user) {
    if (gauges.perUser() && metered.add(user) && parent != null) {
      parent.userCame(user);
    }
  }

  /** Sets its metrics, unless it was removed. */
  synchronized void show(QueueView view) {
    if (!removed) {
      gauges.show(metrics, view, metered);
    }
  }

  /** Removes a removed queue's metrics from YARN's tables. */
  synchronized void unregister() {
    removed = true;
    gauges.remove(path, metrics, metered);
  }

  public int id() {
    return id;
  }

  void setId(int id) {
    this.id = id;
  }

  /** Returns the full path, because YARN compares it with the answer of placement. */
  @Override
  public String getQueueName() {
    return path;
  }

  @Override
  public QueueMetrics getMetrics() {
    return metrics;
  }

  @Override
  public QueueInfo getQueueInfo(boolean includeChildQueues, boolean recursive) {
    QueueInfo info = reports.brief(path, includeChildQueues, recursive);
    if (info == null) {
      // YARN expects an answer when it builds reports of applications.
      info = Records.newRecord(QueueInfo.class);
      info.setQueueName(path);
      info.setQueueState(QueueState.STOPPED);
    }
    return info;
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo(UserGroupInformation user) {
    return Collections.singletonList(reports.userAcl(path, user));
  }

  @Override
  public boolean hasAccess(QueueACL acl, UserGroupInformation user) {
    return reports.hasAccess(path, acl, user);
  }

  @Override
  public AbstractUsersManager getAbstractUsersManager() {
    return users;
  }

  /** YARN's scheduler calls it for every container that a node reports after a restart. */
  @Override
  public void recoverContainer(
      Resource cluster, SchedulerApplicationAttempt attempt, RMContainer container) {
    if (container.getState() == RMContainerState.COMPLETED
        || container.getExecutionType() != ExecutionType.GUARANTEED) {
      // The engine does not manage opportunistic containers.
      return;
    }
    ((Member) attempt).containerRecovered(container);
  }

  @Override
  public Set<String> getAccessibleNodeLabels() {
    return reports.labels(path);
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return reports.defaultLabel(path);
  }

  @Override
  public void incPendingResource(String nodeLabel, Resource amount) {
    // The engine adds up demand, and AppSchedulingInfo keeps YARN's metrics.
  }

  @Override
  public void decPendingResource(String nodeLabel, Resource amount) {
    // As above.
  }

  @Override
  public Priority getDefaultApplicationPriority() {
    return Priority.newInstance(0);
  }

  @Override
  public void incReservedResource(String partition, Resource amount) {
    // Java reserves nothing: the engine holds nodes for large asks.
  }

  @Override
  public void decReservedResource(String partition, Resource amount) {
    // As above.
  }

  @Override
  public String toString() {
    return path;
  }
}
