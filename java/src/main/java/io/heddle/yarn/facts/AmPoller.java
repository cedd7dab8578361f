package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.config.ConfigFile;
import io.heddle.yarn.engine.EngineClock;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueTable;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the web service of MapReduce ApplicationMasters for their tasks' numbers and progress.
 * Fetches counters only if a policy uses traffic, and single tasks only if one extrapolates from
 * samples, takes containers back, or places reduces by the output of few maps.
 *
 * <p>The job's own code registered the address, so only its port is trusted. The poll goes to the
 * node where YARN started the ApplicationMaster, over plain HTTP and without credentials.
 */
final class AmPoller {
  /** Whether to poll ApplicationMasters; if unset, only while a policy in force uses answers. */
  static final String ENABLE_PROPERTY = "heddle.am-poll.enable";
  /** The interval of polls, in ms. */
  static final String INTERVAL_PROPERTY = "heddle.am-poll.interval-ms";
  /** The interval of polls of counters, in ms; these cost the ApplicationMaster more. */
  static final String COUNTERS_PROPERTY = "heddle.am-poll.counters-interval-ms";

  private static final Logger LOG = LoggerFactory.getLogger(AmPoller.class);
  private static final long INTERVAL_MS = 5_000;
  private static final long COUNTERS_MS = 15_000;
  /** Factor of the interval while policies use the totals only. */
  private static final int LAZY = 6;
  /** Time after the start of a poll at which it asks for no further task. */
  private static final long POLL_MS = 8_000;
  /** A slower poll counts as a failure, because other polls wait for the same threads. */
  private static final long SLOW_MS = 2_000;
  /** The number of intervals for which a report about a task replaces the estimate of reduces. */
  private static final int TASKS_TOLD = 3;
  // The engine's names of facts that policies may want besides the totals.
  static final String TRAFFIC = "traffic";
  private static final String PROGRESS = "progress";
  private static final String TASKS = "tasks";

  private final JsonFetcher fetcher;
  private final QueueTable queues;
  private final Consumer<Fact> found;
  /** The operator's setting; null without one. */
  private final Boolean set;
  private final long intervalMs;
  private final long countersMs;

  AmPoller(JsonFetcher fetcher, QueueTable queues, Consumer<Fact> found, Configuration conf) {
    this.fetcher = fetcher;
    this.queues = queues;
    this.found = found;
    String said = conf.getTrimmed(ENABLE_PROPERTY, "");
    set = said.isEmpty() ? null : conf.getBoolean(ENABLE_PROPERTY, false);
    intervalMs = ConfigFile.positiveMilliseconds(conf, INTERVAL_PROPERTY, INTERVAL_MS);
    countersMs = ConfigFile.positiveMilliseconds(conf, COUNTERS_PROPERTY, COUNTERS_MS);
  }

  /** Returns whether to poll now. Unless set, only when needed: users supply the addresses. */
  boolean enabled() {
    return set != null ? set : !queues.wants().isEmpty();
  }

  /** Returns whether polls are possible, perhaps after a reload. */
  boolean mayBeEnabled() {
    return set == null || set;
  }

  /** Returns whether an attempt has registered an address that may be polled. */
  static boolean answers(RMAppAttempt attempt) {
    return base(attempt) != null;
  }

  private static URI base(RMAppAttempt attempt) {
    Container master = attempt.getMasterContainer();
    return master == null || master.getNodeId() == null ? null
        : base(attempt.getOriginalTrackingUrl(), master.getNodeId().getHost());
  }

  /**
   * Returns the address of the web service: the port of a tracking address, on the host where the
   * ApplicationMaster was started. Ignores all other parts of the tracking address.
   *
   * @return null unless the tracking address is HTTP with a port on this host
   */
  static URI base(String tracking, String host) {
    if (tracking == null || tracking.isEmpty() || host == null) {
      return null;
    }
    try {
      URI address = new URI(tracking);
      if (!"http".equalsIgnoreCase(address.getScheme()) || address.getPort() <= 0
          || !host.equalsIgnoreCase(address.getHost())) {
        return null;
      }
      return new URI("http", null, host, address.getPort(), "/ws/v1/mapreduce/", null, null);
    } catch (URISyntaxException e) {
      return null;
    }
  }

  /** Returns MapReduce's own id of a job. */
  static String jobId(ApplicationId id) {
    return String.format("job_%d_%04d", id.getClusterTimestamp(), id.getId());
  }

  /** Polls one ApplicationMaster. Never throws. */
  void poll(JobWatch watch, RMAppAttempt attempt) {
    long startMs = Time.monotonicNow();
    long pauseMs = intervalMs;
    try {
      URI base = base(attempt);
      if (base != null) {
        pauseMs = ask(watch, base.resolve("jobs/" + jobId(watch.id())));
      }
      if (Time.monotonicNow() - startMs > SLOW_MS) {
        pauseMs = Math.max(pauseMs, watch.failed());
      } else {
        watch.succeeded();
      }
    } catch (Throwable e) {
      // An uncaught error could end the ResourceManager.
      pauseMs = watch.failed();
      if (LOG.isDebugEnabled()) {
        LOG.debug("{} does not report its progress; next poll in {} ms: {}", watch.id(), pauseMs,
            e.toString());
      }
    } finally {
      watch.endPoll(Time.monotonicNow() + pauseMs);
    }
  }

