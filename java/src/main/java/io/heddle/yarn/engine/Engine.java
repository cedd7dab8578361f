package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import org.apache.hadoop.yarn.api.records.Resource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine behind a native handle: collects events into the next frame, sends frames, passes
 * decisions on, and makes a new engine when this one is lost. Does not interpret events and
 * decisions.
 *
 * <p>Guarded by the scheduler's write lock, except the methods that say otherwise.
 */
public final class Engine {
  /** Largest number of decisions in one frame; if {@link #more}, another step is needed. */
  static final int DECISIONS_MAX = 1024;
  private static final int INPUT_BYTES = 1 << 18;
  /** A longer frame is sent at the next chance, without waiting for a node's heartbeat. */
  private static final int FLUSH_BYTES = 1 << 20;

  private static final String SHADOW = SetupJson.request("shadow");
  private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
  /** The logger of the engine's own lines. */
  private static final Logger ENGINE_LOG = LoggerFactory.getLogger("io.heddle.engine");

  /** Carries out decisions, with the scheduler's write lock held. Must not throw. */
  public interface Decisions {
    /** Commits or refuses a grant and writes the ACK or NACK. */
    void grant(int job, int ask, int node, int locality, long seq);

    void evict(int job, long key, int reason, int graceMs);

    void headroom(int job, Resource amount);

    /** Fills a new engine from Java's books; queues first, because jobs need their numbers. */
    void replay();

    /** Called when the engine is lost, before the next one is made. */
    default void lost(String cause) {}

    /** Called when a new engine has been filled. */
    default void rebuilt() {}
  }

  private final ResourceCodec resources;
  private final FrameWriter writer;
  private final FrameReader reader;
  private final RebuildLimiter limiter = new RebuildLimiter();
  private final Resource minimum;
  private final Journal journal;
  private Decisions decisions;
  private volatile EngineConfig config;
  private volatile long handle;
  private boolean up;
  private boolean closed;
  private boolean calling;
  private boolean replaying;
  private boolean idle;
  // A planned replacement is no fault.
  private boolean renewing;
  /** Whether the last shadow that was asked for has a candidate. */
  private boolean casts;
  // The request for a shadow; null if there never was one.
  private String shadow;
  private long sequence;
  private long rebuilds;
  private long ignored;

  /**
   * Prepares an engine without making it.
   *
   * @param minimum YARN's smallest container
   * @param journal where its inputs are recorded, or null
   */
  public Engine(ResourceCodec resources, Resource minimum, Journal journal) {
    this.resources = resources;
    this.minimum = minimum;
    this.journal = journal;
    this.writer = new FrameWriter(resources, INPUT_BYTES);
    this.reader = new FrameReader(FrameLayout.OUTPUT_HEADER_SIZE
        + DECISIONS_MAX * FrameLayout.DECISION_BYTES_MAX + FrameLayout.LOG_BYTES_MAX);
  }

  /** Sets the receiver of decisions; call it before the first frame. */
  public void setDecisions(Decisions decisions) {
    this.decisions = decisions;
  }

  /**
   * Makes the engine.
   *
   * @throws HeddleException if the configuration is wrong; its message names the key
   */
  public void open(EngineConfig next) {
    handle = Native.open(SetupJson.open(minimum, journal, next, ENGINE_LOG.isDebugEnabled()));
    inForce(next);
    up = true;
  }

  /** Returns the configuration in force; null before the first. Takes no lock. */
  public EngineConfig config() {
    return config;
  }

  /** Remembers the queues that stay stopped, for engines that replace this one. */
  public void keepStopped(ArrayNode paths) {
    config = config.stopping(paths);
  }

  /** Returns whether there is an engine. Without one events are dropped: replay repeats them. */
  public boolean up() {
    return up;
  }

  /** Returns the library's handle of the engine; 0 without one. Any thread may call it. */
  public long handle() {
    return handle;
  }

  /** Returns how many engines replaced a lost one. */
  public long rebuilds() {
    return rebuilds;
  }

  /** Returns how many frames were sent. */
  public long frames() {
    return sequence;
  }

  /** Returns how many events the engine ignored. */
  public long ignored() {
    return ignored;
  }

  /** Returns the writer of the next frame. */
  public FrameWriter out() {
    return writer;
  }

  /** Returns whether the engine has nothing to grant, so that nodes' heartbeats can be skipped. */
  public boolean idle() {
    return idle;
  }

