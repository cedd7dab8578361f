package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Allocations;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.EngineConfig;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueControl;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.ThreadFactoryBuilder;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings heddle.json, a stock scheduler's file and the allocations file into force at the start and
 * when an administrator asks for it; followed files also whenever they have changed. A wrong file
 * changes nothing.
 *
 * <p>A daemon thread of its own looks at followed files, because a file system may hang. It takes
 * the scheduler's lock only for a file that has changed.
 */
public final class ConfigControl {
  private static final Logger LOG = LoggerFactory.getLogger(ConfigControl.class);
  /** The interval of HADOOP-3746, and of the Fair Scheduler. */
  private static final long LOOK_MS = 10_000;

  private final Engine engine;
  private final QueueControl queues;
  private final Names names;
  private final Lock lock;
  private final ScheduledThreadPoolExecutor clock;
  // Held from the reading of the files to the end of a reload, so that no older reading comes into
  // force after a newer one. Taken before the scheduler's lock.
  private final Object reloading = new Object();
  // Replaced with the scheduler's lock held; any thread may read them.
  private volatile ConfigFile config;
  private volatile FollowedFile pools;
  // Whether the log has that the shadow was dropped; used by the looking thread only.
  private boolean shadowTold;

  /** Takes over the text of a file that has changed. */
  private interface Taking {
    void take(String text) throws IOException;
  }

  /**
   * Prepares, and reads nothing.
   *
   * @param names the numbers by which the engine knows users and node labels
   * @param lock the scheduler's write lock
   */
  public ConfigControl(Engine engine, QueueControl queues, Names names, Lock lock) {
    this.engine = engine;
    this.queues = queues;
    this.names = names;
    this.lock = lock;
    clock = new ScheduledThreadPoolExecutor(1, new ThreadFactoryBuilder().setDaemon(true)
        .setNameFormat("heddle-files-%d").build());
  }

