package io.heddle.yarn.engine;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.Resource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine behind a native handle: collects events into the next frame, hands frames over, passes
 * decisions on, and makes a new engine when this one is lost. Knows the crossing, not what events
 * and decisions mean.
 *
 * <p>Guarded by the scheduler's write lock: nothing native is called without it.
 */
public final class Engine {
  /** Most decisions of one frame; more are asked for again. */
  static final int DECISIONS_MAX = 1024;
  private static final int INPUT_BYTES = 1 << 18;
  /** A frame longer than this is handed over at the next chance, without waiting for a node. */
  private static final int FLUSH_BYTES = 1 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
  /** Logs the engine's own lines. */
  private static final Logger ENGINE_LOG = LoggerFactory.getLogger("io.heddle.engine");

  /** Carries out decisions, with the scheduler's write lock held. Must not throw. */
  public interface Decisions {
    /** Commits or refuses a grant and writes the ACK or NACK. */
    void grant(int job, int ask, int node, int locality, long seq);

    void evict(int job, long key, int reason, int graceMs);

    void headroom(int job, Resource amount);

    /** Tells a new engine all that Java knows; queues first, so that their numbers are known. */
    void replay();

    /** The engine was lost and the next one is not made yet. */
    default void lost(String cause) {}

    /** A new engine knows everything. */
    default void rebuilt() {}
  }

  private final ResourceCodec resources;
  private final FrameWriter writer;
  private final FrameReader reader;
  private final RebuildLimiter limiter = new RebuildLimiter();
  private final Resource minimum;
  private final String journal;
  private Decisions decisions;
  private JsonNode config;
  private volatile Allocations allocations;
  private volatile long handle;
  private boolean up;
  private boolean closed;
  private boolean calling;
  private boolean replaying;
  private boolean idle;
  private long sequence;
  private long rebuilds;
  private long ignored;

  /**
   * Prepares an engine without making it.
   *
   * @param minimum YARN's smallest container
   * @param journal file to record frames in, or null
   */
  public Engine(ResourceCodec resources, Resource minimum, String journal) {
    this.resources = resources;
    this.minimum = minimum;
    this.journal = journal;
    this.writer = new FrameWriter(resources, INPUT_BYTES);
    this.reader = new FrameReader(FrameLayout.OUTPUT_HEADER_SIZE
        + DECISIONS_MAX * FrameLayout.DECISION_BYTES_MAX + FrameLayout.LOG_BYTES_MAX);
  }

  /** Says who carries out decisions; before the first frame. */
  public void setDecisions(Decisions decisions) {
    this.decisions = decisions;
  }

  /**
   * Makes the engine.
   *
   * @param pools of the allocations file, or null
   * @throws HeddleException when the configuration is wrong; its text names the key
   */
  public void open(JsonNode content, Allocations pools) {
    handle = Native.open(
        SetupJson.open(minimum, journal, content, pools, ENGINE_LOG.isDebugEnabled()));
    config = content;
    allocations = pools;
    up = true;
  }

  /** Returns the heddle.json in force. */
  public JsonNode config() {
    return config;
  }

  /** Returns what is in force of an allocations file, or null. Free of locks. */
  public Allocations allocations() {
    return allocations;
  }

  /** Whether there is an engine; without one events are dropped, for it will be told everything. */
  public boolean up() {
    return up;
  }

  /** Returns what the library knows the engine by; 0 while there is none. From any thread. */
  public long handle() {
    return handle;
  }

  /** Returns how many engines replaced a lost one. */
  public long rebuilds() {
    return rebuilds;
  }

  /** Returns how many frames were handed over. */
  public long frames() {
    return sequence;
  }

  /** Returns how many events the engine had no use for. */
  public long ignored() {
    return ignored;
  }

  /** Where events are appended. */
  public FrameWriter out() {
    return writer;
  }

  /** Whether the engine has nothing to grant, so that a node's heartbeat need not reach it. */
  public boolean idle() {
    return idle;
  }

  /** A grant was refused: its ask is pending again. */
  public void wake() {
    idle = false;
  }

