package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.cluster.Await;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.Test;

/**
 * The console's views by user, and how it reads: columns, links, times, actions, and what remains
 * after signing out. Newest Hadoop only.
 */
public class ConsoleViewTest extends ConsoleSite {
  // ---- Reading.

  /** Finds cells whose words break over several lines. */
  private static final String BROKEN = "JSON.stringify([...document.querySelectorAll("
      + "'#jobs .value, #accounts .value, #pools .value')].filter(e => e.offsetParent)"
      + ".flatMap(e => { const text = e.firstChild; if (!text) return [];"
      + "  return [...text.data.matchAll(/\\S+/g)].filter(word => {"
      + "    const range = document.createRange(); range.setStart(text, word.index);"
      + "    range.setEnd(text, word.index + word[0].length);"
      + "    return range.getClientRects().length > 1; }).map(word => word[0]); }))";

  @Test
  public void noWordIsBrokenAndTheTimeIsThatOfADay() throws Exception {
    Await.until("the job is shown", SECONDS, () -> !rows("jobs").isEmpty());
    for (int width : new int[] {1400, 1280, 1920}) {
      browser.call("Emulation.setDeviceMetricsOverride", "{\"width\": " + width
          + ", \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}");
      browser.await("it is as wide", "innerWidth === " + width);
      assertEquals(width + " px", "[]", browser.evaluate(BROKEN).asText());
      assertTrue("the page itself stands still", browser.evaluate(
          "document.documentElement.scrollWidth <= innerWidth").asBoolean());
    }
    String state = text("#state");
    assertTrue(state, state.matches(
        "Up to date, 20\\d\\d-\\d\\d-\\d\\d ([01]\\d|2[0-3]):\\d\\d:\\d\\d"));
    String[][] credits = {{"12345.678912", "12345.67"}, {"7", "7"}, {"1.000001", "1"},
        {"0.000001", "0.000001"}, {"-0.25", "-0.25"}, {"-3.999999", "-3.99"}, {"20.5", "20.5"}};
    for (String[] amount : credits) {
      assertEquals(amount[1], browser.evaluate("import('/heddle/page.js').then(page => page.about('"
          + amount[0] + "'))").asText().replace("\u202f", ""));
    }
    assertEquals("all of it for a pointer", "12345.5", browser.evaluate("document.querySelector("
        + "'#accounts [data-key=\"root.alice\"] .value[title]').title").asText()
        .replace("\u202f", ""));
  }

