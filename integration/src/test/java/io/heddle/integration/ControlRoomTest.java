package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.web.Browser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.webapp.util.WebAppUtils;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * The console before a real cluster under a policy without accounts: what real jobs, nodes and
 * queues look like in it. Newest Hadoop only: nothing here depends on the version.
 */
public class ControlRoomTest {
  private static final int SLOTS = 7;
  private static final Path ACL = acl();

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(MiniCluster.named("control").engineConfiguration("{\"policy\": \"fair\","
          + " \"api\": {\"acl_file\": \"" + ACL + "\", \"trust_web_user\": true}}"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  private static Path acl() {
    try {
      Path file = Files.createTempFile("acl", "");
      file.toFile().deleteOnExit();
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
      return Files.write(file, "root admin the-roots-secret\n".getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String seen(Browser browser) {
    try {
      return browser.evaluate("document.querySelector('main').innerText").asText();
    } catch (Exception e) {
      return e.toString();
    }
  }

  /**
   * Keeps a picture of the page down to the nodes, if HEDDLE_PICTURES names a folder for them. The
   * rest has paths of this machine.
   */
  private static void picture(Browser browser, String name) throws Exception {
    String folder = System.getenv("HEDDLE_PICTURES");
    if (folder != null) {
      String clip = browser.evaluate("JSON.stringify({x: 0, y: 0, width: innerWidth, scale: 1,"
          + " height: document.getElementById('pools-part').getBoundingClientRect().top})")
          .asText();
      JsonNode taken = browser.call("Page.captureScreenshot",
          "{\"format\": \"png\", \"captureBeyondViewport\": true, \"clip\": " + clip + "}");
      Files.write(Paths.get(folder, name + ".png"),
          Base64.getDecoder().decode(taken.path("data").asText()));
    }
  }

  @Test
  public void realJobsNodesAndQueuesAreShown() throws Exception {
    GatedJob big = new GatedJob(CLUSTER, "bob", "the big one", 12,
        conf -> conf.setInt(MRJobConfig.MAP_MEMORY_MB, 1024));
    big.awaitRunning(SLOTS);
    GatedJob small = new GatedJob(CLUSTER, "the small one", 4);
    String page = "http://" + WebAppUtils.getResolvedRMWebAppURLWithoutScheme(
        CLUSTER.cluster().resourceManager().getConfig()) + "/heddle/?user.name=root";
    try (Browser browser = Browser.start()) {
      browser.call("Emulation.setDeviceMetricsOverride", "{\"width\": 1400, \"height\": 1500,"
          + " \"deviceScaleFactor\": 1, \"mobile\": false}");
      browser.open(page);
      String row = "[...document.querySelectorAll('#jobs tbody tr')]"
          + ".find(row => row.textContent.includes('%s'))?.children";
      String ofBig = String.format(row, "the big one");
      String ofSmall = String.format(row, "the small one");
      Await.until("the big job is shown with its end", Await.SECONDS,
          () -> browser.evaluate("/\\d:\\d\\d/.test(" + ofBig + "?.[12].textContent)").asBoolean(),
          () -> seen(browser));
      assertEquals("has", browser.evaluate(ofBig + "[11].textContent").asText());
      // All slots are taken: the reason names hosts, not numbers.
      Await.until("the small one waits", Await.SECONDS,
          () -> browser.evaluate("(" + ofSmall + "?.[13].textContent ?? '').startsWith('waits')")
              .asBoolean(), () -> seen(browser));
      String why = browser.evaluate(ofSmall + "[13].textContent").asText();
      assertTrue(why, !why.contains("node#") && !why.contains("job#"));
      Await.until("its queue's use is drawn with its entitlement", Await.SECONDS,
          () -> browser.evaluate("document.querySelector('#use-plot .legend')?.textContent"
              + ".includes('root.bob') && document.querySelectorAll('#use-plot path.limit').length"
              + " > 0").asBoolean(), () -> seen(browser));
      Await.until("grants are drawn, and where they run", Await.SECONDS,
          () -> browser.evaluate(
              "document.querySelectorAll('#rates-plot figure > svg path.line').length === 2")
              .asBoolean(), () -> seen(browser));
      int nodes = CLUSTER.cluster().nodes().size();
      String map = browser.evaluate("document.querySelector('#nodes svg').ariaLabel").asText();
      assertTrue(map, map.startsWith(nodes + " nodes, "));
      assertTrue(seen(browser), browser.evaluate(
          "document.querySelectorAll('#nodes path.u0, #nodes path.off').length < 2").asBoolean());
      String facts = browser.evaluate("document.getElementById('summary').textContent").asText();
      assertTrue(facts, facts.contains("Engineruns") && facts.contains("Journaloff"));
      picture(browser, "console-cluster");
      // The small one's maps are held until the big one has ended: each is checked to be there.
      big.finish();
      small.finish();
      Await.until("both have gone", Await.SECONDS, () -> browser.evaluate(
          "document.querySelectorAll('#jobs tbody tr').length === 0").asBoolean(),
          () -> seen(browser));
      assertEquals("[]", browser.takeComplaints().toString());
    } finally {
      small.open();
      big.open();
    }
  }
}