  /**
   * Makes a new engine if this one is lost and that may be tried now. To be called before a frame
   * is written: a new engine is told everything, and what was collected before is dropped.
   */
  public boolean ready() {
    return up || revive();
  }

  /** Hands over what was collected; {@code false} if there is no engine to answer. */
  public boolean step() {
    if (!up) {
      writer.clear();
      return false;
    }
    try {
      calling = true;
      writer.finish(Time.monotonicNow(), ++sequence, DECISIONS_MAX);
      int written = Native.step(handle, writer.buffer(), writer.length(), reader.buffer());
      writer.clear();
      reader.begin(written, sequence);
      idle = reader.idle();
      ignored = reader.ignored();
      carryOut();
      return true;
    } catch (RuntimeException e) {
      // Grants of this frame may be without an answer: only a new engine has right books again.
      calling = false;
      lost(e.toString());
      return false;
    } finally {
      calling = false;
    }
  }

  /** Whether the last step's decisions were cut, so that another step has more. */
  public boolean more() {
    return up && reader.more();
  }

  /** Hands a long frame over before it grows further; unless decisions are being carried out. */
  public void flushIfLong() {
    if (writer.length() > FLUSH_BYTES && !calling) {
      step();
    } else if (!up && !replaying) {
      writer.clear();
    }
  }

  /** Hands over what was collected, if anything. */
  void flush() {
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
   * The control plane; hands over the collected events first, so that the answer is current.
   *
   * @return null if there is no engine to answer
   * @throws HeddleException with code BAD_REQUEST and a text for people
   */
  public String request(String json) {
    flush();
    return up ? requestNow(json) : null;
  }

  /** As {@link #request}, without handing over anything: also while a new engine is told. */
  public String requestNow(String json) {
    try {
      return Native.request(handle, Time.monotonicNow(), json);
    } catch (HeddleException e) {
      if (!e.engineLost()) {
        throw e;
      }
      lost(e.toString());
      return null;
    }
  }

  /**
   * Changes the configuration; on error everything stays as it was.
   *
   * @param pools of the allocations file, or null
   * @return reply of {@code queues}
   * @throws HeddleException naming the key that is wrong, or that there is no engine to check it
   */
  public String reload(JsonNode content, Allocations pools) {
    String reply = demand(SetupJson.reload(content, pools));
    config = content;
    allocations = pools;
    return reply;
  }

  /**
   * As {@link #request}, of a configuration.
   *
   * @throws HeddleException saying what is wrong, or that there is no engine to check it
   */
  public String demand(String json) {
    String reply = request(json);
    if (reply == null) {
      throw new HeddleException(FrameLayout.BAD_REQUEST, "the engine is being made anew and could"
          + " not check the configuration; try again in a moment");
    }
    return reply;
  }

  /** The engine is of no use any more: make another one, now or after a pause. */
  public void lost(String cause) {
    if (!up) {
      return;
    }
    up = false;
    idle = false;
    writer.clear();
    closeQuietly();
    decisions.lost(cause);
    long pauseMs = limiter.lost(Time.monotonicNow());
    if (pauseMs > 0) {
      LOG.error("The engine was lost again ({}); nothing is scheduled for {} ms. All jobs and"
          + " containers go on", cause, pauseMs);
    } else {
      LOG.error("The engine was lost: {}. It is made anew from the ResourceManager's state; all"
          + " jobs and containers go on", cause);
      // Deep in a replay this would recurse; the next event tries again.
      if (!replaying) {
        revive();
      }
    }
  }

  /** Makes a new engine and tells it everything, unless it is too soon. */
  private boolean revive() {
    long now = Time.monotonicNow();
    if (closed || config == null || replaying || !limiter.allows(now)) {
      return false;
    }
    replaying = true;
    writer.clear();
    try {
      open(config, allocations);
      decisions.replay();
      if (up) {
        rebuilds++;
        decisions.rebuilt();
        LOG.warn("The engine was made anew, for the {}. time", rebuilds);
      }
    } catch (RuntimeException e) {
      LOG.error("Cannot make the engine anew", e);
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

  /** Ends the engine for good. */
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