  /** Polls the facts that the policies in force want; returns the pause before the next poll. */
  private long ask(JobWatch watch, URI job) throws IOException {
    long startMs = Time.monotonicNow();
    Set<String> wants = queues.wants();
    JsonNode totals = fetcher.get(job);
    found.accept(
        to -> to.totals(watch.job(), totals.path(0).asLong(), totals.path(1).asLong()));
    if (!wants.contains(TRAFFIC)) {
      JobCounters counted = new JobCounters(totals, MissingNode.getInstance());
      found.accept(to -> to.counters(watch.job(), counted));
    } else if (watch.beginCounters(startMs, countersMs)) {
      JobCounters counted = new JobCounters(totals, fetcher.get(below(job, "/counters")));
      found.accept(to -> to.counters(watch.job(), counted));
    }
    askTasks(watch, job, totals, startMs + POLL_MS);
    boolean more = wants.contains(TRAFFIC) || wants.contains(PROGRESS) || wants.contains(TASKS);
    return more ? intervalMs : LAZY * intervalMs;
  }

  /** Polls single tasks. An error does not fail the poll, which already has the totals. */
  private void askTasks(JobWatch watch, URI job, JsonNode totals, long untilMs) {
    ObjectNode wants = SetupJson.object();
    Set<String> kinds = new TreeSet<>();
    for (String want : queues.wants()) {
      JsonNode kindsWanted = totals.path(4).path(want);
      wants.set(want, kindsWanted.isArray() ? kindsWanted : SetupJson.array());
      kindsWanted.forEach(kind -> kinds.add(kind.asText()));
    }
    if (kinds.isEmpty()) {
      return;
    }
    try {
      ArrayNode lists = SetupJson.array();
      for (String kind : kinds) {
        lists.add(fetcher.get(below(job, "/tasks?type=" + kind)));
      }
      tellTasks(watch, job, SetupJson.ask("tasks", "state", watch.tasks.get("state"),
          "answers", watch.tasks.get("answers"), "outputs", watch.tasks.get("outputs"),
          "lists", lists, "wants", wants), untilMs);
    } catch (IOException e) {
      LOG.debug("{} does not report single tasks", watch.id(), e);
    }
  }

  /** Tells what the library read from the list, and polls the tasks that it wants to know. */
  private void tellTasks(JobWatch watch, URI job, JsonNode seen, long untilMs) throws IOException {
    ObjectNode tasks = SetupJson.object();
    tasks.set("state", seen.get("state"));
    ObjectNode answers = tasks.putObject("answers");
    ArrayNode outputs = tasks.putArray("outputs");
    watch.tasks = tasks;
    seen.path("told").forEach(attempt -> tell(watch, attempt));
    for (JsonNode task : seen.path("ask")) {
      if (Time.monotonicNow() >= untilMs) {
        return;
      }
      JsonNode attempts = fetcher.get(below(job, "/tasks/" + task.asText() + "/attempts"));
      answers.set(task.asText(), attempts);
      attempts.forEach(attempt -> tell(watch, attempt));
    }
    for (JsonNode ended : seen.path("outputs")) {
      if (Time.monotonicNow() >= untilMs) {
        return;
      }
      URI attempt = below(job, "/tasks/" + ended.path(0).asText() + "/attempts/"
          + ended.path(1).asText());
      ContainerId container = containerOf(fetcher.get(attempt));
      JsonNode bytes = fetcher.get(below(attempt, "/counters"));
      if (container != null) {
        found.accept(to -> to.output(watch.job(), container, bytes.path(0).asLong(),
            bytes.path(1).asLong()));
      }
      outputs.add(ended.path(1));
    }
  }

  private void tell(JobWatch watch, JsonNode attempt) {
    ContainerId container = containerOf(attempt.path(0));
    if (container == null) {
      return;
    }
    long nowMs = Time.monotonicNow();
    // A reduce that does not execute yet is an answer too.
    watch.setReducesToldUntilMs(nowMs + TASKS_TOLD * intervalMs);
    long began = attempt.path(2).asLong();
    long sinceMs = began > 0 ? Math.min(nowMs, EngineClock.toMonotonic(began)) : 0;
    found.accept(to -> to.task(watch.job(), container, attempt.path(1).asInt(), sinceMs,
        attempt.path(3).asBoolean()));
  }

  /** Returns the container with this name, or null if it is none. */
  static ContainerId containerOf(JsonNode name) {
    try {
      return ContainerId.fromString(name.asText());
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  private static URI below(URI job, String path) {
    return URI.create(job + path);
  }
}
