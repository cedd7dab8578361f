package io.heddle.yarn;

import io.heddle.yarn.config.ConfigControl;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.facts.FactFeed;
import java.util.concurrent.locks.Lock;

/**
 * A scheduler's internals for tests and measurements: counts, the audit, requests to the engine and
 * injected faults. Nothing of the scheduler's work depends on it. Any thread may call it.
 */
public final class Inspection {
  private final Lock lock;
  private final Engine engine;
  private final EngineBooks books;
  private final ContainerCommit commit;
  private final EngineAudit audit;
  private final Failures failures;
  private final FactFeed facts;
  private final ConfigControl config;

  Inspection(Lock lock, Engine engine, EngineBooks books, ContainerCommit commit,
      EngineAudit audit, Failures failures, FactFeed facts, ConfigControl config) {
    this.lock = lock;
    this.engine = engine;
    this.books = books;
    this.commit = commit;
    this.audit = audit;
    this.failures = failures;
    this.facts = facts;
    this.config = config;
  }

  /** Returns how many events, heartbeats and ticks ended in an unexpected error. */
  public long failures() {
    return failures(Failures.Kind.EXCEPTION);
  }

  long failures(Failures.Kind kind) {
    return failures.get(kind);
  }

  /** Returns how many grants became containers. */
  public long committedGrants() {
    return commit.committed();
  }

  /** Returns how many grants the commit refused. */
  public long refusedGrants() {
    return commit.refused();
  }

  /** Returns how many engines replaced a lost one. */
  public long engineRebuilds() {
    return engine.rebuilds();
  }

  /** Returns whether there is an engine now. */
  public boolean engineUp() {
    return engine.up();
  }

  /** Returns how many events the engine ignored. */
  public long ignoredEvents() {
    return engine.ignored();
  }

  /** Compares the engine's books with Java's. Returns the differences, or null without any. */
  public String differences() {
    lock.lock();
    try {
      return audit.differences();
    } finally {
      lock.unlock();
    }
  }

  /** Lets the next tick compare the books. */
  public void auditSoon() {
    audit.soon();
  }

  /** Sends a request to the engine's control plane; returns null while there is no engine. */
  public String request(String json) {
    lock.lock();
    try {
      return engine.request(json);
    } finally {
      lock.unlock();
    }
  }

  /** Makes the engine panic, if the configuration allows faults. */
  public void injectFault(int code) {
    lock.lock();
    try {
      engine.out().fault(code);
      engine.step();
    } finally {
      lock.unlock();
    }
  }

  /** Returns the feed of facts about running jobs. */
  public FactFeed facts() {
    return facts;
  }

  /** Returns the watch over the configuration's files. */
  public ConfigControl config() {
    return config;
  }

  EngineBooks books() {
    return books;
  }

  /** Returns the scheduler's write lock. */
  Lock lock() {
    return lock;
  }
}
