package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.junit.Test;

/**
 * Compares the Prometheus text on the ResourceManager's port with the stock schedulers' (DI-42).
 * Newest Hadoop only.
 */
public class PrometheusTest {
  private static final String FAIR = "<allocations><queue name='default'/><queue name='batch'>"
      + "<minResources>1024 mb,1 vcores</minResources><queue name='daily'/></queue></allocations>";

  /** The name of a figure and its queue: {@code name{queue="root.batch",...} 3}. */
  private static final Pattern OF_QUEUE =
      Pattern.compile("^([a-z_0-9]+)\\{.*queue=\"([^\"]+)\".*", Pattern.MULTILINE);

  /** Starts a ResourceManager and returns what it tells Prometheus once it knows its node. */
  private static String text(String scheduler, String from) throws Exception {
    Path folder = Files.createTempDirectory("prometheus");
    YarnConfiguration conf = MiniManager.configuration(scheduler, folder);
    conf.setBoolean("hadoop.prometheus.endpoint.enabled", true);
    conf.set("heddle.queues.from", from);
    if (from.equals("fair")) {
      Path queues = folder.resolve("fair-scheduler.xml");
      Files.write(queues, FAIR.getBytes(StandardCharsets.UTF_8));
      conf.set("yarn.scheduler.fair.allocation.file", queues.toString());
    } else {
      conf.set("yarn.scheduler.capacity.root.queues", "default,batch");
      conf.set("yarn.scheduler.capacity.root.default.capacity", "40");
      conf.set("yarn.scheduler.capacity.root.batch.capacity", "60");
    }
    try (MiniManager manager = MiniManager.start(conf, folder)) {
      Await.until("the scheduler knows its node", Await.SECONDS,
          () -> manager.manager.getResourceScheduler().getClusterResource().getMemorySize() > 0);
      // Figures of queues follow the scheduler's tick, which may be later than the node.
      ((AbstractYarnScheduler<?, ?>) manager.manager.getResourceScheduler()).update();
      // The text is of the last round of Hadoop's metrics system; it is whole once a round of our
      // own adds no figure.
      String[] body = {""};
      Await.until("metrics of queues", Await.SECONDS, () -> {
        Set<String> before = figures(body[0]);
        DefaultMetricsSystem.instance().publishMetricsNow();
        body[0] = manager.get("/prom").body;
        return body[0].contains("queue=\"root.batch") && figures(body[0]).equals(before);
      }, () -> body[0]);
      return body[0];
    }
  }

  private static Set<String> figures(String text) {
    Set<String> found = new TreeSet<>();
    Matcher matcher = OF_QUEUE.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1) + " " + matcher.group(2));
    }
    return found;
  }

  private static void compare(Class<?> scheduler, String from) throws Exception {
    // Ours first: what Hadoop's static metrics might carry over must not help us.
    String ours = text(MiniCluster.HEDDLE, from);
    String stock = text(scheduler.getName(), from);
    assertFalse(stock, figures(stock).isEmpty());
    assertEquals(figures(stock), figures(ours));
    assertFalse(stock.contains("heddle_scheduler_"));
    // There is no shadow; its counts are there all the same.
    assertTrue(ours, ours.contains("heddle_scheduler_shadow_ends_later{"));
  }

  @Test
  public void fairsFiguresAreThere() throws Exception {
    compare(FairScheduler.class, "fair");
  }

  @Test
  public void capacitysFiguresAreThere() throws Exception {
    compare(CapacityScheduler.class, "capacity");
  }
}
