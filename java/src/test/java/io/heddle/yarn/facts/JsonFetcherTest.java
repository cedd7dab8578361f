package io.heddle.yarn.facts;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.NativeLibrary;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import org.junit.After;
import org.junit.BeforeClass;
import org.junit.Test;

/**
 * Tests hostile servers: every call ends in bounded time and memory, and no answer is accepted.
 * Newest Hadoop only: the client is Heddle's own.
 */
public class JsonFetcherTest {
  /** Time limit of a test. Calls end after a few seconds; a busy machine may be slower. */
  private static final int HANGS_MS = 60_000;
  private static final String OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

  private final ScheduledExecutorService watchdog = Executors.newScheduledThreadPool(1);
  private final JsonFetcher fetcher = new JsonFetcher(watchdog, 2);

  @BeforeClass
  public static void load() {
    NativeLibrary.load(System.getProperty(NativeLibrary.PATH_PROPERTY));
  }

  @After
  public void close() throws IOException {
    fetcher.close();
    watchdog.shutdownNow();
  }

  /** The behaviour of a server after a request. */
  private interface Script {
    void play(Socket client, OutputStream out) throws Exception;
  }

  private static void pause(int ms) throws InterruptedException {
    Thread.sleep(ms);
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.US_ASCII));
    out.flush();
  }

  /** Reads the whole request: closing a connection with unread input would reset it. */
  private static void readRequest(InputStream in) throws IOException {
    StringBuilder request = new StringBuilder();
    while (request.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      if (next < 0) {
        return;
      }
      request.append((char) next);
    }
  }

  /** Sends a request to a server that follows a script; returns why the answer was refused. */
  private String refusal(Script script) throws Exception {
    try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getByName("localhost"))) {
      Thread thread = new Thread(() -> {
        try (Socket client = server.accept()) {
          readRequest(client.getInputStream());
          script.play(client, client.getOutputStream());
        } catch (Exception e) {
          // The client closed the connection, as it should.
        }
      });
      thread.setDaemon(true);
      thread.start();
      try {
        fetcher.get(URI.create("http://localhost:" + server.getLocalPort() + "/x"));
      } catch (IOException e) {
        return e.toString();
      } finally {
        thread.interrupt();
      }
    }
    fail("an answer was believed");
    return null;
  }

  private String refusalOfBody(String body) throws Exception {
    return refusal((client, out) ->
        write(out, OK + "Content-Length: " + body.length() + "\r\n\r\n" + body));
  }

  private static void assertContains(String part, String text) {
    assertTrue(text, text.contains(part));
  }

  @Test(timeout = HANGS_MS)
  public void anAnswerIsRead() throws Exception {
    try (LoopbackServer server = new LoopbackServer().answer(
        "/a?b=c", "{\"job\": {\"mapsTotal\": 7, \"reducesTotal\": \"2\"}}")) {
      JsonNode totals = fetcher.get(URI.create(server.url() + "/a?b=c"));
      assertEquals("[7,2,-1,-1,{\"progress\":[],\"tasks\":[\"m\",\"r\"],\"traffic\":[]}]",
          totals.toString());
    }
  }

  @Test(timeout = HANGS_MS)
  public void redirectsAreNotFollowed() throws Exception {
    try (LoopbackServer other = new LoopbackServer().answer("/", "{}");
        LoopbackServer server = new LoopbackServer()) {
      server.location = other.url() + "/";
      for (int status : new int[] {301, 302, 303, 307, 308}) {
        server.status = status;
        try {
          fetcher.get(URI.create(server.url() + "/"));
          fail("followed " + status);
        } catch (IOException e) {
          assertContains("status " + status, e.toString());
        }
      }
      assertTrue(other.asked.isEmpty());
    }
  }

  @Test(timeout = HANGS_MS)
  public void errorsAndPagesAreNoAnswers() throws Exception {
    assertContains("status 500", refusal((client, out) ->
        write(out, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}")));
    assertContains("expected JSON", refusal((client, out) -> write(out,
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n{}")));
    refusal((client, out) -> write(out, "no HTTP at all\r\n\r\n"));
    refusal((client, out) -> client.close());
  }

  @Test(timeout = HANGS_MS)
  public void anEndlessBodyIsCutOff() throws Exception {
    byte[] spaces = new byte[1 << 16];
    Arrays.fill(spaces, (byte) ' ');
    assertContains("more than", refusal((client, out) -> {
      write(out, OK + "\r\n");
      while (true) {
        out.write(spaces);
      }
    }));
    // The server announces more than it sends.
    refusal((client, out) -> write(out, OK + "Content-Length: 9000000000\r\n\r\n{\"a\": 1}"));
  }

  @Test(timeout = HANGS_MS)
  public void endlessHeadersAreCutOff() throws Exception {
    refusal((client, out) -> {
      write(out, "HTTP/1.1 200 OK\r\n");
      while (true) {
        write(out, "X: y\r\n");
      }
    });
    refusal((client, out) -> {
      write(out, "HTTP/1.1 200 OK\r\nX: ");
      while (true) {
        write(out, "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
      }
    });
  }

  @Test(timeout = HANGS_MS)
  public void silentAndSlowServersAreLeft() throws Exception {
    refusal((client, out) -> pause(HANGS_MS));
    // Each piece comes in time, but the end never: first of the body, then of the headers.
    refusal((client, out) -> {
      write(out, OK + "\r\n");
      while (true) {
        write(out, " ");
        pause(200);
      }
    });
    refusal((client, out) -> {
      write(out, OK + "X: ");
      while (true) {
        write(out, "y");
        pause(200);
      }
    });
  }

  @Test(timeout = HANGS_MS)
  public void jsonThatHarmsItsReaderIsRefused() throws Exception {
    refusalOfBody(repeat("[", 200_000));
    refusalOfBody(repeat("{\"a\":", 200_000));
    refusalOfBody("{\"a\": " + repeat("9", 900_000) + "}");
    refusalOfBody("{\"a\": " + repeat("9", 900) + "}");
    assertContains("no JSON object", refusalOfBody("[]"));
    assertContains("no JSON object", refusalOfBody("7"));
    for (String nonsense : new String[] {"", "{", "{\"a\"", "<job/>", "\u0000", "{\"a\": 1}}"}) {
      refusalOfBody(nonsense);
    }
  }

  private static String repeat(String text, int times) {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < times; i++) {
      all.append(text);
    }
    return all.toString();
  }
}
