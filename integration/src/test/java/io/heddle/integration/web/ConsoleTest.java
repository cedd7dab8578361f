package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.cluster.Await;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;

/**
 * The console in a real browser, before a real ResourceManager with Dynamic Priority. Newest Hadoop
 * only: the page is the library's, and WebTest tests its port on every version.
 */
public class ConsoleTest extends ConsoleSite {
  /** The column of the reason for waiting. */
  private static final int WHY = 13;
  /** A queue's name that runs if a page takes it for markup. */
  private static final String HOSTILE = "<img/src=x/onerror=alert(1)>";

  // ---- What the console shows.

  @Test
  public void tablesShowWhatTheInterfaceAnswers() throws Exception {
    List<List<String>> accounts = rows("accounts");
    JsonNode queues = answered("queues").get("queues");
    int compared = 0;
    for (JsonNode queue : queues) {
      JsonNode account = queue.get("account");
      if (account.isNull()) {
        continue;
      }
      List<String> row = accounts.get(compared++);
      assertEquals(queue.get("queue").asText(), row.get(0));
      assertEquals(account.get("budget").asText(), row.get(1));
      assertEquals(account.get("rate").asText(), row.get(2));
      assertEquals(account.get("used_slots").asText(), row.get(5));
      assertEquals(account.get("pending_slots").asText(), row.get(6));
      assertEquals(account.get("last_debit").asText(), row.get(7));
      assertEquals(account.get("projection").get("ends_in_ms").isNull(),
          row.get(9).equals("does not end"));
    }
    assertEquals(accounts.size(), compared);
    assertTrue(accounts.toString(), compared >= 2);
    assertEquals("12345.5", row("accounts", "root.alice").get(1));
    assertEquals("2 GB, 2 vc", row("pools", "root.alice").get(2));
    Await.until("the job is shown", SECONDS, () -> !rows("jobs").isEmpty());
    List<String> job = rows("jobs").get(0);
    JsonNode told = answered("jobs").get("jobs").get(0);
    assertEquals(told.get("application").asText(), job.get(0));
    assertTrue(job.toString(), job.get(0).startsWith("application_"));
    assertEquals(told.get("name").asText(), job.get(1));
    assertEquals(told.get("user").asText(), job.get(2));
    assertEquals("root.bob", job.get(3));
    assertEquals(told.get("waits_for").asText(), job.get(WHY));
    assertTrue(job.toString(), job.get(WHY).startsWith("waits: "));
    assertEquals(told.get("pending").asText(), job.get(7));
    assertEquals("first", job.get(10));
    browser.evaluate("document.querySelector('#jobs td button').click()");
    browser.await("the same is explained",
        "document.querySelector('dialog li')?.textContent.includes('waits: ')");
    browser.press("Escape");
    browser.await("prices are drawn",
        "document.querySelector('#price-plot path.line')?.getAttribute('d').includes('H')");
  }

  /** Takes an administrator's actions on a queue whose name is markup. */
  @Test
  public void markupInNamesIsText() throws Exception {
    signIn("root", "the-roots-secret");
    browser.evaluate("document.getElementById('add-queue').click()");
    browser.await("it asks", "document.querySelector('dialog input[name=queue]') !== null");
    browser.type(HOSTILE);
    browser.press("Enter");
    browser.await("it asks again",
        "document.querySelector('dialog')?.textContent.includes('with no credits')");
    assertTrue(text("dialog").contains(HOSTILE));
    browser.press("Enter");
    String path = "root." + HOSTILE;
    Await.until("the queue is shown", SECONDS, () -> !row("accounts", path).isEmpty());
    assertEquals("an image of the page itself alone", 1,
        browser.evaluate("document.images.length").asInt());

    press("Add to the budget of " + path);
    browser.await("it asks", "document.activeElement?.name === 'add'");
    browser.type("5.25");
    browser.press("Enter");
    browser.await("it asks again",
        "document.querySelector('dialog')?.textContent.includes('gets 5.25 credits')");
    browser.press("Enter");
    Await.until("it has them", SECONDS, () -> row("accounts", path).get(1).equals("5.25"));
    assertEquals("5.25", account(path).get("budget").asText());

    press("Remove " + path);
    browser.await("it says what is lost",
        "document.querySelector('dialog')?.textContent.includes('5.25 credits are lost')");
    assertEquals("not what cannot be undone", "Cancel",
        browser.evaluate("document.activeElement.textContent").asText());
    browser.press("Tab");
    browser.press("Enter");
    Await.until("it is gone", SECONDS, () -> row("accounts", path).isEmpty());
  }

