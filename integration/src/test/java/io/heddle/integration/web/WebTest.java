package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.web.MiniManager.Reply;
import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.web.WebHandler;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

/**
 * Compares Heddle's answers on the ResourceManager's port with those of the stock Fair scheduler of
 * the same Hadoop for an equal tree of queues. Checks that nothing else on the port changes.
 */
public class WebTest {
  private static final String INFO = "/ws/v1/cluster/scheduler";
  private static final String PAGE = "/cluster/scheduler";
  private static final String JSON = "application/json";
  private static final String XML = "application/xml";

  // Two parents, four leaves, and `default`, which 3.3.6 always has.
  private static final String STOCK_QUEUES = "<allocations><queue name='default'/>"
      + "<queue name='batch'><weight>2.0</weight>"
      + "<queue name='daily'><minResources>1024 mb,1 vcores</minResources>"
      + "<maxResources>4096 mb,4 vcores</maxResources></queue><queue name='nightly'/></queue>"
      + "<queue name='people'><maxRunningApps>7</maxRunningApps><queue name='ana'/></queue>"
      + "<queue name='zebra'/></allocations>";
  private static final String HEDDLE_QUEUES = "{\"queues\": [{\"path\": \"root.default\"},"
      + "{\"path\": \"root.batch\", \"weight\": 2.0},"
      + "{\"path\": \"root.batch.daily\", \"min_share\": {\"memory-mb\": 1024, \"vcores\": 1},"
      + " \"max_share\": {\"memory-mb\": 4096, \"vcores\": 4}},"
      + "{\"path\": \"root.batch.nightly\"}, {\"path\": \"root.people\","
      + " \"max_running_jobs\": 7}, {\"path\": \"root.people.ana\"}, {\"path\": \"root.zebra\"}]}";

