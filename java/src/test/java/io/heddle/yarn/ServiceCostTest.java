package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static io.heddle.yarn.TestCluster.any;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.protocolrecords.GetApplicationReportRequest;
import org.apache.hadoop.yarn.api.protocolrecords.GetQueueInfoRequest;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRM;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmissionData;
import org.apache.hadoop.yarn.server.resourcemanager.MockRMAppSubmitter;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Measures calls of ApplicationMasterService, ClientRMService and ResourceTrackerService, which ask
 * a scheduler for more than the scheduler's own methods show, over files with few and with many
 * queues. The stock schedulers are measured beside. Asserts that no call of Heddle costs more with
 * more queues; prints all figures. HEDDLE_QUEUES, such as 10,100,500,2000,5000, sets the numbers of
 * queues. Newest Hadoop only: the costs are Heddle's own.
 */
public class ServiceCostTest {
  private static final int[] QUEUES = Arrays.stream(
      System.getenv().getOrDefault("HEDDLE_QUEUES", "50,400").split(","))
      .mapToInt(Integer::parseInt).toArray();
  /** How much more a call may cost with the most queues than with the fewest. */
  private static final double GROWTH_MAX = 2.5;
  private static final long NOISE_NS = 100_000;
  private static final int ROUNDS = 15;
  private static final int ATTEMPTS = 3;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private Configuration capacity(int queues, Class<?> scheduler) throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "capacity");
    StringBuilder names = new StringBuilder();
    for (int i = 0; i < queues; i++) {
      names.append(i == 0 ? "" : ",").append("q").append(i);
      conf.set("yarn.scheduler.capacity.root.q" + i + ".capacity", "1w");
    }
    conf.set("yarn.scheduler.capacity.root.queues", names.toString());
    conf.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
    conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    return conf;
  }

  private Configuration fair(int queues, Class<?> scheduler) throws Exception {
    StringBuilder xml = new StringBuilder("<allocations>");
    for (int i = 0; i < queues; i++) {
      xml.append("<queue name='q").append(i).append("'><maxAMShare>-1.0</maxAMShare></queue>");
    }
    File file = folder.newFile();
    Files.write(file.toPath(),
        xml.append("</allocations>").toString().getBytes(StandardCharsets.UTF_8));
    Configuration conf = TestCluster.conf("{}");
    conf.set("heddle.queues.from", "fair");
    conf.set("yarn.scheduler.fair.allocation.file", file.getPath());
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler.getName());
    return conf;
  }

  /** Measures each call; returns the least processor time by its name, in nanoseconds. */
  private static Map<String, Long> measured(Configuration conf) throws Exception {
    MockRM rm = new MockRM(conf);
    Logger.getRootLogger().setLevel(Level.WARN);
    rm.start();
    try {
      MockNM node = rm.registerNode("a1:1234", 1 << 20, 1 << 10);
      rm.drainEvents();
      RMApp app = submit(rm);
      MockAM am = MockRM.launchAndRegisterAM(app, rm, node);
      Map<String, Long> costs = new TreeMap<>();
      for (int rows : new int[] {0, 1, 100}) {
        costs.put("allocate, " + rows + " rows", Cost.least(ROUNDS, () -> {
          List<ResourceRequest> asks = new ArrayList<>();
          for (int i = 0; i < rows; i++) {
            asks.add(any(i + 1, GB, 0));
          }
          am.allocate(asks, Collections.<ContainerId>emptyList());
        }));
      }
      costs.put("heartbeat of a node", Cost.least(ROUNDS, () -> node.nodeHeartbeat(true)));
      costs.put("report of an application", Cost.least(ROUNDS, () -> rm.getClientRMService()
          .getApplicationReport(GetApplicationReportRequest.newInstance(app.getApplicationId()))));
      costs.put("status of a queue", Cost.least(ROUNDS, () -> rm.getClientRMService()
          .getQueueInfo(GetQueueInfoRequest.newInstance("root.q1", false, false, false))));
      long least = Long.MAX_VALUE;
      for (int i = 0; i < ROUNDS; i++) {
        least = Math.min(least, Cost.ofAll(() -> {
          submit(rm);
          rm.drainEvents();
        }));
      }
      costs.put("submission, and its attempt", least);
      return costs;
    } finally {
      rm.stop();
    }
  }

  private static RMApp submit(MockRM rm) throws Exception {
    return MockRMAppSubmitter.submit(rm, MockRMAppSubmissionData.Builder.createWithMemory(GB, rm)
        .withAppName("test").withUser("alice").withQueue("root.q0").withUnmanagedAM(false)
        .withAcls(new HashMap<>()).build());
  }

  /** Something that makes a configuration for a number of queues and a scheduler. */
  private interface Source {
    Configuration with(int queues, Class<?> scheduler) throws Exception;
  }

  private static void compare(String file, Class<?> stock, Source files) throws Exception {
    Map<String, Long> few = new TreeMap<>();
    for (int attempt = 1; ; attempt++) {
      StringBuilder grown = new StringBuilder();
      for (int queues : QUEUES) {
        Map<String, Long> ours = measured(files.with(queues, HeddleScheduler.class));
        Map<String, Long> theirs = measured(files.with(queues, stock));
        for (Map.Entry<String, Long> cost : ours.entrySet()) {
          String call = cost.getKey();
          String figures = String.format("%s file, %d queues, %s: %d us, stock %d us", file, queues,
              call, cost.getValue() / 1_000, theirs.get(call) / 1_000);
          System.out.println("measured: " + figures);
          if (queues == QUEUES[0]) {
            few.merge(call, cost.getValue(), Math::min);
          } else if (cost.getValue() > GROWTH_MAX * few.get(call) + NOISE_NS) {
            grown.append('\n').append(figures);
          }
        }
      }
      if (grown.length() == 0) {
        return;
      }
      if (attempt == ATTEMPTS) {
        throw new AssertionError("these cost more with more queues: " + few + grown);
      }
    }
  }

  @Test
  public void noCallCostsMoreWithMoreQueuesOfACapacityFile() throws Exception {
    compare("Capacity", CapacityScheduler.class, this::capacity);
  }

  @Test
  public void noCallCostsMoreWithMoreQueuesOfAFairFile() throws Exception {
    compare("Fair", FairScheduler.class, this::fair);
  }
}
