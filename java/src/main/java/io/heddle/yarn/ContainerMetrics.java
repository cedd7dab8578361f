package io.heddle.yarn;

import io.heddle.yarn.compat.Compat;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts beginnings and ends of containers in the metrics of their queues, summed until the end of
 * the event that caused them: YARN's counting changes thirty counters for each call, not for each
 * container.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class ContainerMetrics {
  private static final Logger LOG = LoggerFactory.getLogger(ContainerMetrics.class);
  /** Beyond this many different sums, all are counted at once. */
  private static final int SUMS_MAX = 16;

  /** Containers of one size, queue, user and label. */
  private static final class Sum {
    private QueueMetrics metrics;
    private String user;
    private String partition;
    private String asked;
    private Resource size;
    private int begun;
    private int ended;

    private boolean is(QueueMetrics otherMetrics, String otherUser, String otherPartition,
        String otherAsked, Resource otherSize) {
      return metrics == otherMetrics && user.equals(otherUser) && partition.equals(otherPartition)
          && asked.equals(otherAsked) && size.equals(otherSize);
    }

    private void count() {
      if (ended > 0) {
        metrics.releaseResources(partition, user, ended, size);
      }
      if (begun > 0) {
        boolean same = partition.equals(asked);
        metrics.allocateResources(partition, user, begun, size, same);
        if (!same) {
          metrics.decrPendingResources(asked, user, begun, size);
        }
      }
    }
  }

  private final List<Sum> sums = new ArrayList<>();
  private int used;

  /** Counts a container that an ask got: more allocated, less pending. */
  void begun(QueueMetrics metrics, String user, String partition, String asked, Resource size,
      NodeType type) {
    sum(metrics, user, partition, asked, size).begun++;
    metrics.incrNodeTypeAggregations(user, type);
    Compat.countAssigned();
  }

  /** Counts a container that ended. */
  void ended(QueueMetrics metrics, String user, String partition, Resource size) {
    sum(metrics, user, partition, partition, size).ended++;
  }

  private Sum sum(QueueMetrics metrics, String user, String partition, String asked,
      Resource size) {
    for (int i = 0; i < used; i++) {
      Sum sum = sums.get(i);
      if (sum.is(metrics, user, partition, asked, size)) {
        return sum;
      }
    }
    if (used == SUMS_MAX) {
      count();
    }
    if (used == sums.size()) {
      sums.add(new Sum());
    }
    Sum sum = sums.get(used);
    used++;
    sum.metrics = metrics;
    sum.user = user;
    sum.partition = partition;
    sum.asked = asked;
    sum.size = size;
    sum.begun = 0;
    sum.ended = 0;
    return sum;
  }

  /** Counts all sums now. A sum that fails does not stop the others. */
  void count() {
    int count = used;
    // Reset first, so that a failure in YARN counts no sum twice.
    used = 0;
    for (int i = 0; i < count; i++) {
      Sum sum = sums.get(i);
      try {
        sum.count();
      } catch (RuntimeException | LinkageError e) {
        LOG.error("Cannot count containers of user {} in the queue's metrics", sum.user, e);
      }
    }
  }
}
