package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.yarn.HeddleScheduler;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * {@code heddle apply} and {@code heddle rollback} against a real ResourceManager: what comes into
 * force, what heddle.json holds, and what a reload refuses. Newest Hadoop only.
 */
public class ApplyTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @Rule public final TemporaryFolder files = new TemporaryFolder();

  private Path write(String name, String text) throws Exception {
    Path file = files.getRoot().toPath().resolve(name);
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    return file;
  }

  private static String text(Path file) throws Exception {
    return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
  }

  /** Runs the command as root; returns its exit code and what it printed. */
  private String heddle(MiniManager manager, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    String binary = System.getenv("HEDDLE_COMMAND");
    assertTrue("HEDDLE_COMMAND names the command line, as ./x test does", binary != null);
    command.add(binary);
    command.addAll(Arrays.asList(arguments));
    command.addAll(Arrays.asList("--url", manager.address));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("HEDDLE_USER", "root");
    builder.environment().put("HEDDLE_SECRET_FILE",
        files.getRoot().toPath().resolve("secret").toString());
    Process process = builder.start();
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    byte[] part = new byte[4096];
    try (InputStream out = process.getInputStream()) {
      for (int read = out.read(part); read >= 0; read = out.read(part)) {
        said.write(part, 0, read);
      }
    }
    return process.waitFor() + " " + said.toString("UTF-8");
  }

  private static String order(MiniManager manager) throws Exception {
    HeddleScheduler scheduler = (HeddleScheduler) manager.manager.getResourceScheduler();
    JsonNode answer = JSON.readTree(scheduler.inspection().request("{\"op\": \"policies\"}"));
    return answer.path("in_force").path("stages").path(1).asText();
  }

  @Test
  public void aConfigurationIsAppliedAndRolledBack() throws Exception {
    write("secret", "roots-secret\n");
    Path acl = write("acl", "root admin roots-secret\n");
    String api = "\"api\": {\"acl_file\": \"" + acl + "\"}";
    Path folder = Files.createTempDirectory("apply");
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    Path kept = write("heddle.json", "{\"policy\": \"fifo\", " + api + "}\n");
    conf.set("heddle.config.file", kept.toString());
    MiniManager.siteFile(conf, folder);
    Audit audit = new Audit();
    try (MiniManager manager = MiniManager.start(conf, folder)) {
      String first = text(kept);
      String next = "{\n  \"policy\": \"hfsp\",\n  " + api + "\n}\n";
      String applied = heddle(manager, "apply", "--yes", write("next.json", next).toString());
      assertTrue(applied, applied.startsWith("0 in force"));
      assertEquals("hfsp", order(manager));
      assertEquals(next, text(kept));
      // The engine would take it; the file of pools that it names is not there.
      Path broken = write("broken.json", "{\"policy\": \"fair\", \"allocations_file\": \""
          + folder.resolve("pools.xml") + "\", " + api + "}");
      String refused = heddle(manager, "apply", "--yes", broken.toString());
      assertTrue(refused, refused.startsWith("1 ") && refused.contains("pools.xml"));
      assertEquals("hfsp", order(manager));
      assertEquals("the refused file is taken back", next, text(kept));
      String back = heddle(manager, "rollback", "--yes");
      assertTrue(back, back.startsWith("0 in force"));
      assertEquals("fifo", order(manager));
      assertEquals(first, text(kept));
    } finally {
      Logger.getLogger("heddle.audit").removeAppender(audit);
    }
    assertEquals(Arrays.asList("replace configuration true", "replace configuration false",
        "roll back configuration true"), audit.lines);
  }

  /** Keeps who did what of the audit's lines. */
  private static final class Audit extends AppenderSkeleton {
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    Audit() {
      Logger logger = Logger.getLogger("heddle.audit");
      logger.setLevel(Level.INFO);
      logger.addAppender(this);
    }

    @Override
    protected void append(LoggingEvent event) {
      try {
        JsonNode line = JSON.readTree(event.getRenderedMessage());
        assertEquals("root", line.path("user").asText());
        lines.add(line.path("action").asText() + " " + line.path("allowed").asBoolean());
      } catch (IOException e) {
        lines.add(e.toString());
      }
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }

    @Override
    public void close() {}
  }
}