  /** Ends idleness: an ask may be pending again. */
  public void wake() {
    idle = false;
  }

  /**
   * Makes a new engine if this one is lost and {@link RebuildLimiter} allows it. Call it before a
   * frame is written: the new engine is filled by a replay, and older events are dropped.
   */
  public boolean ready() {
    return up || revive();
  }

  /** Returns whether what the engine is given is recorded in a journal. */
  public boolean isRecorded() {
    return journal != null;
  }

  /** Prepares a tick as {@link #ready} does, and replaces an engine whose recording is full. */
  public void readyToTick() {
    if (up && journal != null && journal.wantsEngine(this)) {
      LOG.info("The recording of the journal is full: a new engine, filled from the"
          + " ResourceManager's state, begins the next one");
      giveUp("its recording is full");
      renewing = true;
    }
    ready();
    renewing = false;
  }

  /** Sends the collected events and carries out the decisions; false without an engine. */
  public boolean step() {
    if (!up) {
      writer.clear();
      return false;
    }
    try {
      calling = true;
      writer.finish(EngineClock.nowMs(), ++sequence, DECISIONS_MAX);
      int written = Native.step(handle, writer.buffer(), writer.length(), reader.buffer());
      writer.clear();
      reader.begin(written, sequence);
      idle = reader.idle();
      ignored = reader.ignored();
      carryOut();
      return true;
    } catch (RuntimeException e) {
      // Grants of this frame may lack an answer, so the engine's books may be wrong.
      calling = false;
      lost(e.toString());
      return false;
    } finally {
      calling = false;
    }
  }

  /** Returns whether another step has more decisions, because the last reached the maximum. */
  public boolean more() {
    return up && reader.more();
  }

  /**
   * Sends a frame of more than {@link #FLUSH_BYTES}, unless decisions are being carried out. Drops
   * the collected events while there is no engine.
   */
  public void flushIfLong() {
    if (writer.length() > FLUSH_BYTES && !calling) {
      step();
    } else if (!up && !replaying) {
      writer.clear();
    }
  }

  /** Sends the collected events, if there are any. */
  public void flush() {
    if (writer.records() > 0 && !calling) {
      step();
    }
  }

  private void carryOut() {
    while (reader.next()) {
      switch (reader.kind()) {
        case FrameLayout.GRANT:
          decisions.grant(reader.id(), reader.intAt(FrameLayout.GRANT_ASK),
              reader.intAt(FrameLayout.GRANT_NODE), reader.intAt(FrameLayout.GRANT_LOCALITY),
              reader.longAt(FrameLayout.GRANT_SEQ));
          break;
        case FrameLayout.HEADROOM:
          decisions.headroom(reader.id(),
              resources.get(reader.buffer(), reader.headroomOffset()));
          break;
        case FrameLayout.EVICT:
          decisions.evict(reader.id(), reader.longAt(FrameLayout.EVICT_KEY),
              reader.intAt(FrameLayout.EVICT_REASON), reader.intAt(FrameLayout.EVICT_GRACE_MS));
          break;
        case FrameLayout.LOG:
          log(ENGINE_LOG, reader.id(), reader.logText());
          break;
        default:
          throw new IllegalStateException("unknown decision " + reader.kind());
      }
    }
  }

  /** Logs a line of the library; {@code level} is one of {@link FrameLayout}. */
  public static void log(Logger to, int level, String line) {
    if (level <= FrameLayout.LOG_ERROR) {
      to.error(line);
    } else if (level == FrameLayout.LOG_WARN) {
      to.warn(line);
    } else if (level == FrameLayout.LOG_INFO) {
      to.info(line);
    } else {
      to.debug(line);
    }
  }

  /**
   * Asks the control plane. Sends the collected events first, so that the answer is current.
   *
   * @return null without an engine
   * @throws HeddleException with code BAD_REQUEST and a message for users
   */
  public String request(String json) {
    flush();
    return up ? requestNow(json) : null;
  }

  /** Asks the control plane without sending events, which is allowed during a replay. */
  public String requestNow(String json) {
    try {
      return Native.request(handle, EngineClock.nowMs(), json);
    } catch (HeddleException e) {
      if (!e.engineLost()) {
        throw e;
      }
      lost(e.toString());
      return null;
    }
  }