  /** Presses the button with this name. */
  private static void press(String name) throws Exception {
    browser.await("there is a button " + name, "document.querySelector('dialog') === null"
        + " && [...document.querySelectorAll('button')].some(b => b.ariaLabel === '" + name + "')");
    browser.evaluate("[...document.querySelectorAll('button')]"
        + ".find(b => b.ariaLabel === '" + name + "').click()");
  }

  /** Shows every text about jobs that a server may send; takes none for markup. */
  @Test
  public void markupInAnswersIsText() throws Exception {
    String bad = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    ObjectNode job = MAPPER.createObjectNode().put("job", 7).put("queue", bad)
        .put("application", bad).put("name", bad).put("user", bad)
        .put("waits_for", bad).put("priority", bad).put("running", bad);
    job.putObject("used").put(bad, 1);
    ObjectNode jobs = MAPPER.createObjectNode().putNull("next");
    jobs.putArray("jobs").add(job);
    answerInstead("*/heddle/v1/jobs*", answerOf(200, jobs.toString()));
    try {
      Await.until("the job is shown", SECONDS,
          () -> rows("jobs").stream().anyMatch(row -> row.get(WHY).equals(bad)));
      assertEquals(Arrays.asList(bad, bad, bad, bad), rows("jobs").get(0).subList(0, 4));
      assertTrue(rows("jobs").get(0).get(9).contains(bad));
      assertEquals(0, browser.evaluate("document.querySelectorAll('main img, main script').length")
          .asInt());
    } finally {
      browser.call("Fetch.disable", "{}");
    }
  }

  // ---- Signing in and changing.

  @Test
  public void aBidByKeyboardAloneChangesTheRate() throws Exception {
    String wanted = "Bid of root.alice";
    for (int i = 0; !focused().equals(wanted); i++) {
      assertTrue("not reached by Tab", i < 40);
      browser.press("Tab");
      JsonNode outline = browser.evaluate("(e => e === document.body || getComputedStyle(e)"
          + ".outlineStyle !== 'none')(document.activeElement)");
      assertTrue("the focus is not seen on " + focused(), outline.asBoolean());
    }
    browser.press("Enter");
    fillIn("alice", "alices-own-secret");
    browser.await("it asks for the rate", "document.activeElement?.name === 'rate'");
    assertEquals("2", browser.evaluate("document.activeElement.value").asText());
    for (int i = 0; i < 7; i++) {
      browser.press("Tab");
      assertTrue("Tab left the dialog", browser.evaluate(
          "document.activeElement.closest('dialog') !== null").asBoolean());
    }
    browser.evaluate("document.querySelector('dialog input').focus()");
    browser.type("-1");
    browser.press("Enter");
    browser.await("what is no amount is refused",
        "document.querySelector('dialog .problem')?.textContent.includes('Expected a number')");
    browser.type("7.5");
    browser.press("Enter");
    browser.await("it asks for a confirmation",
        "document.querySelector('dialog')?.textContent.includes('7.5 instead of 2')");
    assertEquals("nothing is changed before", "2", account("root.alice").get("rate").asText());
    browser.press("Enter");
    Await.until("the engine has the rate", SECONDS,
        () -> account("root.alice").get("rate").asText().equals("7.5"));
    Await.until("and the page", SECONDS,
        () -> row("accounts", "root.alice").get(2).equals("7.5"));
    browser.await("the focus is back", "document.activeElement.ariaLabel === '" + wanted + "'");
    browser.press("Enter");
    browser.await("it asks again", "document.activeElement?.name === 'rate'");
    browser.press("Escape");
    browser.await("Escape closes", "document.querySelector('dialog') === null");
    assertEquals(wanted, focused());
    // The other tests begin with the configured rate.
    browser.evaluate("document.activeElement.click()");
    browser.await("it asks again", "document.activeElement?.name === 'rate'");
    browser.type("2");
    browser.press("Enter");
    browser.await("it asks for a confirmation",
        "document.querySelector('dialog')?.textContent.includes('2 instead of 7.5')");
    browser.press("Enter");
    Await.until("as it was", SECONDS,
        () -> account("root.alice").get("rate").asText().equals("2"));
  }

