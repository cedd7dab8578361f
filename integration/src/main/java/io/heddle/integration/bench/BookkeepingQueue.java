/*
 * A queue of the stub: a name and its metrics, which YARN's books update. Has no shares or limits.
 */
package io.heddle.integration.bench;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueUserACLInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ActiveUsersManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Queue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;

/** The stub's queue. */
final class BookkeepingQueue implements Queue {
  private final String path;
  private final QueueMetrics metrics;
  private final ActiveUsersManager users;

  BookkeepingQueue(String path, BookkeepingQueue parent, Configuration conf) {
    this.path = path;
    this.metrics = QueueMetrics.forQueue(path, parent, true, conf);
    this.users = new ActiveUsersManager(metrics);
  }

  @Override
  public String getQueueName() {
    return path;
  }

  @Override
  public QueueMetrics getMetrics() {
    return metrics;
  }

  @Override
  public AbstractUsersManager getAbstractUsersManager() {
    return users;
  }

  @Override
  public QueueInfo getQueueInfo(boolean children, boolean recursive) {
    throw new UnsupportedOperationException("the bench asks for no queue");
  }

  @Override
  public List<QueueUserACLInfo> getQueueUserAclInfo(UserGroupInformation user) {
    return Collections.emptyList();
  }

  @Override
  public boolean hasAccess(QueueACL acl, UserGroupInformation user) {
    return true;
  }

  @Override
  public void recoverContainer(Resource cluster, SchedulerApplicationAttempt attempt,
      RMContainer container) {
    throw new UnsupportedOperationException("the bench recovers nothing");
  }

  @Override
  public Set<String> getAccessibleNodeLabels() {
    return Collections.emptySet();
  }

  @Override
  public String getDefaultNodeLabelExpression() {
    return null;
  }

  @Override
  public void incPendingResource(String label, Resource resource) {
    // Pending amounts are kept by the queue metrics.
  }

  @Override
  public void decPendingResource(String label, Resource resource) {
    // Pending amounts are kept by the queue metrics.
  }

  @Override
  public Priority getDefaultApplicationPriority() {
    return Priority.newInstance(0);
  }

  @Override
  public void incReservedResource(String partition, Resource resource) {
    throw new UnsupportedOperationException("the stub reserves nothing");
  }

  @Override
  public void decReservedResource(String partition, Resource resource) {
    throw new UnsupportedOperationException("the stub reserves nothing");
  }
}
