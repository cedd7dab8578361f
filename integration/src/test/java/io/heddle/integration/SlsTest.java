package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.yarn.sls.SLSHeddleScheduler;
import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.jar.JarFile;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests that Hadoop's scheduler load simulator runs its own sample trace with Heddle. The jar of
 * its tests' sources has that trace: ten MapReduce jobs of generated tasks on twenty nodes. (The
 * sample in the simulator's own format cannot be read by 3.4.3 itself.) Newest Hadoop only: there
 * is one version of the simulator for all. Not on 3.3.6, whose simulator has other classes.
 */
public class SlsTest {
  /** The variable that names the jar; {@code ./x test} sets it. */
  private static final String SAMPLES = "HEDDLE_SLS_SAMPLES";
  private static final int JOBS = 10;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  /** There is no reservation system, so no job of the trace asks for a reservation. */
  private String trace() throws Exception {
    Path file = Paths.get(sample("syn_generic.json"));
    String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    String without = text.replace(
        "\"reservation\": {\"val\": 0.5}", "\"reservation\": {\"val\": 0}");
    assertNotEquals(text, without);
    Files.write(file, without.getBytes(StandardCharsets.UTF_8));
    return file.toString();
  }

  private String sample(String name) throws Exception {
    Path file = folder.getRoot().toPath().resolve(name);
    try (JarFile jar = new JarFile(System.getenv(SAMPLES));
        InputStream in = jar.getInputStream(jar.getEntry(name))) {
      Files.copy(in, file);
    }
    return file.toString();
  }

  @Test
  public void theSampleTraceRunsToItsEnd() throws Exception {
    Configuration conf = new Configuration(false);
    conf.set("yarn.sls.am.type.mapreduce", MRAMSimulator.class.getName());
    conf.setInt("yarn.sls.metrics.web.address.port", 0);
    conf.set(YarnConfiguration.RM_SCHEDULER, SLSHeddleScheduler.class.getName());
    conf.set("heddle.queues.from", "fair");
    conf.set("yarn.scheduler.fair.allocation.file", sample("fair-scheduler.xml"));
    // No DNS knows the simulated nodes.
    conf.setBoolean("hadoop.security.token.service.use_ip", false);
    SecurityUtil.setConfiguration(conf);
    for (String address : new String[] {"webapp.address", "address", "scheduler.address",
        "resource-tracker.address", "admin.address"}) {
      conf.set("yarn.resourcemanager." + address, "127.0.0.1:0");
    }
    File output = folder.newFolder("output");
    SLSRunner runner = new SLSRunner(conf);
    runner.setSimulationParams(SLSRunner.TraceType.SYNTH, new String[] {trace()}, "",
        output.getPath(), Collections.<String>emptySet(), false);
    try {
      runner.start();
      Await.until("the jobs end", 3 * Await.SECONDS, () -> runner.getRemainingApps() == 0);
      QueueMetrics root = QueueMetrics.getQueueMetrics().get("root");
      assertTrue(output.list().length + " files", output.list().length > 0);
      // AMSimulator.lastStep ends the master's container before it unregisters. A node that reports
      // in between makes the application a failed one, with all of its tasks done.
      Await.until("they are counted", Await.SECONDS,
          () -> root.getAppsCompleted() + root.getAppsFailed() == JOBS,
          () -> root.getAppsCompleted() + " completed, " + root.getAppsFailed() + " failed");
      int tasks = (Integer) SLSRunner.getSimulateInfoMap().get("Number of tasks");
      assertTrue(tasks + " tasks", tasks > 50);
      assertEquals("AMs and tasks", JOBS + tasks, root.getAggregateAllocatedContainers());
    } finally {
      runner.stop();
    }
  }
}