  /** Accept headers to which every Hadoop answers with one of the two types. */
  private static final String[] ACCEPTED = {"*/*", JSON, XML, "application/*", "APPLICATION/JSON",
      XML + ", " + JSON, JSON + ";q=0.5, " + XML, XML + ";charset=utf-8",
      "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      "application/*;q=0.8, application/json;q=0.1", "*/*;q=0.5, application/json;q=0.3"};

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private static MiniManager heddle;
  private static String stockJson;
  private static String stockXml;
  private static int stockAnonymous;
  private static final Map<String, String> STOCK_TYPES = new LinkedHashMap<>();

  /** The stock scheduler is asked first and stopped: metrics of the two do not mix in a JVM. */
  @BeforeClass
  public static void start() throws Exception {
    Path folder = Files.createTempDirectory("stock");
    YarnConfiguration conf =
        MiniManager.configuration(FairScheduler.class.getName(), folder);
    Path queues = folder.resolve("fair-scheduler.xml");
    Files.write(queues, STOCK_QUEUES.getBytes(StandardCharsets.UTF_8));
    conf.set("yarn.scheduler.fair.allocation.file", queues.toString());
    try (MiniManager stock = MiniManager.start(conf, folder)) {
      Await.until("the stock scheduler knows its node", Await.SECONDS,
          () -> memory(stock.get(INFO).body, "clusterResources") == MiniManager.NODE_MEMORY_MB);
      stockJson = stock.get(INFO, JSON).body;
      stockXml = stock.get(INFO, XML).body;
      stockAnonymous =
          stock.send("POST", "/ws/v1/cluster/apps/new-application", JSON, "{}").status;
      for (String accept : ACCEPTED) {
        STOCK_TYPES.put(accept, mediaType(stock.get(INFO, accept)));
      }
      STOCK_TYPES.put(null, mediaType(stock.get(INFO)));
    }
  }

  /**
   * Starts Heddle with the same queues unless it runs. Tests that need another ResourceManager stop
   * it first: in one JVM, the web server that was started last handles Hadoop's own paths for all
   * of them.
   */
  private static MiniManager heddle() throws Exception {
    if (heddle == null) {
      Path folder = Files.createTempDirectory("heddle");
      YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
      MiniManager.heddleJson(conf, folder, HEDDLE_QUEUES);
      heddle = MiniManager.start(conf, folder);
      Await.until("Heddle knows its node", Await.SECONDS,
          () -> memory(heddle.get(INFO).body, "clusterResources") == MiniManager.NODE_MEMORY_MB);
    }
    return heddle;
  }

  @AfterClass
  public static void stop() {
    if (heddle != null) {
      heddle.close();
      heddle = null;
    }
  }

  private static String mediaType(Reply reply) {
    assertEquals(reply.toString(), 200, reply.status);
    return reply.type.replaceFirst(";.*", "").trim();
  }

  private static JsonNode root(String json) throws Exception {
    return MAPPER.readTree(json).path("scheduler").path("schedulerInfo").path("rootQueue");
  }

  private static long memory(String json, String field) throws Exception {
    return root(json).path(field).path("memory").asLong();
  }

  // ---- The stock answer.

  @Test
  public void jsonHasTheStockSchedulersFieldsAndTypes() throws Exception {
    Map<String, List<String>> stock = Shape.ofJson(stockJson);
    assertEquals("root, two parents, five leaves and what is around", 9, stock.size());
    assertTrue(stock.get("root.batch.daily").size() > 100);
    assertEqualShapes(stock, Shape.ofJson(heddle().get(INFO, JSON).body));
  }

  @Test
  public void xmlHasTheStockSchedulersElementsAndTypes() throws Exception {
    Map<String, List<String>> stock = Shape.ofXml(stockXml);
    assertEquals(9, stock.size());
    assertTrue(stock.get("root.batch.daily").size() > 100);
    assertEqualShapes(stock, Shape.ofXml(heddle().get(INFO, XML).body));
  }

  /** Compares queue by queue, so that a failure is readable. */
  private static void assertEqualShapes(
      Map<String, List<String>> stock, Map<String, List<String>> ours) {
    assertEquals(stock.keySet(), ours.keySet());
    stock.forEach((queue, lines) -> assertEquals("queue " + queue,
        String.join("\n", lines), String.join("\n", ours.get(queue))));
  }

  @Test
  public void sharesByWeightAreThoseOfTheWeights() throws Exception {
    Map<String, Long> steady = new HashMap<>();
    collect(root(heddle().get(INFO).body), steady);
    // The root's 8192 MB by weights 1, 2, 1, 1; each group's among its queues; at most the maximum.
    assertEquals(8192, (long) steady.get("root"));
    assertEquals(8192 * 2 / 5, (long) steady.get("root.batch"));
    assertEquals(8192 / 5, (long) steady.get("root.batch.daily"));
    assertEquals(8192 / 5, (long) steady.get("root.people.ana"));
  }

  private static void collect(JsonNode queue, Map<String, Long> steady) {
    steady.put(queue.path("queueName").asText(),
        queue.path("steadyFairResources").path("memory").asLong());
    queue.path("childQueues").path("queue").forEach(child -> collect(child, steady));
  }

  @Test
  public void acceptHeadersAreHonouredAsByTheStockScheduler() throws Exception {
    for (Map.Entry<String, String> stock : STOCK_TYPES.entrySet()) {
      Reply ours = heddle().get(INFO, stock.getKey());
      assertEquals("Accept: " + stock.getKey(), stock.getValue(), mediaType(ours));
      assertTrue(ours.type, ours.type.contains("charset=utf-8"));
    }
    // 3.3.6 and 3.4.3 answer 500 here; 3.5.0 answers the intended status.
    for (String accept : new String[] {"text/html", "image/png", "garbage", JSON + ";q=0"}) {
      assertEquals(accept, 406, heddle().get(INFO, accept).status);
    }
  }

  @Test
  public void onlyReadsAreAnswered() throws Exception {
    Reply head = heddle().send("HEAD", INFO, JSON, null);
    assertEquals(200, head.status);
    assertEquals("", head.body);
    assertTrue(Integer.parseInt(head.header("Content-Length")) > 1000);
    assertEquals(200, heddle().get(INFO + "/").status);
    for (String path : new String[] {INFO, PAGE}) {
      for (String method : new String[] {"POST", "PUT", "DELETE"}) {
        Reply refused = heddle().send(method, path, null, "DELETE".equals(method) ? null : "{}");
        assertEquals(method + " " + path, 405, refused.status);
        assertTrue(refused.header("Allow").contains("GET"));
      }
    }
  }

  // ---- Callers, and everything else on the port.

  @Test
  public void otherPagesAndUsersAreAsWithoutUs() throws Exception {
    Reply info = heddle().get("/ws/v1/cluster/info", JSON);
    assertEquals(info.toString(), 200, info.status);
    assertEquals("ACTIVE",
        MAPPER.readTree(info.body).path("clusterInfo").path("haState").asText());
    Reply apps = heddle().get("/cluster/apps");
    assertEquals(apps.toString(), 200, apps.status);
    assertTrue(apps.body, apps.body.contains("RUNNING Applications")
        || apps.body.contains("All Applications"));
    assertEquals(200, heddle().get("/ws/v1/cluster/metrics").status);
    // Not all beans: the JDK's own break the rules of JNI, which is checked here.
    assertEquals(200, heddle().get("/jmx?qry=Hadoop:*").status);
    // Paths below the stock one are Hadoop's.
    // There YARN's own classes answer, which cast schedulers and nodes to their own.
    for (String query : new String[] {"", "?nodeId=" + heddle().node.getNodeId()}) {
      Reply activities = heddle().get(INFO + "/activities" + query);
      assertEquals(activities.toString(), 200, activities.status);
      assertFalse(activities.body, activities.body.contains("Not Capacity Scheduler"));
    }
    assertEquals(404, heddle().get("/nowhere").status);
    assertEquals(404, heddle().get("/heddler").status);
    assertEquals(404, heddle().get("/schedulers/x").status);
  }

  /** Versions differ on whether anonymous may submit; alice may, and is shown as the caller. */
  @Test
  public void anApplicationIsSubmittedByNameAndCounted() throws Exception {
    String submit = "/ws/v1/cluster/apps";
    assertEquals("for one without a name", stockAnonymous,
        heddle().send("POST", submit + "/new-application", JSON, "{}").status);
    Reply fresh =
        heddle().send("POST", submit + "/new-application?user.name=alice", JSON, "{}");
    assertEquals(fresh.toString(), 200, fresh.status);
    String id = MAPPER.readTree(fresh.body).path("application-id").asText();
    Reply submitted = heddle().send("POST", submit + "?user.name=alice", JSON,
        "{\"application-id\": \"" + id + "\", \"application-name\": \"waits\","
            + "\"queue\": \"root.people.ana\", \"am-container-spec\": {},"
            + "\"resource\": {\"memory\": 1024, \"vCores\": 1}}");
    assertEquals(submitted.toString(), 202, submitted.status);
    // The node never reports, so the ApplicationMaster waits.
    Await.until("the queue's demand is shown", Await.SECONDS, () -> {
      JsonNode people = child(root(heddle().get(INFO).body), "root.people");
      JsonNode queue = child(people, "root.people.ana");
      return queue.path("pendingContainers").asInt() == 1
          && queue.path("numPendingApps").asInt() == 1
          && queue.path("demandResources").path("memory").asInt() == 1024;
    });
    Reply app = heddle().get(submit + "/" + id, JSON);
    assertEquals("alice", MAPPER.readTree(app.body).path("app").path("user").asText());
    assertEquals(0L, root(heddle().get(INFO).body).path("allocatedContainers").asLong());
    String row = "<a href=\"/cluster/app/" + id + "\">";
    for (String queue : new String[] {"", "?queue=root.people", "?queue=root.people.ana"}) {
      assertTrue(queue, heddle().get(PAGE + queue).body.contains(row));
    }
    assertFalse(heddle().get(PAGE + "?queue=root.zebra").body.contains(row));
    heddle().send("PUT", submit + "/" + id + "/state?user.name=alice", JSON,
        "{\"state\": \"KILLED\"}");
    Await.until("the queue is empty again", Await.SECONDS,
        () -> child(root(heddle().get(INFO).body), "root.people")
            .path("demandResources").path("memory").asInt() == 0);
  }

  private static JsonNode child(JsonNode queue, String name) {
    for (JsonNode child : queue.path("childQueues").path("queue")) {
      if (child.path("queueName").asText().equals(name)) {
        return child;
      }
    }
    throw new AssertionError(name + " is not in " + queue);
  }

  @Test
  public void aHandlerGetsItsPathsWithTheUserAndNothingElse() throws Exception {
    HeddleScheduler scheduler = (HeddleScheduler) heddle().manager.getResourceScheduler();
    WebHandler own = scheduler.webHandler();
    scheduler.setWebHandler(null);
    for (String path : new String[] {"/heddle", "/heddle/", "/heddle/v1/x", "/scheduler"}) {
      Reply none = heddle().get(path);
      assertEquals(path, 404, none.status);
      assertTrue(none.toString(), none.type.startsWith("text/plain") && none.body.length() > 20);
    }
    scheduler.setWebHandler((request, response) -> {
      response.setContentType("text/plain");
      response.getWriter().print(request.getMethod() + " " + request.getRequestURI() + " "
          + request.getQueryString() + " " + request.getRemoteUser());
    });
    try {
      assertEquals("GET /heddle/v1/x a=1&b=%3C dr.who",
          heddle().get("/heddle/v1/x?a=1&b=%3C").body);
      assertEquals("GET /scheduler user.name=alice alice",
          heddle().get("/scheduler?user.name=alice").body);
      assertEquals("POST /scheduler/price null dr.who",
          heddle().send("POST", "/scheduler/price", null, "{}").body);
      assertEquals(404, heddle().get("/heddler").status);
      assertTrue(heddle().get(INFO).body.contains("rootQueue"));
    } finally {
      scheduler.setWebHandler(own);
    }
  }

  // ---- The page.

  @Test
  public void thePageShowsTheTree() throws Exception {
    Reply page = heddle().get(PAGE);
    assertEquals(page.toString(), 200, page.status);
    assertEquals("text/html;charset=utf-8", page.type.replace(" ", ""));
    // The page runs nothing, and loads the ResourceManager's own styles alone.
    assertTrue(page.header("Content-Security-Policy").startsWith("default-src 'none'"));
    for (String style : new String[] {"/static/yarn.css",
        "/static/jquery/themes-1.9.1/base/jquery-ui.css", "/static/hadoop-st.png"}) {
      assertTrue(style, page.body.contains("\"" + style + "\""));
      assertEquals(style, 200, heddle().get(style).status);
    }
    // Its menu is that of the pages beside it, and leads to the console, which links back.
    for (String other : new String[] {"/cluster/cluster", "/cluster/apps", "/cluster/nodes",
        "/cluster/nodelabels", "/cluster/apps/RUNNING", "/conf", "/heddle/"}) {
      assertTrue(other, page.body.contains("<a href=\"" + other + "\">"));
      assertEquals(other, 200, heddle().get(other).status);
    }
    assertTrue(heddle().get("/heddle/").body.contains("<a href=\"/cluster/scheduler\">"));
    Map<String, Map<String, String>> queues = queues(Shape.parse(page.body));
    assertEquals(8, queues.size());
    List<String> names = new ArrayList<>(queues.keySet());
    assertEquals("root", names.get(0));
    Map<String, String> daily = queues.get("root.batch.daily");
    assertEquals("1", daily.get("Weight"));
    assertEquals("1,024 MB, 1 vcores", daily.get("Min Resources"));
    assertEquals("4,096 MB, 4 vcores", daily.get("Max Resources"));
    assertEquals("0", daily.get("Pending Containers"));
    assertEquals("2", queues.get("root.batch").get("Weight"));
    assertEquals("a queue stands below its parent",
        names.indexOf("root.batch") + 1, names.indexOf("root.batch.daily"));
  }

  /**
   * Returns the details of each queue by its path. The page is well-formed, or it would not have
   * parsed.
   */
  private static Map<String, Map<String, String>> queues(Document page) {
    Map<String, Map<String, String>> queues = new LinkedHashMap<>();
    NodeList all = page.getElementsByTagName("details");
    for (int i = 0; i < all.getLength(); i++) {
      Element queue = (Element) all.item(i);
      Map<String, String> details = new LinkedHashMap<>();
      Element table = (Element) queue.getElementsByTagName("table").item(0);
      NodeList rows = table.getElementsByTagName("tr");
      for (int j = 0; j < rows.getLength(); j++) {
        NodeList cells = rows.item(j).getChildNodes();
        details.put(cells.item(0).getTextContent(), cells.item(1).getTextContent());
      }
      queues.put(name(queue), details);
    }
    return queues;
  }

  private static String name(Element queue) {
    NodeList spans = queue.getElementsByTagName("span");
    for (int i = 0; i < spans.getLength(); i++) {
      if ("q".equals(((Element) spans.item(i)).getAttribute("class"))) {
        return spans.item(i).getTextContent();
      }
    }
    throw new AssertionError("no name in " + queue.getTextContent());
  }

  // ---- An operator's settings, hostile names, and Heddle's own faults.

  @Test
  public void theOperatorsFiltersComeFirstAndOurFaultsStayOurs() throws Exception {
    String[] hostile = {"<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "a&amp;b'",
        "]]>", "</style>", "caf\u00e9 \ud83d\ude00"};
    List<Map<String, String>> queues = new ArrayList<>();
    for (String name : hostile) {
      Map<String, String> queue = new HashMap<>();
      queue.put("path", "root." + name);
      queues.add(queue);
    }
    Map<String, Object> config = new HashMap<>();
    config.put("queues", queues);
    Path folder = Files.createTempDirectory("operator");
    YarnConfiguration conf =
        MiniManager.configuration(ThrowingScheduler.class.getName(), folder);
    MiniManager.heddleJson(conf, folder, MAPPER.writeValueAsString(config));
    // An operator's settings for SPNEGO, except the type, which needs a Kerberos server.
    conf.set("hadoop.http.filter.initializers",
        "org.apache.hadoop.security.AuthenticationFilterInitializer, "
            + OperatorsInitializer.class.getName());
    conf.set("hadoop.http.authentication.type", "simple");
    conf.set("hadoop.http.authentication.simple.anonymous.allowed", "false");
    stop();
    try (MiniManager manager = MiniManager.start(conf, folder)) {
      nobodyPassesUnnamed(manager);
      hostileNamesStayText(manager, hostile);
      faultsStayOurs(manager);
    }
  }

  private static void nobodyPassesUnnamed(MiniManager manager) throws Exception {
    ((HeddleScheduler) manager.manager.getResourceScheduler()).setWebHandler(
        (request, response) -> response.getWriter().print(request.getRemoteUser()));
    for (String path : new String[] {INFO, PAGE, "/heddle/", "/scheduler", "/cluster/apps"}) {
      assertEquals(path, 401, manager.get(path).status);
      Reply named = manager.get(path + "?user.name=bob");
      assertEquals(path, 200, named.status);
      assertEquals(path, "was here", named.header(OperatorsInitializer.HEADER));
    }
    assertEquals("bob", manager.get("/heddle/?user.name=bob").body);
  }

  private static void hostileNamesStayText(MiniManager manager, String[] hostile)
      throws Exception {
    List<String> json = new ArrayList<>();
    root(manager.get(INFO + "?user.name=bob").body).path("childQueues").path("queue")
        .forEach(queue -> json.add(queue.path("queueName").asText()));
    Document page = Shape.parse(manager.get(PAGE + "?user.name=bob").body);
    Set<String> shown = queues(page).keySet();
    assertEquals(0, page.getElementsByTagName("script").getLength());
    assertEquals("the logo", 1, page.getElementsByTagName("img").getLength());
    List<String> xml = new ArrayList<>();
    NodeList elements = Shape.parse(manager.get(INFO + "?user.name=bob", XML).body)
        .getElementsByTagName("queue");
    for (int i = 0; i < elements.getLength(); i++) {
      xml.add(Shape.childText((Element) elements.item(i), "queueName"));
    }
    for (String name : hostile) {
      String path = "root." + name;
      assertTrue(path + " in " + json, json.contains(path));
      assertTrue(path + " in " + xml, xml.contains(path));
      assertTrue(path + " in " + shown, shown.contains(path));
    }
  }

  private static void faultsStayOurs(MiniManager manager) throws Exception {
    HeddleScheduler scheduler = (HeddleScheduler) manager.manager.getResourceScheduler();
    String bob = "?user.name=bob";
    ThrowingScheduler.broken = true;
    scheduler.setWebHandler((request, response) -> {
      response.getWriter().print("half an ans");
      throw new IllegalStateException("provoked by a test");
    });
    try {
      for (String path : new String[] {INFO, PAGE, "/heddle/x", "/scheduler"}) {
        Reply failed = manager.get(path + bob);
        assertEquals(path, 500, failed.status);
        assertTrue(failed.body, failed.body.contains("log says why"));
        assertFalse(failed.body, failed.body.contains("provoked"));
        assertFalse(failed.body, failed.body.contains("half"));
      }
      assertEquals(200, manager.get("/ws/v1/cluster/info" + bob).status);
      assertEquals(200, manager.get("/cluster/apps" + bob).status);
    } finally {
      ThrowingScheduler.broken = false;
    }
    assertEquals(200, manager.get(INFO + bob).status);
    assertEquals(200, manager.get(PAGE + bob).status);
    assertEquals("events that failed", 0, scheduler.inspection().failures());
  }

  // ---- Two ResourceManagers.

  @Test
  public void theActiveOneAnswersAndTheStandbyRedirects() throws Exception {
    Path folder = Files.createTempDirectory("pair");
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    MiniManager.heddleJson(conf, folder, HEDDLE_QUEUES);
    stop();
    try (MiniPair pair = new MiniPair(conf, folder)) {
      pair.activate(0);
      HeddleScheduler first = answersAlone(pair, 0);
      pair.activate(1);
      answersAlone(pair, 1);
      pair.activate(0);
      assertNotSame("who leads again has a new scheduler", first, answersAlone(pair, 0));
    }
  }

  /** One answers for its present scheduler; the other leaves requests to its own pages. */
  private static HeddleScheduler answersAlone(MiniPair pair, int active) throws Exception {
    HeddleScheduler scheduler = (HeddleScheduler) pair.managers[active].getResourceScheduler();
    String name = "scheduler " + System.identityHashCode(scheduler);
    scheduler.setWebHandler((request, response) -> response.getWriter().print(name));
    String here = pair.addresses[active];
    assertEquals(name, MiniManager.send(here, "GET", "/heddle/who", null, null).body);
    Reply info = MiniManager.send(here, "GET", INFO, JSON, null);
    assertEquals(info.toString(), 200, info.status);
    assertEquals("root", root(info.body).path("queueName").asText());
    assertEquals(200, MiniManager.send(here, "GET", PAGE, null, null).status);
    String there = pair.addresses[1 - active];
    for (String path : new String[] {INFO, PAGE, "/heddle/who", "/scheduler"}) {
      Reply other = MiniManager.send(there, "GET", path, null, null);
      assertNotEquals(path + " " + other, 200, other.status);
      // The web server that was started last in a JVM handles Hadoop's own paths for all of them.
      if (active == 0) {
        assertEquals(path + " " + other, 307, other.status);
        assertEquals(here + path, other.header("Location"));
      }
    }
    assertEquals(200, MiniManager.send(there, "GET", "/ws/v1/cluster/info", JSON, null).status);
    return scheduler;
  }
}
