package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.MiniCluster;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.AfterClass;
import org.junit.Assume;
import org.junit.Before;
import org.junit.BeforeClass;
import org.junit.FixMethodOrder;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.MethodSorters;
import org.junit.runners.Parameterized;

/**
 * A ResourceManager whose web server demands tickets of a real Kerberos server. A ticket shows what
 * its user may see, a signature needs no ticket, and nothing that only resembles one opens
 * anything. Signs and asks by itself, like a client in another language; the last test runs {@code
 * heddle} itself.
 */
@RunWith(Parameterized.class)
// Tests that need another ResourceManager come last, so that none is started twice.
@FixMethodOrder(MethodSorters.NAME_ASCENDING)
public class SpnegoTest {
  private static final String INFO = "/ws/v1/cluster/scheduler";
  private static final String ALICE = "alice";
  private static final String PRICE = "/heddle/v1/price";
  private static final String OF_ALICE = "/heddle/v1/queues/alice";
  private static final String BID = OF_ALICE + "/bid";
  private static final String ACL = "alice user alices-secret-of-32-bytes-length\n"
      + "bob user bobs-secret-of-32-bytes-of-length\nroot admin roots-secret-of-32-bytes-in-length";

  /** Paths that are shown after a login only: Heddle's, the ResourceManager's, Hadoop's own. */
  private static final String[] GUARDED = {"/", "/cluster/apps", "/cluster/scheduler", INFO,
      "/ws/v1/cluster/info", "/conf", "/jmx", "/stacks", "/heddle", "/heddle/", "/heddle/main.js",
      "/heddle/v1/", PRICE, "/heddle/v1/health", "/heddle/v1/openapi.json", OF_ALICE,
      "/heddle/v1/nothing", "/scheduler", "/scheduler?price", "/scheduler?infos", "/nowhere"};

  /** Ways from one path to another that some servers or proxies follow. */
  private static final String[] TRICKS = {"/heddle/v1/../../ws/v1/cluster/info",
      "/heddle/v1/%2e%2e/%2e%2e/ws/v1/cluster/info", "/heddle/v1/%2E%2E/%2e./ws/v1/cluster/info",
      "/heddle/v1/..%2f..%2fws/v1/cluster/info", "/heddle/v1/..%252f..%252fws/v1/cluster/info",
      "/heddle/v1/..;/..;/ws/v1/cluster/info", "/heddle/v1/..;x=y/..;x=y/ws/v1/cluster/info",
      "/heddle/v1;/../../ws/v1/cluster/info", "/heddle/v1/price/../../../ws/v1/cluster/info",
      "/heddle/v1/..%5c..%5cws/v1/cluster/info", "/heddle/v1/price;/../../../cluster/apps",
      "//ws/v1/cluster/info", "//heddle/v1/..//../ws/v1/cluster/info", "/./ws/v1/cluster/info",
      "/ws/v1/cluster/info;/heddle/v1/price", "/ws/v1/cluster/info/../info;heddle/v1/",
      "/ws/v1/cluster/info?/heddle/v1/price", "/ws/v1/cluster/info%3f/heddle/v1/price",
      "/cluster/../heddle/v1/../../ws/v1/cluster/info", "/scheduler/../ws/v1/cluster/info",
      "/scheduler;/../ws/v1/cluster/info", "/scheduler/..%2fws/v1/cluster/info",
      "/scheduler/%2e%2e/jmx", "/heddle/v1/%00/../../../conf", "/heddle/v1/../../conf#/heddle/v1/",
      "/cluster/../heddle/v1/price", "/%68eddle/v1/price", "/heddle%2fv1%2fprice",
      "/heddle/%76%31/price", "//heddle/v1/price", "/heddle//v1/price", "/heddle/v1//price",
      "/heddle/v1;x=y/price", "/heddle;x=y/v1/price", "/heddle/v1/price;x=y", "/heddle/v1/price/",
      "/heddle/./v1/price", "/HEDDLE/v1/price", "/heddle/V1/price", "/heddle/v1/price%20",
      "/Scheduler?price", "/scheduler;x=y?price", "/scheduler/?price", "/%73cheduler?price",
      "/scheduler//?price", "http://localhost/ws/v1/cluster/info",
      "http://localhost/heddle/v1/../../ws/v1/cluster/info"};

