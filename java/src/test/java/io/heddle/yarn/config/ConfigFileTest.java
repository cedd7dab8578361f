package io.heddle.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** A reload without the property that named heddle.json. */
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
}
