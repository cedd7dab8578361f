package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.yarn.engine.Journal;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.junit.rules.ExternalResource;

/**
 * Records a cluster's engine, and replays the journal with the command line when the cluster has
 * stopped. Use it as a class rule around the cluster's.
 */
final class ReplayedJournal extends ExternalResource {
  private final File path;

  ReplayedJournal(String name) {
    path = new File(System.getProperty("java.io.tmpdir"), name + ".journal").getAbsoluteFile();
  }

  /** Lets the cluster record. */
  MiniCluster.Builder record(MiniCluster.Builder builder) {
    return builder.set(Journal.PATH_PROPERTY, path.getPath());
  }

  @Override
  protected void after() {
    if (!ClusterRule.isHeddle()) {
      return;
    }
    try {
      JsonNode replayed = replay();
      String told = replayed.toString();
      assertTrue(told, replayed.get("same").asBoolean());
      assertEquals(told, "closed", replayed.get("end").asText());
      // Every answer was recorded, and there was something to decide.
      assertEquals(told, replayed.get("frames").asLong() + replayed.get("requests").asLong(),
          replayed.get("compared").asLong());
      // How many frames a run has depends on its time; what it has to tell does not.
      assertTrue(told, replayed.get("events").asLong() > 50);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private JsonNode replay() throws Exception {
    String command = System.getenv("HEDDLE_COMMAND");
    assertTrue("HEDDLE_COMMAND names the command line, as ./x test does", command != null);
    File said = File.createTempFile("replay", ".txt");
    ProcessBuilder builder = new ProcessBuilder(command, "replay", path.getPath(), "--json");
    builder.redirectInput(new File("/dev/null")).redirectError(said);
    Process process = builder.start();
    JsonNode replayed = new ObjectMapper().readTree(process.getInputStream());
    int code = process.waitFor();
    String faults = new String(Files.readAllBytes(said.toPath()), StandardCharsets.UTF_8);
    assertEquals(faults + replayed, 0, code);
    return replayed;
  }
}
