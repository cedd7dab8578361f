package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.cluster.Await;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.junit.BeforeClass;
import org.junit.Test;

/**
 * The console with thousands of jobs and nodes: pages, search and order are the server's, and the
 * page keeps few elements. Newest Hadoop only.
 */
public class ConsoleJobsTest extends ConsoleSite {
  private static final int JOBS = 2_000;
  private static final int PAGE = 100;

  @BeforeClass
  public static void submitMany() throws Exception {
    for (int i = 1; i < JOBS; i++) {
      submit(i % 4 == 0 ? "root.alice" : "root.bob", String.format("job %04d", i));
    }
  }

  private static void awaitRows(String what, Callable<Boolean> condition) throws Exception {
    Await.until(what, SECONDS, condition, () -> {
      try {
        return text("#jobs-total") + rows("jobs").stream().limit(2).collect(Collectors.toList());
      } catch (Exception e) {
        return e.toString();
      }
    });
  }

  private static String total() throws Exception {
    return text("#jobs-total").replace(",", "");
  }

  private static void choose(String order) throws Exception {
    browser.evaluate("{ const list = document.getElementById('jobs-sort'); list.value = '" + order
        + "'; list.dispatchEvent(new Event('change')); }");
  }

  private static void search(String text) throws Exception {
    browser.evaluate("{ const field = document.getElementById('jobs-search'); field.value = '"
        + text + "'; field.dispatchEvent(new Event('input')); }");
  }

  private static String first(int column) throws Exception {
    List<List<String>> rows = rows("jobs");
    return rows.isEmpty() ? "" : rows.get(0).get(column);
  }

  @Test
  public void thousandsOfJobsComeInPages() throws Exception {
    awaitRows("the first page", () -> total().equals("1 to 100 of 2000"));
    Set<String> seen = new HashSet<>();
    for (int page = 1;; page++) {
      String last = String.format("%d to %d of %d", (page - 1) * PAGE + 1, page * PAGE, JOBS);
      awaitRows(last, () -> total().equals(last));
      List<List<String>> rows = rows("jobs");
      assertEquals(PAGE, rows.size());
      rows.forEach(row -> seen.add(row.get(0)));
      if (page * PAGE == JOBS) {
        break;
      }
      browser.evaluate("document.getElementById('jobs-next').click()");
    }
    assertEquals("each job once", JOBS, seen.size());
    assertTrue("no page follows", browser.evaluate(
        "document.getElementById('jobs-next').hidden").asBoolean());
    browser.evaluate("document.getElementById('jobs-before').click()");
    awaitRows("one back", () -> total().equals("1801 to 1900 of 2000"));
    browser.evaluate("document.getElementById('jobs-first').click()");
    awaitRows("the first", () -> total().equals("1 to 100 of 2000"));
  }

  @Test
  public void jobsAreFoundAndSorted() throws Exception {
    search("JOB 1234");
    awaitRows("the one", () -> total().equals("1 to 1 of 1 found"));
    assertEquals("job 1234", first(1));
    search("root.alice");
    awaitRows("a quarter", () -> total().equals("1 to 100 of 499 found"));
    search("");
    awaitRows("all", () -> total().equals("1 to 100 of 2000"));
    for (String[] order : new String[][] {{"name", "<script>alert(1)</script>"},
        {"-name", "job 1999"}, {"-submitted", "job 1999"}, {"queue", "job 0004"}}) {
      choose(order[0]);
      awaitRows(order[0], () -> first(1).equals(order[1]));
    }
    // A heading sorts by its column, and the second time the other way round, by keys too.
    browser.evaluate("[...document.querySelectorAll('#jobs th button')]"
        + ".find(b => b.textContent === 'Name').focus()");
    browser.press("Enter");
    awaitRows("by name", () -> first(1).startsWith("<script>"));
    browser.press("Enter");
    awaitRows("the other way round", () -> first(1).equals("job 1999"));
    assertEquals("descending", browser.evaluate("[...document.querySelectorAll('#jobs th')]"
        + ".find(h => h.textContent === 'Name').getAttribute('aria-sort')").asText());
    assertEquals("-name",
        browser.evaluate("document.getElementById('jobs-sort').value").asText());
    choose("-submitted");
  }

  /** A round costs the page as much as its hundred rows, however many jobs there are. */
  @Test
  public void roundsAddNothingToThePage() throws Exception {
    awaitRows("the first page", () -> total().equals("1 to 100 of 2000"));
    String elements = "document.querySelectorAll('#jobs *').length";
    int before = browser.evaluate(elements).asInt();
    int asked = browser.requests().size();
    Await.until("three rounds", SECONDS, () -> browser.requests().stream().skip(asked)
        .filter(url -> url.contains("/v1/jobs?")).count() >= 3);
    assertEquals(before, browser.evaluate(elements).asInt());
    assertTrue("elements: " + before, before < 60 * PAGE);
  }

