package io.heddle.yarn.config;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.TestCluster;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Tests that a shadow's candidate that cannot be used is reported, and changes nothing else. Newest
 * Hadoop only: Heddle itself reads the file.
 */
public class ShadowFilesTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private Path candidate() {
    return folder.getRoot().toPath().resolve("next.json");
  }

  private void write(String text) throws IOException {
    Files.write(candidate(), text.getBytes(StandardCharsets.UTF_8));
  }

  private static JsonNode status(TestCluster cluster) {
    return cluster.request(SetupJson.request("shadow"));
  }

  private static void assertDropped(TestCluster cluster, String why) {
    JsonNode status = status(cluster);
    assertEquals(status.toString(), "dropped", status.path("state").asText());
    assertTrue(status.toString(), status.path("why").asText().contains(why));
  }

  @Test
  public void aCandidateThatCannotBeReadIsADroppedShadow() throws Exception {
    Configuration conf = TestCluster.conf("{}");
    conf.set(ConfigFile.SHADOW_PROPERTY, candidate().toString());
    try (TestCluster cluster = new TestCluster(conf)) {
      assertDropped(cluster, "next.json, which is not a readable file");
      write("{\"policy\": ");
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertDropped(cluster, "next.json line 1");
      write("{\"allocations_file\": \"none.xml\"}");
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertDropped(cluster, "none.xml");
      write("{\"policy\": \"fifo\"}");
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertEquals("on", status(cluster).path("state").asText());
      conf.unset(ConfigFile.SHADOW_PROPERTY);
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertTrue(status(cluster).isNull());
    }
  }
}
