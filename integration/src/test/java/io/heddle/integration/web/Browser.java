package io.heddle.integration.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.integration.cluster.Await;
import java.io.File;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.hadoop.fs.FileUtil;

/**
 * A headless Chromium with one page, driven by its DevTools protocol. It has its own process,
 * profile folder and port, and is ended by its process id. Knows nothing about Heddle's pages.
 */
public final class Browser implements AutoCloseable {
  /** Bounds hanging. */
  private static final int SECONDS = 300;
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Keys by name, with their codes on Windows, which the protocol wants. */
  private static final Map<String, Integer> KEYS = Map.of("Tab", 9, "Enter", 13, "Escape", 27,
      "End", 35, "Home", 36, "ArrowLeft", 37, "ArrowRight", 39);

  private final Process process;
  private final Path profile;
  private final AtomicInteger lastId = new AtomicInteger();
  private final Map<Integer, CompletableFuture<JsonNode>> waiting = new ConcurrentHashMap<>();
  private final Map<String, Consumer<JsonNode>> listeners = new ConcurrentHashMap<>();
  private final List<String> complaints = new CopyOnWriteArrayList<>();
  private final List<String> requests = new CopyOnWriteArrayList<>();
  private WebSocket socket;
  private String session;

  private Browser(Process process, Path profile) {
    this.process = process;
    this.profile = profile;
  }

  public static Browser start() throws Exception {
    Path profile = Files.createTempDirectory("chromium");
    File log = profile.resolve("log").toFile();
    // Chromium's sandbox does not work for root; only Heddle's own page is loaded.
    Process process = new ProcessBuilder("chromium", "--headless", "--no-sandbox",
        "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
        "--disable-background-networking", "--disable-component-update", "--lang=en-US",
        "--remote-debugging-port=0", "--user-data-dir=" + profile, "about:blank")
        .redirectErrorStream(true).redirectOutput(log).start();
    Browser browser = new Browser(process, profile);
    try {
      browser.connect();
    } catch (Exception | Error e) {
      browser.close();
      throw e;
    }
    return browser;
  }

