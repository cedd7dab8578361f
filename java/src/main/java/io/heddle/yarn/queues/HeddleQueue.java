package io.heddle.yarn.queues;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueState;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainerState;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.util.Records;

/**
 * A queue as YARN's own code wants it: a name and its metrics. Shares, order and limits are
 * the engine's; reads are answered from the last {@link QueueSnapshot}.
 *
 * <p>Lives on when its queue leaves the configuration: applications that ran in it still point
 * here.
 */
public final class HeddleQueue implements Queue {
  /** Whether queues keep metrics per user as well; doubles what a container costs in metrics. */
  static final String USER_METRICS_PROPERTY = "heddle.user-metrics.enable";

  /** An attempt that hears of its containers of before the ResourceManager's restart. */
  public interface Member {
    void containerRecovered(RMContainer container);
  }

  private final String path;
  private final QueueReports reports;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;
  private final Set<String> labels =
      Collections.singleton(CommonNodeLabelsManager.ANY);
  // The engine's number; another one after the engine was rebuilt.
  private volatile int id = -1;

  HeddleQueue(String path, HeddleQueue parent, QueueReports reports, Configuration conf) {
    this.path = path;
    this.reports = reports;
    this.metrics = QueueMetrics.forQueue(
        path, parent, conf.getBoolean(USER_METRICS_PROPERTY, false), conf);
    this.users = new ActiveUsersManager(metrics);
  }

  /** Takes the metrics of a queue that is gone out of YARN's tables: its own and by partition. */
  void unregister() {
    synchronized (QueueMetrics.class) {
      QueueMetrics.getQueueMetrics().remove(path, metrics);
      QueueMetrics.getQueueMetrics().remove(
          QueueMetrics.DEFAULT_PARTITION + QueueMetrics.METRIC_NAME_DELIMITER + path);
    }
    String source = Sources.of(path);
    DefaultMetricsSystem.instance().unregisterSource(source);
    DefaultMetricsSystem.instance().unregisterSource(
        "PartitionQueueMetrics,partition=" + source.substring(source.indexOf(',')));
  }

  /** Knows the names under which YARN registers metrics. */
  private static final class Sources extends QueueMetrics {
    private Sources() {
      super(null, "", null, false, new Configuration(false));
    }

    static String of(String path) {
      return sourceName(path).toString();
    }
  }

  public int id() {
    return id;
  }

  void setId(int id) {
    this.id = id;
  }

  /** Returns the full path: YARN compares names with what placement answered. */
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
    QueueInfo info = reports.info(path, includeChildQueues, recursive);
    if (info == null) {
      // YARN reads reports of applications through this and expects an answer.
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

  /** Called by the base class for every container that a node reports after a restart. */
  @Override
  public void recoverContainer(
      Resource cluster, SchedulerApplicationAttempt attempt, RMContainer container) {
    if (container.getState() == RMContainerState.COMPLETED
        || container.getExecutionType() != ExecutionType.GUARANTEED) {
      // The engine never hears of opportunistic containers.
      return;
    }
    ((Member) attempt).containerRecovered(container);
  }

  @Override
  public Set<String> getAccessibleNodeLabels() {
    return labels;
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return null;
  }

  @Override
  public void incPendingResource(String nodeLabel, Resource amount) {
    // Demand is the engine's to add up; YARN's metrics are kept by AppSchedulingInfo.
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
    // Java reserves nothing: holding a node for a large ask is the engine's.
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