  public void start() {
    clock.scheduleWithFixedDelay(
        () -> look(Time.now()), LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
  }

  public void stop() {
    clock.shutdownNow();
  }

  /**
   * Makes the engine; called with the scheduler's lock held. A wrong allocations file does not stop
   * the ResourceManager's start: the rest is in force without it until it is right.
   *
   * @throws IOException if heddle.json or what is below it is wrong, with the file, the key and
   *     what was expected
   */
  public void open(ConfigFile first, Configuration conf) throws IOException {
    config = first;
    pools = first.allocations();
    try {
      engine.open(first.forEngine(names));
    } catch (HeddleException e) {
      throw new IOException(first.source() + ": " + e.getMessage(), e);
    }
    first.log(LOG);
    queues.setStock(first.shown());
    queues.open();
    FollowedFile file = pools;
    if (file != null) {
      try {
        takePools(file, file.read());
      } catch (IOException e) {
        complain(file, null, e.getMessage());
      }
    }
    cast(ShadowFiles.read(conf));
  }

  /** Begins or ends a shadow, with the lock held. A wrong candidate is only reported. */
  private void cast(ShadowFiles shadow) {
    if (shadow == null) {
      engine.cast(null, null, null);
      return;
    }
    EngineConfig candidate = null;
    String wrong = shadow.wrong;
    if (wrong == null) {
      try {
        Allocations read =
            shadow.pools == null ? null : read(shadow.pools, shadow.poolsText);
        candidate = shadow.config.forEngine(names).with(read);
        LOG.info("{} is the candidate of a shadow", shadow.name);
      } catch (IOException | RuntimeException e) {
        wrong = String.valueOf(e.getMessage());
      }
    }
    engine.cast(shadow.name, candidate, wrong);
  }

  /**
   * Reads the configuration again, and takes over it and the allocations file that it names, both
   * or neither.
   *
   * @param capacity where the Capacity Scheduler's properties are
   * @return the configuration in force
   * @throws IOException saying which file, where in it, what was expected and what to do
   */
  public ConfigFile reload(Configuration conf, CapacitySource capacity)
      throws IOException {
    synchronized (reloading) {
      ConfigFile next = config.again(conf, capacity);
      FollowedFile file = next.allocations();
      String text = file == null ? null : textOf(file);
      ShadowFiles shadow = ShadowFiles.read(conf);
      takeOver(next, file, text, shadow);
      return next;
    }
  }

  private void takeOver(ConfigFile next, FollowedFile file, String text, ShadowFiles shadow)
      throws IOException {
    lock.lock();
    try {
      Allocations read = text == null ? null : read(file, text);
      try {
        queues.reload(next.forEngine(names).with(read));
      } catch (HeddleException e) {
        throw new IOException(next.source() + ": " + e.getMessage(), e);
      }
      config = next;
      queues.setStock(next.shown());
      pools = file;
      next.log(LOG);
      if (file != null) {
        inForce(file, read);
      }
      cast(shadow);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Reads the configuration and takes nothing over. The allocations file is not read; {@link
   * #reload} may refuse it for that. Takes no lock.
   *
   * @throws IOException if the library or an engine would refuse it
   */
  public void check(Configuration conf, CapacitySource capacity) throws IOException {
    ConfigFile next = config.again(conf, capacity);
    String fault = SetupJson.fault(next.content());
    if (fault != null) {
      throw new IOException(next.source() + ": " + fault);
    }
  }

  /** Reads a file at once; if the file in force cannot be read again, returns its last text. */
  private String textOf(FollowedFile next) throws IOException {
    FollowedFile before = pools;
    try {
      return next.read();
    } catch (IOException e) {
      Allocations last = engine.config().allocations();
      if (last == null || before == null || !before.name().equals(next.name())) {
        throw e;
      }
      complain(next, null, e.getMessage());
      return last.text();
    }
  }

  /** Has the engine read a text. */
  private Allocations read(FollowedFile from, String text) throws IOException {
    try {
      String reply = engine.demand(SetupJson.request("allocations", "text", text));
      return new Allocations(text, SetupJson.read(reply), names.users);
    } catch (HeddleException e) {
      throw new IOException(from.name() + ": " + e.getMessage(), e);
    }
  }

  /** Returns the name of heddle.json; null if there is none, or none that is a file. */
  public String json() {
    return config.json();
  }

  /** Returns the warnings about the configuration in force. */
  public List<String> warnings() {
    return config.warnings();
  }

  /** Returns the stock scheduler's file that heddle.json lies over, as it was read; else null. */
  public ObjectNode below() {
    return config.below();
  }

  /** Returns whether rules of placement ask for more of a submission than its user and queue. */
  public boolean placesByFacts() {
    return config.placesByFacts();
  }

  // ---- Files that are followed.

  /**
   * Takes over each followed file that has changed and settled. Never throws.
   *
   * @param nowMs wall clock
   */
  void look(long nowMs) {
    tellOfShadow();
    ConfigFile current = config;
    follow(current.fair(), nowMs, text -> takeFair(current, text));
    FollowedFile file = pools;
    follow(file, nowMs, text -> {
      lock.lock();
      try {
        if (pools == file) {
          takePools(file, text);
        }
      } finally {
        lock.unlock();
      }
    });
  }

  /** Says once that the shadow was dropped. */
  private void tellOfShadow() {
    JsonNode status = engine.shadow();
    boolean dropped = status.path("state").asText().equals("dropped");
    if (dropped && !shadowTold) {
      LOG.error("{}: the shadow was dropped: {}. Scheduling is not affected. To begin another"
          + " one, change the file and run `yarn rmadmin -refreshQueues`",
          status.path("name").asText(), status.path("why").asText());
    }
    shadowTold = dropped;
  }

  private void follow(FollowedFile file, long nowMs, Taking taking) {
    if (file == null) {
      return;
    }
    try {
      String text = file.readIfChanged(nowMs);
      if (text != null) {
        taking.take(text);
      }
    } catch (IOException e) {
      complain(file, null, e.getMessage());
    } catch (Throwable e) {
      // It would be the last look.
      complain(file, null, e.toString());
    }
  }

  /** Takes over another text of the Fair Scheduler's file; translates it without the lock. */
  private void takeFair(ConfigFile current, String text) {
    FollowedFile file = current.fair();
    try {
      ConfigFile next = current.withFair(text);
      lock.lock();
      try {
        if (next == null) {
          file.isNews("");
        } else if (config != current || !engine.ready()) {
          file.again();
        } else {
          queues.reload(next.forEngine(names).with(engine.config().allocations()));
          config = next;
          queues.setStock(next.shown());
          file.isNews("");
          LOG.info("{} is in force", file.name());
          next.log(LOG);
        }
      } finally {
        lock.unlock();
      }
    } catch (IOException | HeddleException e) {
      refuse(file, text, e);
    }
  }

  /** Takes over another text of the allocations file; called with the lock held. */
  private void takePools(FollowedFile current, String text) {
    Allocations last = engine.config().allocations();
    if (last != null && last.text().equals(text)) {
      inForce(current, null);
      return;
    }
    if (!engine.ready()) {
      current.again();
      return;
    }
    try {
      Allocations read = read(current, text);
      queues.reload(engine.config().with(read));
      inForce(current, read);
    } catch (IOException | HeddleException e) {
      refuse(current, text, e);
    }
  }

  /** Reports a refused text, or has it tried again if the engine was lost while it read it. */
  private void refuse(FollowedFile file, String text, Exception e) {
    if (engine.up()) {
      complain(file, text, e.getMessage());
    } else {
      file.again();
    }
  }

  /** Clears the complaint about a file; logs the warnings of a new text. */
  private void inForce(FollowedFile from, Allocations read) {
    from.isNews("");
    if (read == null) {
      return;
    }
    LOG.info("{} is in force, with {} pools", from.name(), read.pools());
    for (String warning : read.warnings()) {
      LOG.warn("{}: {}", from.name(), warning);
    }
  }

  /** Logs a problem once for each content of the file, or once if it cannot be read. */
  private void complain(FollowedFile with, String text, String problem) {
    if (!with.isNews(problem + '\n' + text)) {
      return;
    }
    String name = with.name();
    LOG.error("{} (the configuration in force stays; the file is checked every {} s)",
        problem.startsWith(name) ? problem : name + ": " + problem, LOOK_MS / 1000);
  }
}
