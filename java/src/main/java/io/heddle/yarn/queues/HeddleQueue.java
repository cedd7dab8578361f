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
 * A queue as YARN's own code needs it: a name and its metrics. The engine decides shares, order and
 * limits; reads are answered from the last {@link QueueSnapshot}.
 *
 * <p>Stays when its queue leaves the configuration, because applications that ran in it still refer
 * to it.
 */
public final class HeddleQueue implements Queue {
  /** Whether queues also keep metrics per user, which doubles the cost of metrics. */
  static final String USER_METRICS_PROPERTY = "heddle.user-metrics.enable";

  /** Receives the containers of an attempt that began before the ResourceManager's restart. */
  public interface Member {
    void containerRecovered(RMContainer container);
  }

  private final String path;
  private final QueueReports reports;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;
  private final Set<String> labels =
      Collections.singleton(CommonNodeLabelsManager.ANY);
  // The engine's number; a rebuild of the engine may change it.
  private volatile int id = -1;

  HeddleQueue(String path, HeddleQueue parent, QueueReports reports, Configuration conf) {
    this.path = path;
    this.reports = reports;
    this.metrics = QueueMetrics.forQueue(
        path, parent, conf.getBoolean(USER_METRICS_PROPERTY, false), conf);
    this.users = new ActiveUsersManager(metrics);
  }

  /** Removes a removed queue's metrics from YARN's tables: its own and those by partition. */
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

  /** Gives access to YARN's names of metrics sources. */
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
    QueueInfo info = reports.info(path, includeChildQueues, recursive);
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
    return labels;
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return null;
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