  /** Asks what slots would cost, with keys only; the bid is a separate question. */
  @Test
  public void adviceIsAskedForByKeys() throws Exception {
    String wanted = "What slots cost root.alice";
    browser.evaluate("[...document.querySelectorAll('button')]"
        + ".find(b => b.ariaLabel === '" + wanted + "').focus()");
    browser.press("Enter");
    browser.await("it asks", "document.activeElement?.name === 'slots'");
    for (String none : new String[] {"0", "-1", "1.5", "x", "4294967296"}) {
      browser.type(none);
      browser.press("Enter");
      browser.await(none + " is refused",
          "document.querySelector('dialog .problem')?.textContent.includes('whole number')");
      browser.evaluate("document.querySelector('dialog .problem').textContent = ''");
    }
    browser.type("1");
    browser.press("Enter");
    browser.await("it answers",
        "document.querySelector('dialog')?.textContent.includes('It must bid ')");
    JsonNode advice = answered("queues/root.alice/advice?slots=1");
    String told = text("dialog").replace('\u00a0', ' ');
    assertTrue(told, told.contains("It must bid " + advice.get("bid").asText() + " per slot"));
    assertEquals("Bid that…",
        browser.evaluate("document.activeElement.textContent").asText());
    browser.press("Escape");
    browser.await("Escape closes", "document.querySelector('dialog') === null");
    browser.await("the focus is back", "document.activeElement.ariaLabel === '" + wanted + "'");
    browser.press("Enter");
    browser.await("it asks", "document.activeElement?.name === 'slots'");
    browser.type("1000000");
    browser.press("Enter");
    browser.await("it says why not", "document.querySelector('dialog')"
        + "?.textContent.includes('slots of that kind')");
    assertEquals("Close", browser.evaluate("document.activeElement.textContent").asText());
    browser.press("Enter");
    browser.await("Enter closes", "document.querySelector('dialog') === null");
    assertEquals("nothing was bid", "2", account("root.alice").get("rate").asText());
  }

  private static String focused() throws Exception {
    return browser.evaluate("document.activeElement?.ariaLabel ?? ''").asText();
  }

  @Test
  public void aWrongSecretIsRefusedAndSaid() throws Exception {
    browser.evaluate("document.getElementById('sign').click()");
    fillIn("root", "not-the-secret");
    browser.await("the error is shown",
        "document.querySelector('dialog .problem')?.hidden === false");
    assertTrue(text("dialog .problem"), text("dialog .problem").length() > 10);
    assertEquals("Not signed in", text("#user"));
    assertEquals("true", browser.evaluate("String(localStorage.length === 0"
        + " && sessionStorage.length === 0 && !document.cookie.includes('secret'))").asText());
    browser.press("Escape");
    // The browser itself reports a status of 401 on its console.
    List<String> complaints = browser.takeComplaints();
    assertTrue(complaints.toString(), complaints.stream().allMatch(each -> each.contains("401")));
  }

  // ---- Signatures: RFC 4231, section 4, and the example of canonical.rs.

