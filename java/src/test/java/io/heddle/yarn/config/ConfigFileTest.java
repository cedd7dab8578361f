package io.heddle.yarn.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.Test;

/** A reload without the property that named what is in force. */
public class ConfigFileTest {
  private static String order(TestCluster cluster) {
    return cluster.request(SetupJson.request("policies"))
        .path("in_force").path("stages").path(1).asText();
  }

  @Test
  public void aPropertyThatGotLostDoesNotBringTheDefaultsIntoForce() throws Exception {
    Configuration conf = TestCluster.conf("{\"policy\": \"hfsp\"}");
    try (TestCluster cluster = new TestCluster(conf)) {
      Configuration lost = new Configuration(conf);
      lost.unset(ConfigFile.FILE_PROPERTY);
      IOException refused = assertThrows(IOException.class,
          () -> cluster.scheduler.reinitialize(lost, cluster.rm.getRMContext()));
      assertTrue(refused.getMessage(), refused.getMessage().contains(ConfigFile.FILE_PROPERTY));
      assertEquals("hfsp", order(cluster));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals("hfsp", order(cluster));
    }
  }

  /** YARN refuses the reload as a whole, so the engine must not have taken its part. */
  @Test
  public void aMonitorThatYarnCannotMakeLeavesTheConfiguration() throws Exception {
    Configuration conf = TestCluster.conf("{\"policy\": \"hfsp\"}");
    try (TestCluster cluster = new TestCluster(conf)) {
      Configuration wrong = new Configuration(conf);
      wrong.set(
          ConfigFile.FILE_PROPERTY, TestCluster.write("{\"policy\": \"fifo\"}").getPath());
      wrong.setBoolean(YarnConfiguration.RM_SCHEDULER_ENABLE_MONITORS, true);
      wrong.set(YarnConfiguration.RM_SCHEDULER_MONITOR_POLICIES, "no.such.Policy");
      Exception refused = assertThrows(Exception.class,
          () -> cluster.scheduler.reinitialize(wrong, cluster.rm.getRMContext()));
      assertTrue(refused.toString(), refused.toString().contains("no.such.Policy"));
      assertEquals("hfsp", order(cluster));
    }
  }

  @Test
  public void aStockFileThatIsNamedNoLongerStaysInForce() throws Exception {
    Path file = Files.createTempFile("fair", ".xml");
    Files.write(file, "<allocations><queue name='a'/></allocations>".getBytes(UTF_8));
    Configuration conf = TestCluster.conf("{}");
    conf.unset(ConfigFile.FILE_PROPERTY);
    conf.set(StockSource.FROM, StockSource.FAIR);
    conf.set("yarn.scheduler.fair.allocation.file", file.toString());
    try (TestCluster cluster = new TestCluster(conf)) {
      Configuration lost = new Configuration(conf);
      lost.unset(StockSource.FROM);
      IOException refused = assertThrows(IOException.class,
          () -> cluster.scheduler.reinitialize(lost, cluster.rm.getRMContext()));
      assertTrue(refused.getMessage(), refused.getMessage().startsWith(StockSource.FROM));
      assertNotNull(cluster.scheduler.getQueueInfo("root.a", false, false));
    } finally {
      Files.delete(file);
    }
  }
}