  private void connect() throws Exception {
    Path port = profile.resolve("DevToolsActivePort");
    Await.until("Chromium has its port", SECONDS,
        () -> Files.exists(port) && Files.readAllLines(port).size() >= 2,
        () -> "alive: " + process.isAlive());
    List<String> lines = Files.readAllLines(port);
    URI address = URI.create("ws://127.0.0.1:" + lines.get(0) + lines.get(1));
    socket = HttpClient.newHttpClient().newWebSocketBuilder()
        .buildAsync(address, new Listener()).get(SECONDS, TimeUnit.SECONDS);
    JsonNode target = call("Target.createTarget", "{\"url\": \"about:blank\"}");
    ObjectNode attach = JSON.createObjectNode().put("flatten", true);
    attach.set("targetId", target.get("targetId"));
    session = call("Target.attachToTarget", attach.toString()).get("sessionId").asText();
    for (String domain : new String[] {"Page", "Runtime", "Log", "Network"}) {
      call(domain + ".enable", "{}");
    }
    // A headless window has no focus of its own.
    call("Emulation.setFocusEmulationEnabled", "{\"enabled\": true}");
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        try {
          heard(JSON.readTree(text.toString()));
        } catch (Exception e) {
          complaints.add("not understood: " + e);
        }
        text.setLength(0);
      }
      from.request(1);
      return null;
    }
  }

  private void heard(JsonNode message) {
    JsonNode params = message.path("params");
    String method = message.path("method").asText();
    if (message.has("id")) {
      CompletableFuture<JsonNode> answer = waiting.remove(message.get("id").asInt());
      if (answer != null) {
        answer.complete(message);
      }
    } else if (method.equals("Network.requestWillBeSent")) {
      requests.add(params.path("request").path("url").asText());
    } else if (method.equals("Page.javascriptDialogOpening")
        || method.equals("Runtime.exceptionThrown")
        || isError(method, params)) {
      complaints.add(message.toString());
    }
    Consumer<JsonNode> listener = listeners.get(method);
    if (listener != null) {
      listener.accept(params);
    }
  }

  private static boolean isError(String method, JsonNode params) {
    return method.equals("Runtime.consoleAPICalled") && params.path("type").asText().equals("error")
        || method.equals("Log.entryAdded")
        && params.path("entry").path("level").asText().equals("error");
  }

  /** Calls a method of the protocol and returns its result. */
  public JsonNode call(String method, String params) throws Exception {
    JsonNode answer = send(method, params).get(SECONDS, TimeUnit.SECONDS);
    if (answer.has("error")) {
      throw new AssertionError(method + " " + params + ": " + answer.get("error"));
    }
    return answer.get("result");
  }

  /** Calls a method without waiting, as a listener must. */
  CompletableFuture<JsonNode> send(String method, String params) throws Exception {
    ObjectNode message = JSON.createObjectNode();
    int id = lastId.incrementAndGet();
    message.put("id", id).put("method", method);
    message.set("params", JSON.readTree(params));
    if (session != null) {
      message.put("sessionId", session);
    }
    CompletableFuture<JsonNode> answer = new CompletableFuture<>();
    waiting.put(id, answer);
    synchronized (this) {
      socket.sendText(message.toString(), true).get(SECONDS, TimeUnit.SECONDS);
    }
    return answer;
  }

  /** Calls the listener for every event of this name, on the connection's thread. */
  void listen(String event, Consumer<JsonNode> listener) {
    listeners.put(event, listener);
  }

  /** Returns errors on the console, exceptions, and dialogs that a script opened; forgets them. */
  public List<String> takeComplaints() {
    List<String> taken = List.copyOf(complaints);
    complaints.clear();
    return taken;
  }

  /** Returns the addresses of all requests until now: a copy, because the page goes on asking. */
  List<String> requests() {
    return List.copyOf(requests);
  }

  /** Opens a page and waits until its scripts have begun. */
  public void open(String url) throws Exception {
    call("Page.navigate", JSON.createObjectNode().put("url", url).toString());
    await("the page is there", "location.href.startsWith('http')"
        + " && document.readyState === 'complete'");
  }

  /** Returns the value of an expression in the page; awaits a promise. */
  public JsonNode evaluate(String expression) throws Exception {
    ObjectNode params = JSON.createObjectNode().put("expression", expression);
    params.put("awaitPromise", true).put("returnByValue", true);
    JsonNode result = call("Runtime.evaluate", params.toString());
    if (result.has("exceptionDetails")) {
      throw new AssertionError(expression + ": " + result.get("exceptionDetails"));
    }
    return result.path("result").path("value");
  }

  public void await(String what, String condition) throws Exception {
    Await.until(what, SECONDS, () -> evaluate(condition).asBoolean(), this::describe);
  }

  private String describe() {
    try {
      return evaluate("document.body.innerText").asText() + "\nfocus: "
          + evaluate("document.activeElement.outerHTML.slice(0, 200)").asText()
          + "\ncomplaints: " + complaints;
    } catch (Exception | AssertionError e) {
      return e.toString();
    }
  }

  /** Presses and releases a key: Tab, Enter, Escape. */
  void press(String key) throws Exception {
    int code = KEYS.get(key);
    ObjectNode event = JSON.createObjectNode().put("key", key).put("code", key);
    event.put("windowsVirtualKeyCode", code);
    if (key.equals("Enter")) {
      event.put("text", "\r");
    }
    call("Input.dispatchKeyEvent", event.put("type", "keyDown").toString());
    event.remove("text");
    call("Input.dispatchKeyEvent", event.put("type", "keyUp").toString());
  }

  /** Replaces the text of the focused element. */
  void type(String text) throws Exception {
    ObjectNode all = JSON.createObjectNode().put("type", "rawKeyDown").put("key", "a");
    all.putArray("commands").add("selectAll");
    call("Input.dispatchKeyEvent", all.toString());
    call("Input.insertText", JSON.createObjectNode().put("text", text).toString());
  }

  @Override
  public void close() {
    // Its helpers end with it, but a moment later.
    List<ProcessHandle> helpers = process.descendants().toList();
    process.destroy();
    try {
      process.onExit().get(10, TimeUnit.SECONDS);
    } catch (Exception e) {
      process.destroyForcibly();
    }
    helpers.forEach(ProcessHandle::destroyForcibly);
    FileUtil.fullyDelete(profile.toFile());
  }
}
