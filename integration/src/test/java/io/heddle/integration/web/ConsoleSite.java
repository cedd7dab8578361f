package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ClientRMService;
import org.apache.hadoop.yarn.util.Records;
import org.junit.After;
import org.junit.AfterClass;
import org.junit.Before;
import org.junit.BeforeClass;

/**
 * Shared by the console's tests: a real ResourceManager with Dynamic Priority, two queues and a
 * waiting job, and its console in a real browser.
 */
abstract class ConsoleSite {
  static final int SECONDS = 300;
  private static final String ACL =
      "alice user alices-own-secret\nroot admin the-roots-secret\n";
  static final String SHOWN = "!document.querySelector('#accounts table').hidden";
  static final ObjectMapper MAPPER = new ObjectMapper();

  static MiniManager manager;
  static Browser browser;
  static String address;

  @BeforeClass
  public static void start() throws Exception {
    Path folder = Files.createTempDirectory("console");
    Path acl = folder.resolve("acl");
    Files.createFile(acl,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.write(acl, ACL.getBytes(StandardCharsets.UTF_8));
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    MiniManager.heddleJson(conf, folder, "{\"policy\": \"dynamic-priority\","
        + " \"dynamic_priority\": {\"allocation_interval_ms\": 1000},"
        + " \"api\": {\"acl_file\": \"" + acl + "\", \"acl_settle_ms\": 0,"
        + "   \"trust_web_user\": true},"
        + " \"queues\": [{\"path\": \"root.alice\", \"budget\": 12345.5, \"spending_rate\": 2,"
        + "   \"min_share\": {\"memory-mb\": 2048, \"vcores\": 2}},"
        + "   {\"path\": \"root.bob\", \"budget\": 1000, \"spending_rate\": 0.25}]}");
    MiniManager.siteFile(conf, folder);
    manager = MiniManager.start(conf, folder);
    address = "http://" + conf.get(YarnConfiguration.RM_WEBAPP_ADDRESS);
    Await.until("the console is served", SECONDS, () -> manager.get("/heddle/").status == 200);
    submit("root.bob", "<script>alert(1)</script>");
    browser = Browser.start();
  }

  /** Submits a waiting job: the node never reports, so its ApplicationMaster gets no room. */
  static void submit(String queue, String name) throws Exception {
    ClientRMService service = manager.manager.getClientRMService();
    ApplicationSubmissionContext job = Records.newRecord(ApplicationSubmissionContext.class);
    job.setApplicationId(service.getNewApplication(
        Records.newRecord(GetNewApplicationRequest.class)).getApplicationId());
    job.setApplicationName(name);
    job.setQueue(queue);
    job.setResource(Resource.newInstance(1024, 1));
    job.setAMContainerSpec(Records.newRecord(ContainerLaunchContext.class));
    service.submitApplication(SubmitApplicationRequest.newInstance(job));
  }

  @AfterClass
  public static void stop() {
    if (browser != null) {
      browser.close();
    }
    if (manager != null) {
      manager.close();
    }
  }

  /** The ResourceManager's own authentication trusts the name, and gives a cookie for it. */
  @Before
  public void open() throws Exception {
    browser.call("Emulation.setDeviceMetricsOverride",
        "{\"width\": 1280, \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}");
    browser.open(address + "/heddle/?user.name=root");
    browser.await("the accounts are shown", SHOWN);
  }

  @After
  public void nothingRanAndNothingWasBroken() {
    assertEquals(Collections.emptyList(), browser.takeComplaints());
    for (String url : browser.requests()) {
      assertTrue(url, url.startsWith(address + "/heddle/") || url.equals("about:blank"));
    }
  }

  /** Returns the texts of a table, row by row, without the blanks between digits. */
  static List<List<String>> rows(String id) throws Exception {
    JsonNode rows = browser.evaluate("[...document.querySelectorAll('#" + id + " tbody tr')]"
        + ".map(row => [...row.children].map(cell => cell.textContent))");
    List<List<String>> texts = new ArrayList<>();
    for (JsonNode row : rows) {
      List<String> cells = new ArrayList<>();
      row.forEach(cell -> cells.add(cell.asText().replaceAll("(?<=\\d)[\\u202f,](?=\\d)", "")
          .replace('\u00a0', ' ')));
      texts.add(cells);
    }
    return texts;
  }

  /** Returns the row with that name; empty if there is none. */
  static List<String> row(String id, String name) throws Exception {
    return rows(id).stream().filter(row -> row.get(0).equals(name)).findFirst()
        .orElse(Collections.emptyList());
  }

  static JsonNode answered(String path) throws Exception {
    return browser.evaluate(
        "fetch('/heddle/v1/" + path + "').then(answer => answer.json())");
  }

  static JsonNode account(String queue) throws Exception {
    for (JsonNode row : answered("queues").get("queues")) {
      if (row.get("queue").asText().equals(queue)) {
        return row.get("account");
      }
    }
    throw new AssertionError("no queue " + queue);
  }

  static String text(String selector) throws Exception {
    return browser.evaluate("document.querySelector('" + selector + "')?.textContent ?? ''")
        .asText();
  }

  /** Returns an answer for {@link #answerInstead}. */
  static String answerOf(int status, String body) {
    return "\"responseCode\": " + status + ", \"body\": \"" + Base64.getEncoder()
        .encodeToString(body.getBytes(StandardCharsets.UTF_8)) + "\"";
  }

  /** Answers such requests with this from now on, instead of the server. */
  static void answerInstead(String pattern, String answer) throws Exception {
    answerInstead(Collections.singletonMap(pattern, answer));
  }

  /** Answers requests by their patterns. */
  static void answerInstead(Map<String, String> answers) throws Exception {
    browser.listen("Fetch.requestPaused", paused -> {
      try {
        String url = paused.path("request").path("url").asText();
        for (Map.Entry<String, String> each : answers.entrySet()) {
          if (url.contains(each.getKey().replace("*", ""))) {
            browser.send("Fetch.fulfillRequest", "{\"requestId\": " + paused.get("requestId")
                + ", " + each.getValue() + "}");
            return;
          }
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    });
    browser.call("Fetch.enable", "{\"patterns\": [{\"urlPattern\": \""
        + String.join("\"}, {\"urlPattern\": \"", answers.keySet()) + "\"}]}");
  }

  /** Keeps a picture of an element, if HEDDLE_PICTURES names a folder for them. */
  static void picture(String name, String selector) throws Exception {
    String folder = System.getenv("HEDDLE_PICTURES");
    if (folder != null) {
      JsonNode clip = browser.evaluate("(() => { const {x, y, width, height} ="
          + " document.querySelector('" + selector + "').getBoundingClientRect();"
          + " return {x: x + scrollX, y: y + scrollY, width, height, scale: 1}; })()");
      JsonNode taken = browser.call("Page.captureScreenshot",
          "{\"format\": \"png\", \"captureBeyondViewport\": true, \"clip\": " + clip + "}");
      byte[] png = Base64.getDecoder().decode(taken.path("data").asText());
      Files.write(Paths.get(folder, name + ".png"), png);
    }
  }

  /** Fills the open dialog. */
  static void fillIn(String user, String secret) throws Exception {
    browser.await("it asks who", "document.activeElement?.name === 'user'");
    browser.type(user);
    browser.press("Tab");
    assertEquals("secret", browser.evaluate("document.activeElement.name").asText());
    browser.type(secret);
    browser.press("Enter");
  }

  static void signIn(String user, String secret) throws Exception {
    browser.evaluate("document.getElementById('sign').click()");
    fillIn(user, secret);
    browser.await("signed in", "document.getElementById('user').textContent === '" + user + "'");
  }
}