  /** A phone has no pointer that a tooltip could wait for. */
  @Test
  public void expectedTimesHaveTheirBands() throws Exception {
    Await.until("the job is shown", SECONDS, () -> !rows("jobs").isEmpty());
    ObjectNode jobs = (ObjectNode) answered("jobs");
    long now = System.currentTimeMillis();
    ObjectNode prediction = ((ObjectNode) jobs.get("jobs").get(0)).putObject("prediction");
    prediction.putObject("start").put("earliest_ms", now).put("expected_ms", now + 60_000)
        .put("latest_ms", now + 600_000).put("calibrated", true);
    prediction.putObject("end").put("earliest_ms", now).put("expected_ms", now + 60_000)
        .put("latest_ms", now + 600_001).put("calibrated", false);
    answerInstead("*/heddle/v1/jobs*", answerOf(200, jobs.toString()));
    try {
      String exact = "\\d\\d:\\d\\d:\\d\\d";
      Await.until("a narrow band is exact", SECONDS, () -> rows("jobs").get(0).get(11)
          .matches(exact + " \\(" + exact + " – " + exact + "\\)"));
      String end = rows("jobs").get(0).get(12);
      assertTrue("a wide one is short: " + end,
          end.matches("\\d\\d:\\d\\d\\? \\(\\d\\d:\\d\\d – \\d\\d:\\d\\d\\)"));
      for (int width : new int[] {360, 1280}) {
        browser.call("Emulation.setDeviceMetricsOverride", "{\"width\": " + width
            + ", \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}");
        browser.await("it is as wide", "innerWidth === " + width);
        assertEquals(width + " px", "[]", browser.evaluate(BROKEN.replace("#jobs .value",
            "#jobs td:nth-child(12) .value, #jobs td:nth-child(13) .value")).asText());
        assertTrue("the page itself stands still", browser.evaluate(
            "document.documentElement.scrollWidth <= innerWidth").asBoolean());
      }
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }

  /** Health with status 503 is shown. */
  @Test
  public void healthIsShownWhateverItsStatus() throws Exception {
    ObjectNode health = (ObjectNode) answered("health");
    health.put("status", "down").put("engine", false).put("journal", "stopped")
        .put("books", "unreachable");
    answerInstead("*/heddle/v1/health", answerOf(503, health.toString()));
    try {
      browser.await("the reasons are shown",
          "document.getElementById('summary').textContent.includes('Enginedoes not answer')");
      String summary = text("#summary");
      assertTrue(summary, summary.contains("Journalstopped"));
      for (String fault : new String[] {"Engine", "Journal"}) {
        assertTrue(fault, bad().contains(fault));
      }
      assertTrue(summary, summary.contains("Accounts keptunreachable"));
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    browser.await("it is well again",
        "document.getElementById('summary').textContent.includes('Engineruns')");
    List<String> complaints = browser.takeComplaints();
    assertTrue(complaints.toString(), complaints.stream().allMatch(each -> each.contains("503")));
  }

  /** Returns the facts at the top that are shown as faults. */
  private static String bad() throws Exception {
    return browser.evaluate("[...document.querySelectorAll('#summary .bad')]"
        + ".map(each => each.textContent).join(', ')").asText();
  }

  /** The engine runs, and yet nothing starts. */
  @Test
  public void whatKeepsJobsFromRunningIsSaidAtTheTop() throws Exception {
    browser.await("the node is there",
        "document.querySelector('#nodes path:not(.chosen)') !== null");
    assertEquals("", bad());
    ObjectNode list = (ObjectNode) answered("jobs");
    for (int i = 7; i < 9; i++) {
      list.withArray("aside").addObject().put("job", i).put("application", "application_1_000" + i)
          .put("user", "alice").put("name", "wc").put("queue", "root.alice")
          .put("reason", "it failed");
    }
    answerInstead("*/heddle/v1/jobs*", answerOf(200, list.toString()));
    try {
      browser.await("the jobs are counted", "document.querySelector('#summary .bad')?.textContent"
          + " === 'Needs attention2 jobs put aside'");
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    ObjectNode nodes = (ObjectNode) answered("nodes");
    nodes.withArray("nodes").removeAll();
    answerInstead("*/heddle/v1/nodes*", answerOf(200, nodes.toString()));
    try {
      browser.await("no node is up", "document.querySelector('#summary .bad')?.textContent"
          + " === 'Needs attentionno node is up, so nothing can start'");
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    browser.await("it is well again", "!document.querySelector('#summary .bad')");
  }

  /** What is not as a stock scheduler's file says: the log alone would have it. */
  @Test
  public void warningsAboutTheConfigurationAreSaidAtTheTop() throws Exception {
    ObjectNode health = (ObjectNode) answered("health");
    assertEquals(0, health.get("warnings").asInt());
    health.put("warnings", 5);
    ObjectNode inForce = (ObjectNode) answered("configuration");
    for (String line : new String[] {"one", "two", "three", "four", "five"}) {
      inForce.withArray("warnings").add("fair.xml: queue root." + line + " does not exist");
    }
    String bad = "document.querySelector('#summary .bad')?.textContent";
    answerInstead("*/heddle/v1/health*", answerOf(200, health.toString()));
    try {
      browser.await("they are counted", bad + " === 'Configuration5 warnings'");
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    browser.await("it is well again", "!document.querySelector('#summary .bad')");
    answerInstead(Map.of("*/heddle/v1/health", answerOf(200, health.toString()),
        "*/heddle/v1/configuration", answerOf(200, inForce.toString())));
    try {
      browser.await("the first are shown", bad + "?.startsWith('Configurationfair.xml: queue"
          + " root.one does not exist; ') && " + bad + ".endsWith('; 2 more warnings')");
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }

  /**
   * YARN has a page of every application; the console links to its other pages, and they link back.
   */
  @Test
  public void applicationsAndPagesOfYarnAreLedTo() throws Exception {
    Await.until("the job is shown", SECONDS, () -> !rows("jobs").isEmpty());
    String application = rows("jobs").get(0).get(0);
    JsonNode links = browser.evaluate("[...document.querySelectorAll('#jobs a, nav a')]"
        + ".map(a => a.getAttribute('href'))");
    List<String> targets = new ArrayList<>();
    links.forEach(link -> targets.add(link.asText()));
    for (String path : Arrays.asList("/cluster/app/" + application, "/cluster",
        "/cluster/apps", "/cluster/nodes", "/cluster/scheduler")) {
      assertTrue(path + " is not in " + targets, targets.contains(path));
      int status = manager.get(path + "?user.name=root").status;
      assertTrue(path + ": " + status, status == 200 || status == 302);
    }
    assertTrue(manager.get("/cluster/scheduler?user.name=root").body
        .contains("<a href=\"/heddle/\">"));
  }

  // ---- Who sees what.

  private static String buttons() throws Exception {
    return browser.evaluate("JSON.stringify([...document.querySelectorAll('#market button')]"
        + ".filter(b => b.offsetParent).map(b => b.textContent))").asText();
  }

  @Test
  public void actionsOfAdministratorsAreShownToThem() throws Exception {
    assertTrue(buttons(), buttons().contains("Add a queue") && buttons().contains("Remove"));
    signIn("alice", "alices-own-secret");
    Await.until("no more than hers", SECONDS, () -> rows("accounts").size() == 1);
    assertEquals("[\"Slots…\",\"Bid…\"]", buttons());
    // The browser's own user may do more, and sees everything again.
    browser.evaluate("document.getElementById('sign').click()");
    Await.until("those of root", SECONDS, () -> buttons().contains("Add a queue"));
  }

  /** Signing out removes what a user saw from the screen. */
  @Test
  public void nothingIsLeftAfterSigningOut() throws Exception {
    signIn("root", "the-roots-secret");
    Await.until("the tables are there", SECONDS,
        () -> !rows("accounts").isEmpty() && !rows("jobs").isEmpty() && !rows("pools").isEmpty());
    answerInstead("*/heddle/v1/*", "\"responseCode\": 401");
    try {
      browser.await("the server wants a signature",
          "document.getElementById('problem').hidden === false");
      assertFalse("a failure takes nothing away", rows("pools").isEmpty());
      browser.evaluate("document.getElementById('sign').click()");
      for (String id : new String[] {"accounts", "jobs", "pools"}) {
        assertEquals(id, Collections.emptyList(), rows(id));
      }
      assertEquals("", text("#summary"));
      String left = browser.evaluate("document.querySelector('main').outerHTML").asText();
      for (String name : new String[] {"root.alice", "root.bob", "12345", "application_"}) {
        assertFalse(left, left.contains(name));
      }
      browser.await("it asks to sign in", "document.getElementById('problem').textContent"
          + ".includes('sign in to see queues and jobs')");
      assertEquals("Not signed in", text("#user"));
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    List<String> complaints = browser.takeComplaints();
    assertTrue(complaints.toString(), complaints.stream().allMatch(each -> each.contains("401")));
  }

  /** The rest is useful under every policy; without accounts, none are shown or asked for. */
  @Test
  public void aPolicyWithoutAccountsShowsNone() throws Exception {
    ObjectNode queues = (ObjectNode) answered("queues");
    queues.putNull("allocation_interval_ms");
    queues.get("queues").forEach(row -> ((ObjectNode) row).putNull("account"));
    answerInstead("*/heddle/v1/queues", answerOf(200, queues.toString()));
    try {
      browser.open(address + "/heddle/?user.name=root&again");
      browser.await("the pools are shown", "location.search.endsWith('again')"
          + " && document.querySelectorAll('#pools tbody tr').length > 0"
          + " && document.querySelectorAll('#jobs tbody tr').length > 0");
      int before = browser.requests().size();
      Await.until("it has asked for all again", SECONDS, () -> browser.requests().stream()
          .skip(before).filter(url -> url.endsWith("/queues")).count() > 1);
      assertFalse(text("#summary"), text("#summary").contains("Accounts kept"));
      assertFalse(text("#summary"), text("#summary").contains("Price"));
      assertEquals("[]", buttons());
      List<String> asked = browser.requests();
      for (String url : asked.subList(before, asked.size())) {
        assertFalse(url, url.contains("/price") || url.contains("/ledger"));
      }
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }

  // ---- Control.

  private static void press(String selector, String condition) throws Exception {
    browser.await("it can be pressed", "document.querySelector('" + selector + "')?.offsetParent"
        + " && !document.querySelector('" + selector + "').disabled");
    browser.evaluate("document.querySelector('" + selector + "').click()");
    browser.await(condition, condition);
  }

  private static String titled(String title) {
    return "document.querySelector('dialog h2')?.textContent === '" + title + "'";
  }

  @Test
  public void aConfigurationIsPlannedAppliedAndRolledBack() throws Exception {
    signIn("root", "the-roots-secret");
    browser.await("the file is shown",
        "document.getElementById('configuration-text').textContent.includes('root.alice')");
    String first = text("#configuration-text");
    assertEquals(first, answered("configuration/file").path("text").asText());
    press("#plan", titled("Plan a configuration"));
    assertEquals("the text is there to be changed", first,
        browser.evaluate("document.querySelector('dialog textarea').value").asText());
    browser.evaluate("document.querySelector('dialog textarea').value = '{\"policy\": 7}'");
    press("dialog button.primary", "document.querySelector('dialog .problem').hidden === false");
    assertTrue(text("dialog .problem"), text("dialog .problem").contains("policy"));
    browser.evaluate("{ const area = document.querySelector('dialog textarea'); area.value = "
        + "document.getElementById('configuration-text').textContent"
        + ".replace('\"queues\"', '\"explain\": {\"entries\": 8}, \"queues\"')"
        + ".replace('12345.5,', '12345.5, \"weight\": 3,'); }");
    press("dialog button.primary", titled("What it would change"));
    assertTrue(text("dialog"), text("dialog").contains("The policy stays dynamic-priority/"));
    picture("console-plan", "dialog");
    press("dialog button.primary", titled("Apply the configuration?"));
    press("dialog button.primary", "document.querySelector('dialog') === null");
    Await.until("it is in force, and kept", SECONDS,
        () -> text("#configuration-text").contains("\"weight\": 3"));
    assertEquals(text("#configuration-text"), answered("configuration/file").path("text").asText());
    press("#rollback", titled("What a roll back would change"));
    press("dialog button.primary", titled("Roll back?"));
    press("dialog button.primary", "document.querySelector('dialog') === null");
    Await.until("the first is back", SECONDS, () -> text("#configuration-text").equals(first));
    // The refused text was answered with 400, which the browser writes down.
    List<String> complaints = browser.takeComplaints();
    assertTrue(complaints.toString(), complaints.stream().allMatch(each -> each.contains("400")));
  }

  /** A plan may take long: the page goes on beneath, and a dialog that is left ends it. */
  @Test
  public void aLongPlanHoldsNothingUp() throws Exception {
    signIn("root", "the-roots-secret");
    press("#plan", titled("Plan a configuration"));
    browser.evaluate("{ window.limits = []; const set = setTimeout; window.setTimeout ="
        + " (call, ms) => { limits.push(ms); return set(call, ms); };"
        + " const get = fetch; window.fetch = (url, options) => {"
        + " if (`${url}`.endsWith('/plan')) window.planned = options.signal;"
        + " return get(url, options); }; }");
    // Nothing answers.
    browser.listen("Fetch.requestPaused", paused -> { });
    browser.call("Fetch.enable", "{\"patterns\": [{\"urlPattern\": \"*/heddle/v1/plan\"}]}");
    try {
      press("dialog button.primary",
          "document.querySelector('dialog [role=status]').textContent.startsWith('Waiting')");
      assertTrue("a longer limit", browser.evaluate("limits.includes(120000)").asBoolean());
      int asked = browser.requests().size();
      Await.until("two more rounds", SECONDS, () -> browser.requests().stream().skip(asked)
          .filter(url -> url.endsWith("/queues")).count() >= 2);
      browser.press("Escape");
      browser.await("Escape closes", "document.querySelector('dialog') === null");
      assertTrue("and cancels", browser.evaluate("planned.aborted").asBoolean());
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    press("#plan", titled("Plan a configuration"));
    press("dialog button.primary", titled("What it would change"));
    browser.press("Escape");
  }

  @Test
  public void theShadowIsShownToAdministrators() throws Exception {
    String report = "{\"state\": \"on\", \"name\": \"<b>next.json\", \"why\": null,"
        + " \"waiting_bytes\": 0, \"report\": {\"policy\": [\"fair\", \"hfsp\", \"delay\"],"
        + " \"since_ms\": 1700000000000, \"now_ms\": 1700000100000, \"grants\": [9, 8],"
        + " \"preemptions\": [0, 2], \"refused\": 0, \"queues\": [{\"path\": \"root.alice\","
        + " \"used_mb\": [1024, 3072], \"mean_mb\": [512, 2048]}], \"ended\": {\"start\":"
        + " {\"earlier\": 0, \"later\": 0, \"equal\": 4, \"live_mean_ms\": 1,"
        + " \"shadow_mean_ms\": 1}, \"end\": {\"earlier\": 1, \"later\": 0, \"equal\": 3,"
        + " \"live_mean_ms\": 60000, \"shadow_mean_ms\": 30000}, \"ran_before\": 0},"
        + " \"jobs\": [{\"job\": 3, \"application\": \"application_1700000000000_0003\","
        + " \"submitted_ms\": 1700000000000, \"queue\": \"root.bob\","
        + " \"start_ms\": [5000, 1000], \"end_ms\": [90000, null]}],"
        + " \"running\": [{\"job\": 4, \"submitted_ms\": 1700000090000, \"queue\": \"root.alice\","
        + " \"start_ms\": [null, 2000]}]}}";
    assertTrue("there is none", browser.evaluate(
        "document.getElementById('shadow-part').hidden").asBoolean());
    answerInstead("*/heddle/v1/shadow", answerOf(200, report));
    try {
      Await.until("the shadow is shown", SECONDS, () -> !rows("shadow-queues").isEmpty());
      picture("console-shadow", "#shadow-part");
      assertEquals(Arrays.asList("root.alice", "1 GB", "3 GB", "512 MB", "2 GB"),
          rows("shadow-queues").get(0));
      List<String> job = rows("shadow-jobs").get(0);
      assertEquals("application_1700000000000_0003", job.get(0));
      assertEquals("root.bob", job.get(2));
      assertEquals("5 s → 1 s", job.get(3));
      assertEquals("1 min 30 s → –", job.get(4));
      List<String> running = rows("shadow-running").get(0);
      assertEquals("job#4", running.get(0));
      assertEquals("root.alice", running.get(2));
      assertEquals("– → 2 s", running.get(3));
      String note = text("#shadow-note").replace('\u00a0', ' ');
      assertTrue(note, note.startsWith("<b>next.json, fair/hfsp/delay, since "));
      assertTrue(note, note.contains("Of 4 jobs that ended in both, 1 would have ended earlier"));
      assertTrue(note, note.contains("Mean time 1 min 0 s → 30 s; preemptions 0 → 2."));
    } finally {
      browser.call("Fetch.disable", "{}");
    }
    Await.until("it has gone", SECONDS, () -> browser.evaluate(
        "document.getElementById('shadow-part').hidden").asBoolean());
    signIn("alice", "alices-own-secret");
    Await.until("not for users", SECONDS, () -> browser.evaluate(
        "document.getElementById('configuration-part').hidden").asBoolean());
  }
}