  private static Kerberos kerberos;
  private static MiniManager manager;
  private static String running;
  private static int nonces;

  private final String guard;

  public SpnegoTest(String guard) {
    this.guard = guard;
  }

  /**
   * Guards all of YARN, where the ResourceManager has a filter of its own, or only its web server.
   */
  @Parameterized.Parameters(name = "{0}")
  public static Object[] guards() {
    return new Object[] {"cluster", "web"};
  }

  @BeforeClass
  public static void startKerberos() throws Exception {
    kerberos = new Kerberos(ALICE, "bob", "mallory", "root");
  }

  @AfterClass
  public static void stop() throws Exception {
    stopManager();
    kerberos.close();
  }

  private static void stopManager() {
    if (manager != null) {
      manager.close();
      manager = null;
    }
    running = null;
    UserGroupInformation.reset();
    UserGroupInformation.setConfiguration(new Configuration(false));
  }

  /** Starts it, or keeps the running one; {@code suffices} is the operator's setting. */
  private static String rm(String guard, boolean suffices) throws Exception {
    String wanted = guard + suffices;
    if (!wanted.equals(running)) {
      stopManager();
      Path folder = Files.createTempDirectory("spnego");
      Path acl = folder.resolve("acl");
      Files.write(acl, ACL.getBytes(StandardCharsets.UTF_8));
      Files.setPosixFilePermissions(acl, PosixFilePermissions.fromString("rw-------"));
      YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
      MiniManager.heddleJson(conf, folder, "{\"policy\": \"dynamic-priority\","
          + " \"queues\": [{\"path\": \"root.alice\", \"budget\": 100.0, \"spending_rate\": 1.0},"
          + " {\"path\": \"root.bob\", \"budget\": 50.0}],"
          + " \"api\": {\"acl_file\": \"" + acl + "\", \"trust_web_user\": true}}");
      kerberos.guardTheWeb(conf);
      if (guard.equals("cluster")) {
        kerberos.guardTheCluster(conf);
      }
      if (!suffices) {
        conf.setBoolean("heddle.web.signature-suffices", false);
      }
      UserGroupInformation.setConfiguration(conf);
      manager = MiniManager.start(conf, folder);
      running = wanted;
    }
    return manager.address;
  }

  /** Runs before anything is signed: a server takes no signature older than itself. */
  @Before
  public void start() throws Exception {
    rm(guard, true);
  }

  private Wire get(String target, String... headers) throws Exception {
    return Wire.send(rm(guard, true), "GET", target, null, headers);
  }

  private Wire put(String target, String body, String... headers) throws Exception {
    return Wire.send(rm(guard, true), "PUT", target, body, headers);
  }

  private static String ticket(String user) throws Exception {
    return "Authorization: " + kerberos.negotiate(user);
  }

  /** Returns the cookie that a browser keeps after a login. */
  private static String cookie(String address, String user) throws Exception {
    Wire answer = Wire.send(address, "GET", "/ws/v1/cluster/info", null, ticket(user));
    assertEquals(answer.toString(), 200, answer.status);
    String set = answer.header("Set-Cookie");
    assertTrue(set, set.startsWith("hadoop.auth=") && set.contains("u=" + user));
    return "Cookie: " + set.substring(0, set.indexOf(';'));
  }

  private static String hex(byte[] bytes) {
    StringBuilder hex = new StringBuilder();
    for (byte part : bytes) {
      hex.append(String.format("%02x", part));
    }
    return hex.toString();
  }

  /** Returns the header of version 2 as canonical.rs describes it. */
  private static String signed(String user, String method, String target, String body)
      throws Exception {
    String secret = "nobodys-secret-of-32-bytes-or-so";
    for (String line : ACL.split("\n")) {
      secret = line.startsWith(user + " ") ? line.split(" ")[2] : secret;
    }
    String[] parts = (target + "?").split("\\?", -1);
    long now = System.currentTimeMillis();
    String nonce = String.format("%016d", ++nonces);
    byte[] content = (body == null ? "" : body).getBytes(StandardCharsets.UTF_8);
    String text = "HEDDLE-REQUEST-V2\n" + method + "\n" + parts[0] + "\n" + parts[1] + "\n"
        + hex(MessageDigest.getInstance("SHA-256").digest(content)) + "\n" + user + "\n" + now
        + "\n" + (now + 60_000) + "\n" + nonce + "\n";
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    return "Authorization: Heddle-HMAC-SHA256 user=" + user + ",timestamp=" + now + ",expires="
        + (now + 60_000) + ",nonce=" + nonce + ",signature="
        + hex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
  }

