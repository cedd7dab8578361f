package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.Native;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.web.ApiHandler;
import java.io.IOException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.ThreadFactoryBuilder;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the library's service beside the engine: the books of the accounts, which outlive engines
 * and ResourceManagers, and the answers over HTTP. Provides a thread, the current engine and the
 * time. Only {@link #submit}, which never waits, runs on the scheduling thread. Nothing here takes
 * the scheduler's lock, because a store may be slow.
 */
public final class Economy implements ApiHandler.Library {
  private static final long PERIOD_MS = 1000;
  /** How long {@link #stop} waits for the thread's current work. */
  private static final long STOPPING_MS = 5000;
  /** The library's prefix of audit lines, which go to a logger of their own. */
  private static final String AUDIT = "heddle.audit ";
  private static final Logger AUDIT_LOG = LoggerFactory.getLogger("heddle.audit");
  private static final Logger LOG = LoggerFactory.getLogger(Economy.class);

  private final Engine engine;
  private final String owner;
  /** The content of heddle.json at the start. */
  private final JsonNode content;
  private final ScheduledExecutorService thread;
  private long service;
  private boolean stopped;
  private String lastState = "";
  private volatile JsonNode lastBooks = MissingNode.getInstance();

  private Economy(Engine engine, JsonNode content, Configuration conf) {
    this.engine = engine;
    this.content = content;
    String host = NetUtils.getLocalHostname();
    String id = conf.get(YarnConfiguration.RM_HA_ID);
    owner = id == null ? host : id + " on " + host;
    service = Native.openService(SetupJson.service(content, Time.now()));
    thread = Executors.newSingleThreadScheduledExecutor(new ThreadFactoryBuilder().setDaemon(true)
        .setNameFormat("heddle-economy-%d").build());
  }

  /**
   * Makes the service from a configuration.
   *
   * @throws IOException if a setting is wrong; its message names the file and the key
   */
  public static Economy of(Engine engine, ConfigFile file, Configuration conf) throws IOException {
    try {
      return new Economy(engine, file.content(), conf);
    } catch (HeddleException e) {
      throw new IOException(file.source() + ": " + e.getMessage(), e);
    }
  }

  /** Takes over the store, because this ResourceManager is active now. */
  public synchronized void start() {
    Native.activateService(service, owner, Time.now());
    thread.scheduleWithFixedDelay(this::pump, 0, PERIOD_MS, TimeUnit.MILLISECONDS);
  }

  /** Warns of changed sections of a reloaded file that need a restart. */
  public void warnOfChanges(ConfigFile file) {
    for (String section : new String[] {"api", "store"}) {
      if (!file.content().path(section).equals(content.path(section))) {
        LOG.warn("{}: section `{}` has changed but is read at the start only, so the old one stays"
            + " in force: restart this ResourceManager, or fail over", file.source(), section);
      }
    }
  }

  /** Returns the state of the books as last heard. */
  public JsonNode books() {
    return lastBooks;
  }

  private void pump() {
    try {
      JsonNode books = SetupJson.read(
          Native.pumpService(service, engine.handle(), EngineClock.nowMs(), Time.now()));
      log(books);
      lastBooks = books;
      String state = books.path("state").asText();
      if (!state.equals(lastState)) {
        LOG.info("The books are {}: {}", state, books);
        lastState = state;
      }
    } catch (Throwable e) {
      // Caught, because the executor would not run it again.
      LOG.error("The books could not be brought up to date", e);
    }
  }

  /**
   * Answers an HTTP request.
   *
   * @param head as for {@link Native#serve}
   */
  @Override
  public byte[] serve(String head, byte[] body) {
    return Native.serve(service, engine.handle(), EngineClock.nowMs(), Time.now(), head, body);
  }

  @Override
  public byte[] reloaded(JsonNode written, String problem) {
    ObjectNode question = SetupJson.object().put("op", "reloaded").put("problem", problem);
    question.set("written", written);
    return Native.ask(question.toString());
  }

  /** Checks a submission, on the scheduling thread; see {@link Native#submit}. */
  JsonNode submit(String submitted) {
    JsonNode answer = SetupJson.read(
        Native.submit(service, EngineClock.nowMs(), Time.now(), submitted));
    log(answer);
    return answer;
  }

  /** Writes pending entries, if the store accepts them, and closes the service. */
  public synchronized void stop() {
    if (stopped) {
      return;
    }
    stopped = true;
    thread.shutdown();
    try {
      if (!thread.awaitTermination(STOPPING_MS, TimeUnit.MILLISECONDS)) {
        LOG.warn("The store did not answer within {} ms; pending entries of the books may be lost",
            STOPPING_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    JsonNode books = SetupJson.read(Native.closeService(service, Time.now()));
    log(books);
    LOG.info("The books are closed: {}", books);
  }

  /** Logs the lines of an answer and takes them out; the library itself calls no logger. */
  @Override
  public void log(JsonNode told) {
    for (JsonNode line : told.path("log")) {
      String text = line.path(1).asText();
      if (text.startsWith(AUDIT)) {
        AUDIT_LOG.info(text.substring(AUDIT.length()));
      } else {
        Engine.log(LOG, line.path(0).asInt(), text);
      }
    }
    ((ObjectNode) told).remove("log");
  }
}