  @Test
  public void signaturesAreTheStandards() throws Exception {
    String ascii = "text => Uint8Array.from(text, char => char.charCodeAt(0))";
    String[][] vectors = {
      {"'\\x0b'.repeat(20)", "'Hi There'",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"'Jefe'", "'what do ya want for nothing?'",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {"'\\xaa'.repeat(20)", "'\\xdd'.repeat(50)",
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {"'\\xaa'.repeat(131)", "'Test Using Larger Than Block-Size Key - Hash Key First'",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {"'\\xaa'.repeat(131)", "'This is a test using a larger than block-size key and a larger"
        + " than block-size data. The key needs to be hashed before being used by the HMAC"
        + " algorithm.'", "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    for (String[] vector : vectors) {
      assertEquals(vector[2], browser.evaluate("import('/heddle/sign.js').then(sign => { const b = "
          + ascii + "; return sign.hex(sign.hmac(b(" + vector[0] + "), b(" + vector[1] + "))); })")
          .asText());
    }
    String header = browser.evaluate("import('/heddle/sign.js').then(sign => sign.header("
        + "sign.utf8('a secret of thirty-two bytes ...'), 'alice@EXAMPLE', {method: 'POST',"
        + " path: '/heddle/v1/queues/root.alice/rate', query: 'dry=false',"
        + " body: '{\"rate\":\"0.5\"}'}, {timestampMs: 1700000000000, expiresMs: 1700000060000,"
        + " nonce: 'Zm9vYmFyYmF6cXV4'}))").asText();
    assertTrue(header, header.endsWith("signature="
        + "5a9524f473a6ecd22d86cec2b58d25df96f06d8d5f6c655e31845464d3778ad2"));
  }

  // ---- Looks, and an absent server.

  @Test
  public void aPhoneScrollsInOneDirectionOnly() throws Exception {
    browser.call("Emulation.setDeviceMetricsOverride",
        "{\"width\": 360, \"height\": 740, \"deviceScaleFactor\": 1, \"mobile\": true}");
    browser.await("it is as narrow as a phone", "innerWidth === 360");
    assertEquals(360, browser.evaluate("document.documentElement.scrollWidth").asInt());
    assertEquals("what is cut off", "[]", browser.evaluate("JSON.stringify([...document"
        + ".querySelectorAll('main *')].filter(e => !e.closest('.unseen, thead, svg')"
        + " && e.getBoundingClientRect().right > 360.5).map(e => e.outerHTML.slice(0, 90)))")
        .asText());
  }

  @Test
  public void everyTextCanBeReadInLightAndDark() throws Exception {
    for (String scheme : new String[] {"light", "dark"}) {
      browser.call("Emulation.setEmulatedMedia", "{\"features\": [{\"name\":"
          + " \"prefers-color-scheme\", \"value\": \"" + scheme + "\"}]}");
      JsonNode found = browser.evaluate(CONTRASTS);
      assertTrue(found.toString(), found.get("count").asInt() > 40);
      assertEquals(scheme + ": texts with less than 4.5", "[]", found.get("low").toString());
      boolean dark = found.get("ground").asInt() < 128;
      assertEquals(scheme, scheme.equals("dark"), dark);
    }
    browser.call("Emulation.setEmulatedMedia", "{\"features\": []}");
  }

  /** WCAG 2.1, 1.4.3: each element with a text of its own, against its background. */
  private static final String CONTRASTS = "(() => {"
      + "const rgb = text => text.match(/[\\d.]+/g).map(Number);"
      + "const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;"
      + "const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);"
      + "const behind = e => { for (; e; e = e.parentElement) {"
      + "  const c = rgb(getComputedStyle(e).backgroundColor);"
      + "  if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };"
      + "const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);"
      + "  return (x + 0.05) / (y + 0.05); };"
      + "const low = []; let count = 0;"
      + "for (const e of document.querySelectorAll('body *')) {"
      + "  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());"
      + "  if (!own || !e.getClientRects().length || e.closest('.skip, .unseen')) continue;"
      + "  const style = getComputedStyle(e);"
      + "  const text = rgb(e instanceof SVGElement ? style.fill : style.color);"
      + "  const grounds = [behind(e)];"
      + "  const bar = style.backgroundImage.match(/rgba?\\([^)]*\\)/);"
      + "  if (bar) grounds.push(rgb(bar[0]));"
      + "  count++;"
      + "  for (const ground of grounds) if (ratio(text, ground) < 4.5)"
      + "    low.push(e.outerHTML.slice(0, 80) + ' ' + text + ' on ' + ground); }"
      + "return {count, low, ground: behind(document.body)[0]}; })()";

  @Test
  public void aServerThatFailsTakesNothingFromTheScreen() throws Exception {
    List<List<String>> before = rows("accounts");
    answerInstead("*/heddle/v1/*", "\"responseCode\": 503");
    try {
      browser.await("it says so", "document.getElementById('problem').hidden === false"
          + " && document.getElementById('problem').textContent.includes('503')");
      assertEquals(before.size(), rows("accounts").size());
      assertEquals(before.get(0).get(0), rows("accounts").get(0).get(0));
      assertFalse(rows("pools").isEmpty());
      browser.call("Fetch.disable", "{}");
      browser.await("it goes on", "document.getElementById('problem').hidden");
      browser.call("Network.emulateNetworkConditions", "{\"offline\": true, \"latency\": 0,"
          + " \"downloadThroughput\": 0, \"uploadThroughput\": 0}");
      browser.await("it says so", "document.getElementById('problem').hidden === false");
      assertEquals(before.size(), rows("accounts").size());
    } finally {
      browser.call("Fetch.disable", "{}");
      browser.call("Network.emulateNetworkConditions", "{\"offline\": false, \"latency\": 0,"
          + " \"downloadThroughput\": -1, \"uploadThroughput\": -1}");
    }
    browser.await("it goes on", "document.getElementById('problem').hidden");
    // The browser itself reports failed requests on its console.
    List<String> complaints = browser.takeComplaints();
    assertTrue(complaints.toString(), complaints.stream().allMatch(
        each -> each.contains("503") || each.contains("ERR_INTERNET_DISCONNECTED")));
  }
}