  private Wire signedGet(String user, String target) throws Exception {
    return get(target, signed(user, "GET", target, null));
  }

  private static void asksForATicket(String what, Wire answer) {
    assertEquals(what + "\n" + answer, 401, answer.status);
    assertTrue(what + "\n" + answer, answer.header("WWW-Authenticate").contains("Negotiate"));
    // Jetty's own page, or none: it has none for PUT.
    assertTrue(what, answer.body.isEmpty() || answer.body.contains("<html>"));
    assertFalse(what, answer.body.contains("<script"));
  }

  /** Heddle refused, itself: with 429 after too many refusals. */
  private static void refusedByUs(String what, Wire answer) {
    assertTrue(what + "\n" + answer, answer.status == 401 || answer.status == 429);
    assertFalse(what + "\n" + answer, answer.header("WWW-Authenticate").contains("Negotiate"));
    assertTrue(what + "\n" + answer, answer.body.contains("\"error\"")
        || answer.body.contains("<error>"));
  }

  /** Refused by any part: a 404 would show that one looked the path up. */
  private static void refused(String what, Wire answer) {
    assertTrue(what + "\n" + answer, Arrays.asList(400, 401, 403, 429).contains(answer.status));
    for (String inside : new String[] {"haState", "rootQueue", "price_micro", "<price>", "beans"}) {
      assertFalse(what + "\n" + answer, answer.body.contains(inside));
    }
  }

  // ---- Tickets.

  @Test
  public void nothingIsShownWithoutATicket() throws Exception {
    String forged = "hadoop.auth=\"u=alice&p=alice@" + kerberos.realm()
        + "&t=kerberos&e=9999999999999&s=" + "A".repeat(43) + "=\"";
    for (String path : GUARDED) {
      asksForATicket(path, get(path));
      asksForATicket(path, get(path + (path.contains("?") ? "&" : "?") + "user.name=alice"));
      asksForATicket(path, get(path, "Authorization: Basic cm9vdDpyb290"));
      asksForATicket(path, get(path, "Cookie: " + forged));
      refused(path, get(path, "Authorization: Negotiate YIIC"));
      refused(path, get(path, "Authorization: Negotiate"));
    }
    asksForATicket(BID, put(BID, "{\"rate\": 9}"));
  }

  @Test
  public void aTicketShowsWhatItsUserMaySee() throws Exception {
    Wire info = get(INFO, ticket("mallory"));
    assertEquals(info.toString(), 200, info.status);
    assertTrue(info.body, info.body.contains("rootQueue"));
    assertEquals(200, get("/cluster/scheduler", ticket("mallory")).status);
    assertTrue(get("/heddle/", ticket("mallory")).body.contains("<script"));
    assertTrue(get(PRICE, ticket("mallory")).body.contains("price_micro"));
    String[][] expected = {{ALICE, "200", "403", "403"}, {"bob", "403", "200", "403"},
        {"mallory", "403", "403", "403"}, {"root", "200", "200", "200"}};
    for (String[] row : expected) {
      String[] paths = {OF_ALICE, "/heddle/v1/queues/bob", "/heddle/v1/configuration"};
      for (int i = 0; i < paths.length; i++) {
        Wire answer = get(paths[i], ticket(row[0]));
        assertEquals(row[0] + " " + answer, Integer.parseInt(row[i + 1]), answer.status);
        Wire again = get(paths[i], cookie(manager.address, row[0]));
        assertEquals(row[0] + " by cookie " + again, answer.status, again.status);
      }
    }
    Wire list = get("/heddle/v1/queues", ticket("bob"));
    assertTrue(list.body, list.body.contains("root.bob") && !list.body.contains("root.alice"));
  }

