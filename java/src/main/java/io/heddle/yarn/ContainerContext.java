package io.heddle.yarn;

import java.util.concurrent.ConcurrentMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.event.Dispatcher;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ahs.RMApplicationHistoryWriter;
import org.apache.hadoop.yarn.server.resourcemanager.metrics.SystemMetricsPublisher;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.ContainerAllocationExpirer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;

/**
 * The ResourceManager's context as its containers use it. A container reads one property of
 * yarn-site.xml three times in its life. YARN parses the text each time; here it is parsed once.
 */
final class ContainerContext extends RMContextImpl {
  private final RMContext context;
  private final Configuration conf;

  ContainerContext(RMContext context) {
    this.context = context;
    this.conf = new Parsed(context);
  }

  /** The ResourceManager's configuration, with {@link #KEY} parsed once. */
  private static final class Parsed extends Configuration {
    private static final String KEY =
        YarnConfiguration.APPLICATION_HISTORY_SAVE_NON_AM_CONTAINER_META_INFO;

    private final RMContext context;
    private volatile Configuration parsed;
    private volatile boolean value;

    Parsed(RMContext context) {
      super(false);
      this.context = context;
    }

    @Override
    public boolean getBoolean(String name, boolean otherwise) {
      Configuration now = context.getYarnConfiguration();
      if (!KEY.equals(name)) {
        return now.getBoolean(name, otherwise);
      }
      if (parsed != now) {
        value = now.getBoolean(name, otherwise);
        parsed = now;
      }
      return value;
    }

    @Override
    public String get(String name) {
      return context.getYarnConfiguration().get(name);
    }

    @Override
    public String get(String name, String otherwise) {
      return context.getYarnConfiguration().get(name, otherwise);
    }
  }

  @Override
  public Configuration getYarnConfiguration() {
    return conf;
  }

  @Override
  public Dispatcher getDispatcher() {
    return context.getDispatcher();
  }

  @Override
  public ConcurrentMap<ApplicationId, RMApp> getRMApps() {
    return context.getRMApps();
  }

  @Override
  public ContainerAllocationExpirer getContainerAllocationExpirer() {
    return context.getContainerAllocationExpirer();
  }

  @Override
  public RMApplicationHistoryWriter getRMApplicationHistoryWriter() {
    return context.getRMApplicationHistoryWriter();
  }

  @Override
  public SystemMetricsPublisher getSystemMetricsPublisher() {
    return context.getSystemMetricsPublisher();
  }

  @Override
  public AllocationTagsManager getAllocationTagsManager() {
    return context.getAllocationTagsManager();
  }
}