  /** Sends what a cluster of 5,000 nodes would; the picture has a path for each colour. */
  @Test
  public void thousandsOfNodesAreAMap() throws Exception {
    browser.await("the real node is shown", "document.querySelector('#nodes path.u0') !== null");
    ArrayNode rows = MAPPER.createArrayNode();
    for (int i = 0; i < 2_000; i++) {
      ObjectNode row = rows.addObject().put("node", i).put("name", "<b>" + i + ":1")
          .put("rack", "/rack" + i % 50).put("schedulable", i != 7).put("containers", 2)
          .put("memory_mb", 1000).put("free_mb", i % 1001).put("vcores", 8).put("free_vcores", 1)
          .put("held", i == 3);
      row.putNull("foreign_per_mille").putNull("aside");
    }
    ObjectNode page = MAPPER.createObjectNode().putNull("next").put("now_ms", 1);
    page.set("nodes", rows);
    answerInstead("*/heddle/v1/nodes*", answerOf(200, page.toString()));
    try {
      browser.await("they are shown", "document.querySelectorAll('#nodes .rack').length === 50");
      int drawn = browser.evaluate("document.querySelectorAll('#nodes *').length").asInt();
      assertTrue("elements: " + drawn, drawn < 100);
      assertTrue(browser.evaluate("document.querySelector('#nodes svg').ariaLabel").asText()
          .startsWith("2,000 nodes, "));
      picture("console-nodes", "#nodes-part");
      browser.evaluate("document.querySelector('#nodes svg').focus()");
      browser.press("ArrowRight");
      assertEquals("<b>0:1 in /rack0, 1,000 MB of 1,000 MB in use, 7 of 8 vcores, 2 containers",
          text("#nodes .cursor").replace('\u00a0', ' '));
      browser.press("End");
      assertTrue(text("#nodes .cursor"), text("#nodes .cursor").startsWith("<b>1999:1 in /rack49"));
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }

  /** A new page: what a test before chose does not last. */
  @Test
  public void useOfTheLastHourIsDrawn() throws Exception {
    ObjectNode usage = MAPPER.createObjectNode().put("every_ms", 10_000)
        .put("now_ms", 1_700_000_100_000L);
    ArrayNode samples = usage.putArray("samples");
    for (int i = 0; i < 10; i++) {
      ObjectNode sample = samples.addObject().put("at_ms", 1_700_000_000_000L + 10_000 * i)
          .put("capacity_mb", 8192).put("others_mb", 0).put("evicted", i == 5 ? 20 : 0)
          .put("running", 6).put("pending", 1);
      ArrayNode queues = sample.putArray("queues");
      queues.addObject().put("queue", "root.<i>").put("used_mb", 1024 * (i % 5))
          .put("share_mb", 4096);
      queues.addObject().put("queue", "root.bob").put("used_mb", 2048).put("share_mb", 4096);
      sample.putObject("granted").put("host", 30).put("rack", 10).put("away", 0)
          .put("anywhere", 10);
      sample.putObject("waiting").put("jobs", 2).put("mean_ms", 1000 * i)
          .put("longest_ms", 2000 * i);
    }
    answerInstead("*/heddle/v1/usage*", answerOf(200, usage.toString()));
    try {
      browser.open(address + "/heddle/?user.name=root&use");
      browser.await("areas are drawn",
          "document.querySelectorAll('#use-plot path.area[d]').length === 4");
      assertEquals(2, browser.evaluate("document.querySelectorAll('#use-plot path.limit').length")
          .asInt());
      picture("console-use", "#use-part");
      browser.evaluate("document.querySelector('#use-plot svg').focus()");
      browser.press("End");
      String use = text("#use-plot .cursor").replace('\u00a0', ' ');
      assertTrue(use, use.endsWith("root.<i> 4 GB of 4 GB, root.bob 2 GB of 4 GB"));
      String waits = browser.evaluate("document.querySelector('#waits-plot svg').ariaLabel")
          .asText().replace('\u00a0', ' ');
      assertTrue(waits, waits.endsWith("Last: longest 18 s, mean 9 s"));
      String rates = browser.evaluate("document.querySelector('#rates-plot svg').ariaLabel")
          .asText();
      assertTrue(rates, rates.endsWith("Last: granted 5, taken back 0"));
      String places = browser.evaluate("document.querySelector('#locality-plot svg').ariaLabel")
          .asText().replace('\u00a0', ' ');
      assertTrue(places, places.endsWith("on their host 75 %, on their rack 25 %, elsewhere 0 %"));
      JsonNode bad = browser.evaluate("document.querySelectorAll('#use-part i').length");
      assertFalse("a name is text", bad.asInt() > 0);
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }
}