  @Test
  public void nobodyGetsTheRightsOfSomebodyElse() throws Exception {
    for (String claim : new String[] {"user.name=alice", "doAs=alice", "doas=alice",
        "user.name=root&doAs=root", "delegation=AAAA"}) {
      Wire answer = get(OF_ALICE + "?" + claim, ticket("mallory"));
      assertTrue(claim + "\n" + answer, answer.status == 400 || answer.status == 403);
      assertFalse(claim, get("/heddle/v1/queues?" + claim, ticket("mallory")).body
          .contains("root.alice"));
    }
    for (String header : new String[] {"X-Remote-User: alice", "Remote-User: alice",
        "X-Forwarded-User: alice", "Heddle-User: alice"}) {
      assertEquals(header, 403, get(OF_ALICE, ticket("mallory"), header).status);
    }
    String own = cookie(rm(guard, true), "mallory");
    asksForATicket("another's name", get(OF_ALICE, own.replace("mallory", ALICE)));
    // A signature goes before a ticket of any user, whether it is right or wrong.
    String wrong = signed(ALICE, "GET", OF_ALICE, null).replaceAll("signature=.", "signature=g");
    assertNotEquals(200, get(OF_ALICE, own, wrong).status);
    refusedByUs("no secret", get(OF_ALICE, own, signed("mallory", "GET", OF_ALICE, null)));
    refusedByUs("even to alice", get(OF_ALICE, cookie(manager.address, ALICE),
        signed("mallory", "GET", OF_ALICE, null)));
    assertEquals(200, get(OF_ALICE, own, signed(ALICE, "GET", OF_ALICE, null)).status);
  }

  @Test
  public void changesNeedASignature() throws Exception {
    String before = signedGet(ALICE, OF_ALICE).body;
    String body = "{\"rate\": 7.5}";
    for (String login : new String[] {ticket(ALICE), cookie(rm(guard, true), ALICE),
        ticket("root"), cookie(rm(guard, true), "root")}) {
      Wire answer = put(BID, body, login);
      refusedByUs(login, answer);
      assertTrue(answer.toString(), answer.body.contains("not signed"));
      assertNotEquals(200, get("/scheduler?setSpending=7.5&queue=alice", login).status);
    }
    assertFalse(before, signedGet(ALICE, OF_ALICE).body.contains("7.5"));
    assertEquals(200, put(BID, body, signed(ALICE, "PUT", BID, body)).status);
    assertTrue(signedGet(ALICE, OF_ALICE).body.contains("7.5"));
    String back = "{\"rate\": 1}";
    Wire undone = put(BID, back, cookie(manager.address, "mallory"),
        signed(ALICE, "PUT", BID, back));
    assertEquals(undone.toString(), 200, undone.status);
  }

  // ---- Signatures.

  @Test
  public void aSignatureNeedsNoTicketAndCountsOnce() throws Exception {
    for (String path : new String[] {PRICE, "/heddle/v1/health", OF_ALICE,
        "/heddle/v1/jobs?max=1"}) {
      String signature = signed(ALICE, "GET", path, null);
      Wire answer = get(path, signature);
      assertEquals(path + "\n" + answer, 200, answer.status);
      assertEquals("no login comes of it", "", answer.header("Set-Cookie"));
      refusedByUs(path + ", again", get(path, signature));
    }
    assertEquals(403, signedGet("bob", OF_ALICE).status);
    assertEquals(200, signedGet("root", "/heddle/v1/configuration").status);
    assertEquals(404, signedGet(ALICE, "/heddle/v1/nothing").status);
    Wire published = signedGet(ALICE, "/scheduler?info=alice");
    assertEquals(published.toString(), 200, published.status);
    assertTrue(published.body, published.body.contains("<budget>"));
    String info = signed(ALICE, "GET", "/ws/v1/cluster/info", null);
    asksForATicket("not ours", get("/ws/v1/cluster/info", info));
    asksForATicket("not for signatures", signedGet(ALICE, INFO));
    asksForATicket("not for signatures", signedGet(ALICE, "/heddle/"));
  }

