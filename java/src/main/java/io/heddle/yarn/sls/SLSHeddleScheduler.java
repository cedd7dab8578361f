package io.heddle.yarn.sls;

import io.heddle.yarn.HeddleScheduler;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.scheduler.SLSSchedulerCommons;
import org.apache.hadoop.yarn.sls.scheduler.SchedulerMetrics;
import org.apache.hadoop.yarn.sls.scheduler.SchedulerWrapper;
import org.apache.hadoop.yarn.sls.scheduler.Tracker;

/**
 * The scheduler to name in {@code yarn.resourcemanager.scheduler.class} for SLS. It counts and
 * times what the simulator asks for, and passes everything on to Heddle.
 */
public final class SLSHeddleScheduler extends HeddleScheduler implements SchedulerWrapper {
  private final SLSSchedulerCommons commons = new SLSSchedulerCommons(this);
  private SLSRunner runner;

  @Override
  public void setConf(Configuration conf) {
    super.setConf(conf);
    // SLS knows metrics by its own two schedulers only; these count what all schedulers do.
    commons.initMetrics(CapacityScheduler.class, conf);
  }

  @Override
  public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    return commons.allocate(attempt, asks, schedulingRequests, release, blacklistAdditions,
        blacklistRemovals, updates);
  }

  @Override
  public Allocation allocatePropagated(ApplicationAttemptId attempt, List<ResourceRequest> asks,
      List<SchedulingRequest> schedulingRequests, List<ContainerId> release,
      List<String> blacklistAdditions, List<String> blacklistRemovals, ContainerUpdates updates) {
    return super.allocate(attempt, asks, schedulingRequests, release, blacklistAdditions,
        blacklistRemovals, updates);
  }

  @Override
  public void handle(SchedulerEvent event) {
    commons.handle(event);
  }

  @Override
  public void propagatedHandle(SchedulerEvent event) {
    super.handle(event);
  }

  /** Returns the trace's name: a queue that Heddle makes on submission does not exist yet. */
  @Override
  public String getRealQueueName(String queue) {
    return queue;
  }

  /** The simulator asks as soon as there is a scheduler; null tells it that nothing runs yet. */
  @Override
  public QueueMetrics getRootQueueMetrics() {
    return inspection() == null ? null : super.getRootQueueMetrics();
  }

  @Override
  public SchedulerMetrics getSchedulerMetrics() {
    return commons.getSchedulerMetrics();
  }

  @Override
  public Tracker getTracker() {
    return commons.getTracker();
  }

  @Override
  public void setSLSRunner(SLSRunner newRunner) {
    runner = newRunner;
  }

  @Override
  public SLSRunner getSLSRunner() {
    return runner;
  }
}
