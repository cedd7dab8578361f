package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.web.MiniManager.Reply;
import io.heddle.yarn.HeddleScheduler;
import java.io.File;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.w3c.dom.Document;

/**
 * The economy over a real ResourceManager's port: the published commands as old clients sign and
 * read them; accounts that outlive the engine, the ResourceManager and a failover; and requests
 * that none of the three accepts twice. Newest Hadoop only: WebTest tests the port on every
 * version.
 */
public class EconomyTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String ALICE = "alice";
  private static final String ROOT = "root";
  /** Within the tolerance for clients' clocks, and longer than a test takes. */
  private static final long AHEAD_MS = 5 * 60_000;

  /** A step of the machine's clock between two looks. */
  private static final long CLOCK_MS = 1000;

  /** Files that outlive the ResourceManagers. */
  @Rule
  public final TemporaryFolder durable = new TemporaryFolder();

  private long lastMs;

  @Before
  public void acl() throws Exception {
    Path acl = durable.getRoot().toPath().resolve("acl");
    Files.write(acl, "alice user alices-secret\nbob user bobs-secret\nroot admin roots-secret\n"
        .getBytes(StandardCharsets.UTF_8));
    Files.setPosixFilePermissions(acl, PosixFilePermissions.fromString("rw-------"));
  }

  private YarnConfiguration configuration(Path folder) throws Exception {
    File root = durable.getRoot();
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    MiniManager.heddleJson(conf, folder, "{\"policy\": \"dynamic-priority\","
        + " \"queues\": [{\"path\": \"root.alice\", \"budget\": 100.0, \"spending_rate\": 1.0},"
        + " {\"path\": \"root.bob\", \"budget\": 50.0}],"
        + " \"api\": {\"acl_file\": \"" + root + "/acl\", \"acl_settle_ms\": 0},"
        + " \"store\": \"sqlite:" + root + "/economy\", \"testing\": {\"faults\": true}}");
    return conf;
  }

  private MiniManager manager() throws Exception {
    Path folder = Files.createTempDirectory("economy");
    MiniManager manager = MiniManager.start(configuration(folder), folder);
    booksAreOpen(manager.address);
    return manager;
  }

  static void booksAreOpen(String address) throws Exception {
    Await.until("the books are open", Await.SECONDS, () ->
        "connected".equals(json(MiniManager.send(address, "GET", "/heddle/v1/health", null, null))
            .path("books").asText()));
  }

  private static JsonNode json(Reply reply) throws Exception {
    return MAPPER.readTree(reply.body);
  }

  /** Completes and signs a query as the published clients do: HMAC-SHA1, base64, quoted. */
  private Signed sign(String query, String user) throws Exception {
    // Two requests in one millisecond would share a timestamp; the second would count as a replay.
    lastMs = Math.max(lastMs + 1, System.currentTimeMillis());
    String text = query + "&user=" + user + "&timestamp=" + lastMs;
    Mac mac = Mac.getInstance("HmacSHA1");
    String secret = user.equals(ROOT) ? "roots-secret" : user + "s-secret";
    mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA1"));
    byte[] signature = mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    return new Signed("/scheduler?" + text,
        URLEncoder.encode(Base64.getEncoder().encodeToString(signature), "UTF-8"));
  }

  /** A signed request that a test can send repeatedly. */
  private static final class Signed {
    private final String path;
    private final String authorization;

    Signed(String path, String authorization) {
      this.path = path;
      this.authorization = authorization;
    }

    Reply send(String address) throws Exception {
      return MiniManager.send(address, "GET", path, null, null, authorization);
    }
  }

  private Reply send(String address, String query, String user) throws Exception {
    return sign(query, user).send(address);
  }

  /** Sends a change again while the store is slow: one answered with 503 has changed nothing. */
  private Reply change(String address, String query) throws Exception {
    Reply[] reply = new Reply[1];
    Await.until(query + " is stored", Await.SECONDS, () -> {
      reply[0] = send(address, query, ROOT);
      return reply[0].status != 503;
    });
    return reply[0];
  }

  /** Reads an element of a published answer about an account. */
  private static String text(Reply reply, String element) throws Exception {
    assertEquals(reply.toString(), 200, reply.status);
    assertTrue(reply.type, reply.type.startsWith("text/xml"));
    Document answer = Shape.parse(reply.body);
    assertEquals("QueueInfo", answer.getDocumentElement().getTagName());
    return answer.getElementsByTagName(element).item(0).getTextContent();
  }

  private static double number(Reply reply, String element) throws Exception {
    return Double.parseDouble(text(reply, element));
  }

  private double rate(String address) throws Exception {
    return number(send(address, "info=alice", ALICE), "spending");
  }

  private static void denied(int status, Reply reply) {
    assertEquals(reply.toString(), status, reply.status);
    assertTrue(reply.toString(), reply.body.contains("ACCESS DENIED"));
  }

  // The engine's tests cover billing: nothing runs here, so budgets do not change.

  @Test
  public void publishedCommandsServeThoseWhoMay() throws Exception {
    try (MiniManager manager = manager()) {
      String rm = manager.address;
      assertEquals(0, number(manager.get("/scheduler?price"), "price"), 0);
      double before = System.currentTimeMillis() - CLOCK_MS;
      double time = number(manager.get("/scheduler?time"), "time");
      double after = System.currentTimeMillis() + CLOCK_MS;
      assertTrue(before + " <= " + time + " <= " + after, before <= time && time <= after);
      assertEquals(100, number(send(rm, "info=alice", ALICE), "budget"), 0);
      assertEquals(2.5, number(send(rm, "setSpending=2.5&queue=alice", ALICE), "spending"), 0);
      assertEquals(2.5, rate(rm), 0);
      assertEquals(62, number(change(rm, "addBudget=12&queue=bob"), "budget"), 0);
      assertEquals(0, number(change(rm, "addQueue=carol"), "budget"), 0);
      assertTrue(send(rm, "infos", ROOT).body.contains("carol"));
      assertEquals(200, change(rm, "removeQueue=carol").status);

      denied(401, manager.get("/scheduler?infos"));
      denied(403, send(rm, "infos", ALICE));
      denied(403, send(rm, "info=bob", ALICE));
      denied(403, send(rm, "setSpending=9&queue=bob", ALICE));
      denied(403, send(rm, "addBudget=9&queue=alice", ALICE));
      denied(401, MiniManager.send(rm, "GET", sign("setSpending=9&queue=alice", ALICE).path,
          null, null, sign("setSpending=8&queue=alice", ALICE).authorization));
      for (String amount : new String[] {"NaN", "Infinity", "-1", "1e300", "x"}) {
        assertEquals(amount, 400, send(rm, "setSpending=" + amount + "&queue=alice", ALICE).status);
      }
      assertEquals(2.5, rate(rm), 0);

      Reply price = manager.get("/heddle/v1/price");
      assertEquals(price.toString(), 200, price.status);
      assertEquals(0, json(price).path("price_micro").asInt(-1));
      assertEquals(401, manager.get("/heddle/v1/ledger").status);
      assertTrue(json(manager.get("/heddle/v1/openapi.json")).path("paths").size() > 10);
    }
  }

  @Test
  public void accountsOutliveTheEngineAndTheResourceManager() throws Exception {
    // Ahead of the clock, within the tolerance: the next manager's start is then no reason to
    // refuse.
    lastMs = System.currentTimeMillis() + AHEAD_MS;
    Signed bid = sign("setSpending=0.5&queue=alice", ALICE);
    try (MiniManager manager = manager()) {
      assertEquals(0.5, number(bid.send(manager.address), "spending"), 0);
      assertEquals(57.25, number(change(manager.address, "addBudget=7.25&queue=bob"), "budget"), 0);
      denied(401, bid.send(manager.address));
      panic((HeddleScheduler) manager.manager.getResourceScheduler());
      // Until it has them, it shows no accounts, not even the configured ones.
      Await.until("the new engine has the accounts", Await.SECONDS,
          () -> send(manager.address, "info=alice", ALICE).status != 503);
      assertEquals(0.5, rate(manager.address), 0);
      denied(401, bid.send(manager.address));
    }
    try (MiniManager manager = manager()) {
      assertEquals(0.5, rate(manager.address), 0);
      assertEquals(57.25, number(send(manager.address, "info=bob", ROOT), "budget"), 0);
      denied(401, bid.send(manager.address));
    }
  }

  static void panic(HeddleScheduler scheduler) {
    scheduler.inspection().injectFault(1);
  }

  @Test
  public void accountsMoveWithTheActiveResourceManager() throws Exception {
    Path folder = Files.createTempDirectory("pair");
    try (MiniPair pair = new MiniPair(configuration(folder), folder)) {
      pair.activate(0);
      booksAreOpen(pair.addresses[0]);
      lastMs = System.currentTimeMillis() + AHEAD_MS;
      Signed bid = sign("setSpending=0.25&queue=alice", ALICE);
      assertEquals(0.25, number(bid.send(pair.addresses[0]), "spending"), 0);
      pair.activate(1);
      booksAreOpen(pair.addresses[1]);
      assertEquals(0.25, rate(pair.addresses[1]), 0);
      denied(401, bid.send(pair.addresses[1]));
      Reply standby = send(pair.addresses[0], "setSpending=4&queue=alice", ALICE);
      assertNotEquals(standby.toString(), 200, standby.status);
      assertEquals(0.75,
          number(send(pair.addresses[1], "setSpending=0.75&queue=alice", ALICE), "spending"), 0);
      pair.activate(0);
      booksAreOpen(pair.addresses[0]);
      assertEquals(0.75, rate(pair.addresses[0]), 0);
    }
  }
}
