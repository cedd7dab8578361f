package io.heddle.yarn.config;

import io.heddle.yarn.engine.Allocations;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueControl;
import java.io.IOException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.util.concurrent.ThreadFactoryBuilder;
import org.apache.hadoop.util.Time;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings heddle.json and the allocations file into force: at the start, when an administrator asks
 * for it, and the latter whenever it has changed. A wrong file changes nothing.
 *
 * <p>The allocations file is looked at by a daemon thread of its own, as a file system may hang;
 * the scheduler's lock is taken only for what has changed.
 */
public final class ConfigControl {
  private static final Logger LOG = LoggerFactory.getLogger(ConfigControl.class);
  /** HADOOP-3746's interval. */
  private static final long LOOK_MS = 10_000;

  private final Engine engine;
  private final QueueControl queues;
  private final Interner users;
  private final Lock lock;
  private final ScheduledThreadPoolExecutor clock;
  // Replaced with the lock held; otherwise of the looking thread alone.
  private volatile AllocationsFile file;
  private String complaint = "";

  /**
   * Prepares, and reads nothing.
   *
   * @param users the numbers by which the engine knows users
   * @param lock the scheduler's write lock
   */
  public ConfigControl(Engine engine, QueueControl queues, Interner users, Lock lock) {
    this.engine = engine;
    this.queues = queues;
    this.users = users;
    this.lock = lock;
    clock = new ScheduledThreadPoolExecutor(1, new ThreadFactoryBuilder().setDaemon(true)
        .setNameFormat("heddle-allocations-%d").build());
  }

  public void start() {
    clock.scheduleWithFixedDelay(
        () -> look(Time.now()), LOOK_MS, LOOK_MS, TimeUnit.MILLISECONDS);
  }

  public void stop() {
    clock.shutdownNow();
  }

  /**
   * Makes the engine, with the lock held. A wrong allocations file does not keep the cluster
   * without a ResourceManager: heddle.json holds alone until the file is right.
   *
   * @throws IOException if heddle.json is wrong, with the file, the key and what was expected
   */
  public void open(ConfigFile config, Configuration conf) throws IOException {
    file = AllocationsFile.named(config, conf);
    try {
      engine.open(config.content(), null);
    } catch (HeddleException e) {
      throw new IOException(config.source() + ": " + e.getMessage(), e);
    }
    queues.open();
    if (file != null) {
      try {
        take(file, file.read());
      } catch (IOException e) {
        complain(file, null, e.getMessage());
      }
    }
  }

  /**
   * Takes over heddle.json and the allocations file that it names, both or neither.
   *
   * @throws IOException saying which file, where in it, what was expected and what to do
   */
  public void reload(ConfigFile config, Configuration conf) throws IOException {
    AllocationsFile next = AllocationsFile.named(config, conf);
    String text = next == null ? null : textOf(next);
    lock.lock();
    try {
      Allocations read = text == null ? null : read(next, text);
      try {
        queues.reload(config.content(), read);
      } catch (HeddleException e) {
        throw new IOException(config.source() + ": " + e.getMessage(), e);
      }
      file = next;
      inForce(next, read);
    } finally {
      lock.unlock();
    }
  }

  /** Reads a file at once; one that has gone since it was read still holds as it was. */
  private String textOf(AllocationsFile next) throws IOException {
    AllocationsFile before = file;
    try {
      return next.read();
    } catch (IOException e) {
      Allocations last = engine.allocations();
      if (last == null || before == null || !before.path().equals(next.path())) {
        throw new IOException(next.path() + ": " + e.getMessage(), e);
      }
      complain(next, null, e.getMessage());
      return last.text();
    }
  }

  /** Has the engine read a text. */
  private Allocations read(AllocationsFile from, String text) throws IOException {
    try {
      String reply = engine.demand(SetupJson.request("allocations", "text", text));
      return new Allocations(text, SetupJson.read(reply), users);
    } catch (HeddleException e) {
      throw new IOException(from.path() + ": " + e.getMessage(), e);
    }
  }

  // ---- The allocations file alone.

  /**
   * Takes over the allocations file if it has changed and settled. Never throws.
   *
   * @param nowMs wall clock
   */
  void look(long nowMs) {
    AllocationsFile current = file;
    if (current == null) {
      return;
    }
    try {
      String text = current.readIfChanged(nowMs);
      if (text == null) {
        return;
      }
      lock.lock();
      try {
        if (file == current) {
          take(current, text);
        }
      } finally {
        lock.unlock();
      }
    } catch (IOException e) {
      complain(current, null, e.getMessage());
    } catch (Throwable e) {
      // It would be the last look.
      complain(current, null, e.toString());
    }
  }

  /** With the lock held. */
  private void take(AllocationsFile current, String text) {
    Allocations last = engine.allocations();
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
      queues.reload(engine.config(), read);
      inForce(current, read);
    } catch (IOException | HeddleException e) {
      if (engine.up()) {
        complain(current, text, e.getMessage());
      } else {
        current.again();
      }
    }
  }

  /** Nothing is wrong any more; logs the warnings of a text that is new. */
  private synchronized void inForce(AllocationsFile from, Allocations read) {
    complaint = "";
    if (read == null) {
      return;
    }
    LOG.info("{} is in force, with {} pools", from.path(), read.pools());
    for (String warning : read.warnings()) {
      LOG.warn("{}: {}", from.path(), warning);
    }
  }

  /** Says once of each content what is wrong with it, and once that there is none. */
  private synchronized void complain(AllocationsFile with, String text, String problem) {
    String said = problem + '\n' + text;
    if (said.equals(complaint)) {
      return;
    }
    complaint = said;
    String path = with.path().toString();
    LOG.error("{} (what is in force stays; the file is looked at again every {} s)",
        problem.startsWith(path) ? problem : path + ": " + problem, LOOK_MS / 1000);
  }
}