  @Test
  public void aWrongSignatureIsRefusedByUsWhateverItIsFor() throws Exception {
    String other = signed(ALICE, "GET", "/heddle/v1/jobs", null);
    List<String> wrong = new ArrayList<>(Arrays.asList(other,
        signed("mallory", "GET", PRICE, null),
        signed(ALICE, "GET", PRICE, null).replace("user=alice", "user=bob"),
        "Authorization: " + "A".repeat(27) + "=", "authorization: %3D"));
    for (String header : wrong) {
      for (String path : new String[] {PRICE, "/heddle/v1/health", "/heddle/v1/openapi.json",
          "/heddle/v1/nothing", "/scheduler?price", "/scheduler?time"}) {
        for (String method : new String[] {"GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE"}) {
          String body = method.startsWith("P") ? "{}" : null;
          Wire answer = Wire.send(rm(guard, true), method, path, body, header);
          String what = method + " " + path + " " + header;
          refused(what, answer);
          if (!method.equals("HEAD") && !header.contains("%3D") && !header.contains("AAA")) {
            refusedByUs(what, answer);
          }
        }
      }
    }
    String changed = "{\"rate\": 8.5}";
    refusedByUs("another body",
        put(BID, changed, signed(ALICE, "PUT", BID, "{\"rate\": 1.5}")));
    assertFalse(signedGet(ALICE, OF_ALICE).body.contains("8.5"));
    // Two headers must not be mixed up.
    refused("Kerberos first", get("/ws/v1/cluster/info", "Authorization: Negotiate YIIC",
        signed(ALICE, "GET", "/ws/v1/cluster/info", null)));
    refused("Kerberos second", get("/ws/v1/cluster/info",
        signed(ALICE, "GET", "/ws/v1/cluster/info", null), "Authorization: Negotiate YIIC"));
    refused("the right one second", get(PRICE, "Authorization: Negotiate YIIC",
        signed(ALICE, "GET", PRICE, null)));
  }

  @Test
  public void noHeaderOfOursOpensAnythingElse() throws Exception {
    String[] claims = {signed(ALICE, "GET", "/heddle/v1/jobs", null),
        "Authorization: " + "A".repeat(27) + "=", "Authorization: Heddle-HMAC-SHA256 x"};
    for (String claim : claims) {
      for (String path : GUARDED) {
        refused(path + " " + claim, get(path, claim));
      }
      for (String path : TRICKS) {
        refused(path + " " + claim, get(path, claim));
      }
    }
    for (String path : TRICKS) {
      refused(path, get(path));
      // Signed correctly, for exactly this path: whatever the answer is, only Heddle gives it.
      Wire answer = signedGet(ALICE, path);
      String what = path + "\n" + answer;
      assertTrue(what, answer.status >= 400 || answer.body.contains("price"));
      assertFalse(what, answer.body.contains("haState") || answer.body.contains("beans"));
    }
  }

  // ---- An operator's settings, and the command line.

  @Test
  public void whereASignatureDoesNotSufficeATicketIsNeededBesides() throws Exception {
    Assume.assumeTrue("once is enough", guard.equals("cluster"));
    String address = rm(guard, false);
    String signature = signed(ALICE, "GET", PRICE, null);
    asksForATicket("signed only", Wire.send(address, "GET", PRICE, null, signature));
    String body = "{\"rate\": 2.5}";
    String login = cookie(address, "mallory");
    Wire answer = Wire.send(address, "PUT", BID, body, login, signed(ALICE, "PUT", BID, body));
    assertEquals(answer.toString(), 200, answer.status);
    refusedByUs("a wrong one", Wire.send(address, "PUT", BID, body, login,
        signed("mallory", "PUT", BID, body)));
  }

  @Test
  public void theCommandLineGetsThrough() throws Exception {
    String address = rm(guard, true);
    assertEquals("exit code 0\n", after(address, ALICE, "price").replaceFirst("^[0-9.]+\n", ""));
    String bid = after(address, ALICE, "bid", ALICE, "3.25");
    assertTrue(bid, bid.endsWith("exit code 0\n"));
    String info = after(address, ALICE, "info", ALICE);
    assertTrue(info, info.contains("3.25") && info.endsWith("exit code 0\n"));
    assertTrue(after(address, "bob", "info", ALICE).endsWith("exit code 1\n"));
    String stranger = after(address, "", "price");
    assertTrue(stranger, stranger.contains("Kerberos guards") && stranger.contains("--user"));
  }

  /** Runs the command; returns its output and exit code. */
  private static String after(String address, String user, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(System.getenv("HEDDLE_COMMAND"));
    command.addAll(Arrays.asList(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.redirectInput(new File("/dev/null"));
    builder.environment().put("HEDDLE_URL", address);
    for (String line : ACL.split("\n")) {
      String[] words = line.split(" ");
      if (words[0].equals(user)) {
        builder.environment().put("HEDDLE_USER", user);
        builder.environment().put("HEDDLE_SECRET", words[2]);
      }
    }
    Process process = builder.start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    return said + "exit code " + process.waitFor() + "\n";
  }
}
