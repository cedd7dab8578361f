package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.economy.Economy;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.Journal;
import org.apache.hadoop.metrics2.MetricsCollector;
import org.apache.hadoop.metrics2.MetricsInfo;
import org.apache.hadoop.metrics2.MetricsRecordBuilder;
import org.apache.hadoop.metrics2.lib.Interns;
import org.apache.hadoop.metrics2.lib.MetricsRegistry;
import org.apache.hadoop.metrics2.lib.MutableStat;

/**
 * What the scheduler does and how long that takes, for Hadoop's metrics: the record {@value #NAME}
 * in the context {@code yarn}. Its failures are in {@link Failures}.
 */
final class Performance extends SchedulerMetrics {
  static final String NAME = "HeddleScheduler";

  private static final int NANOS_PER_MICRO = 1000;
  private static final MetricsInfo GRANTS = info("Grants", "Grants that became containers");
  private static final MetricsInfo REFUSALS =
      info("Refusals", "Grants that the ResourceManager's books did not allow");
  private static final MetricsInfo ENGINE_UP = info("EngineUp", "1 while there is an engine");
  private static final MetricsInfo FRAMES = info("Frames", "Frames of events sent to the engine");
  private static final MetricsInfo IGNORED = info("IgnoredEvents", "Events the engine ignored");
  private static final MetricsInfo JOURNAL =
      info("JournalBytes", "Size of all files of the journal; 0 without one");
  private static final MetricsInfo JOURNAL_STOPPED =
      info("JournalStopped", "1 if the journal is full or cannot be written");
  private static final MetricsInfo SHADOW_DROPPED =
      info("ShadowDropped", "1 if the shadow could not begin, fell behind or failed");
  private static final MetricsInfo SHADOW_GRANTS =
      info("ShadowGrants", "Containers that the shadow has granted; 0 without one");
  private static final MetricsInfo SHADOW_PREEMPTIONS =
      info("ShadowPreemptions", "Containers that the shadow has taken back");
  private static final MetricsInfo[] SHADOW_STARTS = compared("ShadowStarts", "started");
  private static final MetricsInfo[] SHADOW_ENDS = compared("ShadowEnds", "ended");
  private static final MetricsInfo BEHIND = info("StoreIntervalsBehind",
      "Allocation intervals that wait to be written to the store");
  private static final MetricsInfo LOST = info("StoreIntervalsLost",
      "Allocation intervals that never reached the store");

  private final Engine engine;
  private final ContainerCommit commit;
  private final Economy economy;
  private final MetricsRegistry registry = new MetricsRegistry(NAME);
  private final MutableStat heartbeats =
      registry.newStat("Heartbeat", "Heartbeats of nodes", "Ops", "Micros", true);
  private final MutableStat ticks = registry.newStat("Tick", "Ticks", "Ops", "Micros", true);

  /** Measures nothing yet. */
  Performance(Engine engine, ContainerCommit commit, Economy economy) {
    super(NAME, "What Heddle does");
    this.engine = engine;
    this.commit = commit;
    this.economy = economy;
    registry.setContext("yarn");
  }

  private static MetricsInfo info(String name, String description) {
    return Interns.info(name, description);
  }

  /** Describes counts in the order in which the library reports them. */
  private static MetricsInfo[] compared(String name, String done) {
    String jobs = "Ended jobs that would have " + done;
    return new MetricsInfo[] {
        info(name + "Earlier", jobs + " earlier in the shadow"),
        info(name + "Later", jobs + " later in the shadow"),
        info(name + "Equal", jobs + " at the same time in the shadow")};
  }

  private static void add(MetricsRecordBuilder record, MetricsInfo[] infos, JsonNode counts) {
    for (int i = 0; i < infos.length; i++) {
      record.addGauge(infos[i], counts.path(i).asLong());
    }
  }

  /** Notes a heartbeat of a node that began at a time of {@link System#nanoTime}. */
  void heartbeatEnded(long begun) {
    heartbeats.add((System.nanoTime() - begun) / NANOS_PER_MICRO);
  }

  /** Notes a tick that began at a time of {@link System#nanoTime}. */
  void tickEnded(long begun) {
    ticks.add((System.nanoTime() - begun) / NANOS_PER_MICRO);
  }

  @Override
  public void getMetrics(MetricsCollector collector, boolean all) {
    MetricsRecordBuilder record = collector.addRecord(registry.info());
    JsonNode books = economy.books();
    JsonNode journal = Journal.status(engine);
    JsonNode shadow = engine.shadow();
    registry.snapshot(record, all);
    record.addCounter(GRANTS, commit.committed())
        .addCounter(REFUSALS, commit.refused())
        .addGauge(ENGINE_UP, engine.up() ? 1 : 0)
        .addCounter(FRAMES, engine.frames())
        .addCounter(IGNORED, engine.ignored())
        .addGauge(JOURNAL, journal.path("bytes").asLong())
        .addGauge(JOURNAL_STOPPED, journal.path("stopped").isTextual() ? 1 : 0)
        .addGauge(SHADOW_DROPPED, shadow.path("state").asText().equals("dropped") ? 1 : 0)
        .addGauge(SHADOW_GRANTS, shadow.path("grants").asLong())
        .addGauge(SHADOW_PREEMPTIONS, shadow.path("preemptions").asLong())
        .addGauge(BEHIND, books.path("intervals_behind").asLong())
        .addCounter(LOST,
            books.path("lost_intervals").asLong() + books.path("intervals_lost").asLong());
    add(record, SHADOW_STARTS, shadow.path("starts"));
    add(record, SHADOW_ENDS, shadow.path("ends"));
  }
}
