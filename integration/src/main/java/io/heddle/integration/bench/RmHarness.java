/*
 * A ResourceManager reduced to the parts that a scheduler uses: the real RMContextImpl with real
 * token secret managers, label, tag and constraint managers, and one scheduler, started as the
 * ResourceManager starts it. It has no RPC, web, state store or liveliness monitors.
 */
package io.heddle.integration.bench;

import io.heddle.yarn.HeddlePlacementRule;
import io.heddle.yarn.HeddleScheduler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.ClusterMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.NodesListManager;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.NoOpSystemMetricPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.nodelabels.RMNodeLabelsManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.MemoryPlacementConstraintManager;
import org.apache.hadoop.yarn.server.resourcemanager.security.ClientToAMTokenSecretManagerInRM;
import org.apache.hadoop.yarn.server.resourcemanager.security.NMTokenSecretManagerInRM;
import org.apache.hadoop.yarn.server.resourcemanager.security.RMContainerTokenSecretManager;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/** One scheduler instance and the ResourceManager services around it. */
public final class RmHarness implements AutoCloseable {
  public final Configuration conf;
  public final DrainedDispatcher dispatcher = new DrainedDispatcher();
  public final Context context;
  public final AbstractYarnScheduler<?, ?> scheduler;
  public final NMTokenSecretManagerInRM nmTokens;
  private final RMContainerTokenSecretManager containerTokens;
  private final RMNodeLabelsManager labels;
  private final HeddlePlacementRule placement = new HeddlePlacementRule();

  RmHarness(SchedulerKind kind, Shape shape, HeddlePolicy policy, Path folder) throws Exception {
    this(kind.className, configured(kind, shape, policy, folder));
  }

  /** A context whose list of nodes can be set, for nodes that leave, and whose epoch. */
  public static final class Context extends RMContextImpl {
    private volatile NodesListManager nodes;
    private volatile long epoch;

    Context(DrainedDispatcher dispatcher, RMContainerTokenSecretManager containerTokens,
        NMTokenSecretManagerInRM nmTokens) {
      super(dispatcher, new ContainerAllocationExpirer(dispatcher), null, null, null, null,
          containerTokens, nmTokens, new ClientToAMTokenSecretManagerInRM());
    }

    /** Sets the list of nodes. */
    public void setNodes(NodesListManager list) {
      nodes = list;
    }

    /** Sets how many ResourceManagers came before: it is a part of container ids. */
    void setEpoch(long count) {
      epoch = count;
    }

    @Override
    public long getEpoch() {
      return epoch;
    }

    @Override
    public NodesListManager getNodesListManager() {
      return nodes;
    }
  }

  /** Starts the scheduler with this class name and configuration. */
  public RmHarness(String scheduler, Configuration configuration) throws Exception {
    resetStatics();
    conf = configuration;
    // The largest and smallest container are static too and would stay from the first conf.
    ResourceUtils.resetResourceTypes(conf);
    containerTokens = new RMContainerTokenSecretManager(conf);
    containerTokens.start();
    nmTokens = new NMTokenSecretManagerInRM(conf);
    nmTokens.start();
    context = new Context(dispatcher, containerTokens, nmTokens);
    context.setYarnConfiguration(conf);
    context.setWorkPreservingRecoveryEnabled(false);
    context.setSystemMetricsPublisher(new NoOpSystemMetricPublisher());
    RMApplicationHistoryWriter history = new RMApplicationHistoryWriter();
    history.init(conf);
    context.setRMApplicationHistoryWriter(history);
    labels = new RMNodeLabelsManager();
    labels.init(conf);
    labels.start();
    context.setNodeLabelManager(labels);
    context.setAllocationTagsManager(new AllocationTagsManager(context));
    MemoryPlacementConstraintManager constraints = new MemoryPlacementConstraintManager();
    constraints.init(conf);
    constraints.start();
    context.setPlacementConstraintManager(constraints);

    this.scheduler = (AbstractYarnScheduler<?, ?>) ReflectionUtils.newInstance(
        Class.forName(scheduler), conf);
    this.scheduler.setRMContext(context);
    context.setScheduler(this.scheduler);
    this.scheduler.init(conf);
    this.scheduler.start();
    if (this.scheduler instanceof HeddleScheduler) {
      placement.initialize(this.scheduler);
    }
  }

  /** Adds the labels and gives them to nodes, which may register later. */
  void label(Map<NodeId, Set<String>> nodes) throws IOException {
    labels.setRMContext(context);
    labels.addToCluserNodeLabels(Shape.LABELS);
    labels.replaceLabelsOnNode(nodes);
  }

  /** Returns the queue of a submission that names none, as the rules place it. */
  String place(String user) throws YarnException {
    ApplicationSubmissionContext submission =
        Records.newRecord(ApplicationSubmissionContext.class);
    submission.setQueue(YarnConfiguration.DEFAULT_QUEUE_NAME);
    return placement.getPlacementForApp(submission, user).getQueue();
  }

  private static Configuration configured(
      SchedulerKind kind, Shape shape, HeddlePolicy policy, Path folder) throws Exception {
    Configuration conf = SchedulerKind.common();
    kind.configure(conf, shape, policy, folder);
    return conf;
  }

  /** Clears the metrics, which are static, so that each scheduler starts with none. */
  private static void resetStatics() {
    QueueMetrics.clearQueueMetrics();
    DefaultMetricsSystem.setMiniClusterMode(true);
    ClusterMetrics.destroy();
  }

  @Override
  public void close() {
    if (scheduler instanceof HeddleScheduler) {
      // A shadow that was dropped on the way would make its cost look small.
      String shadow = ((HeddleScheduler) scheduler).inspection().request("{\"op\": \"shadow\"}");
      if (!"null".equals(shadow)) {
        System.out.println(shadow.contains("\"state\":\"on\"")
            ? "the shadow kept up" : "the shadow was dropped: its cost is not in the figure");
      }
    }
    scheduler.stop();
    labels.stop();
    containerTokens.stop();
    nmTokens.stop();
    resetStatics();
  }
}