  /**
   * Sends a request that changes nothing, from any thread and without the scheduler's lock.
   * Collected events stay collected.
   *
   * @return a missing node if there is no engine to answer, or it refuses
   */
  public JsonNode peek(String json) {
    try {
      return SetupJson.read(Native.request(handle, EngineClock.nowMs(), json));
    } catch (HeddleException e) {
      return MissingNode.getInstance();
    }
  }

  /**
   * Changes the configuration; on error the old one stays.
   *
   * @return the reply of {@code queues}
   * @throws HeddleException naming the wrong key, or without an engine to check it
   */
  public String reload(EngineConfig next) {
    String reply = demand(SetupJson.reload(next));
    inForce(next);
    return reply;
  }

  private void inForce(EngineConfig next) {
    config = next;
    resources.countMemoryOnly(next.isMemoryOnly());
  }

  /**
   * Asks about a configuration as {@link #request} does, but throws without an engine.
   *
   * @throws HeddleException naming what is wrong, or without an engine to check it
   */
  public String demand(String json) {
    String reply = request(json);
    if (reply == null) {
      throw new HeddleException(FrameLayout.BAD_REQUEST, "the engine is being rebuilt and could"
          + " not check the configuration; try again in a moment");
    }
    return reply;
  }

  /**
   * Begins a shadow; engines that replace this one get it as well. A repeated one goes on.
   *
   * @param name of the file, for reports
   * @param candidate its configuration; null ends a shadow
   * @param wrong why there is no candidate although a file is named: reported as a dropped shadow
   */
  public void cast(String name, EngineConfig candidate, String wrong) {
    if (candidate != null || wrong != null || shadow != null) {
      shadow = SetupJson.shadow(name, candidate, wrong);
      casts = candidate != null;
      request(shadow);
    }
  }

  /**
   * Tells a shadow, if there is one, which application gets this number. Sends the collected events
   * first, because they may be of another job with that number.
   */
  public void nameInShadow(int job, String application) {
    if (casts) {
      flush();
      peek(SetupJson.request("shadowJob", "job", job, "application", application));
    }
  }

  /** Asks the library how the shadow is doing; empty without one. Takes no lock. */
  public JsonNode shadow() {
    return peek(SHADOW);
  }

  /** Gives up the engine and makes another one, now or after a pause. */
  public void lost(String cause) {
    if (!up) {
      return;
    }
    giveUp(cause);
    long pauseMs = limiter.lost(EngineClock.nowMs());
    if (pauseMs > 0) {
      LOG.error("The engine was lost again ({}); nothing is scheduled for {} ms. All jobs and"
          + " containers go on", cause, pauseMs);
    } else {
      LOG.error("The engine was lost: {}. It is rebuilt from the ResourceManager's state; all"
          + " jobs and containers go on", cause);
      // In a replay this would recurse; the next event tries again.
      if (!replaying) {
        revive();
      }
    }
  }

  private void giveUp(String cause) {
    up = false;
    idle = false;
    writer.clear();
    closeQuietly();
    decisions.lost(cause);
  }

  /** Makes a new engine and fills it, unless it is too soon. */
  private boolean revive() {
    long now = EngineClock.nowMs();
    if (closed || config == null || replaying || !limiter.allows(now)) {
      return false;
    }
    replaying = true;
    writer.clear();
    try {
      open(config);
      decisions.replay();
      if (shadow != null) {
        // The shadow begins with the engine's books, so send all replayed events first.
        flush();
      }
      if (up) {
        if (shadow != null) {
          requestNow(shadow);
        }
        if (!renewing) {
          rebuilds++;
          decisions.rebuilt();
          LOG.warn("The engine was rebuilt; rebuilds so far: {}", rebuilds);
        }
      }
    } catch (RuntimeException e) {
      LOG.error("Cannot rebuild the engine", e);
      if (up) {
        lost(e.toString());
      } else {
        limiter.lost(now);
      }
    } finally {
      replaying = false;
    }
    return up;
  }

  /** Closes the engine; no other one is made. */
  public void close() {
    closed = true;
    if (up) {
      up = false;
      writer.clear();
      closeQuietly();
    }
  }

  private void closeQuietly() {
    try {
      Native.close(handle);
    } catch (HeddleException e) {
      LOG.debug("Closing a lost engine: {}", e.toString());
    }
    handle = 0;
  }
}
