package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.SetupJson;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.attempt.RMAppAttemptState;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Why applications wait, where people look for it: in the ResourceManager's diagnostics of the
 * application, and in the log at debug level. The sentences are the engine's; this puts names for
 * its numbers.
 *
 * <p>The place is the attempt's message about the launch of its AM, as other schedulers use it: the
 * report of an application shows it until another message of the attempt replaces it. It is
 * one string that the next one replaces, whatever the state of the application. It is withdrawn
 * before the attempt ends, lest it be taken for how it ended. What YARN itself has put there since
 * is left alone.
 */
final class Explanations {
  /** Asking the engine may take this part of the time at the most. */
  private static final int ASKING_SHARE = 20;
  /** Waiting applications that one tick tells of. */
  private static final int WAITS_MAX = 32;
  /** With more queues or nodes an answer takes longer; the scheduler waits no longer for it. */
  private static final int ASKING_MS_MAX = 5;

  /** The states of an attempt that needs nothing any more, whatever it had asked for. */
  private static final Set<RMAppAttemptState> ENDING = EnumSet.of(RMAppAttemptState.FINAL_SAVING,
      RMAppAttemptState.FINISHING, RMAppAttemptState.FINISHED, RMAppAttemptState.FAILED,
      RMAppAttemptState.KILLED);

  private static final Pattern NUMBERED = Pattern.compile("\\b(job|node)#(\\d+)");
  private static final Logger LOG = LoggerFactory.getLogger(Explanations.class);

  private final Engine engine;
  private final EngineBooks books;
  private final Quarantine quarantine;
  private final RMContext rmContext;
  // The message that this put into each attempt's diagnostics.
  private final Map<ApplicationAttemptId, String> shown = new ConcurrentHashMap<>();
  // The next message for each attempt, null for none of ours. The tick thread's alone.
  private final Map<HeddleAppAttempt, String> changes = new LinkedHashMap<>();
  private long nextAskMs = Long.MIN_VALUE;
  private int from;
  private int most = WAITS_MAX;

  Explanations(
      Engine engine, EngineBooks books, Quarantine quarantine, RMContext rmContext) {
    this.engine = engine;
    this.books = books;
    this.quarantine = quarantine;
    this.rmContext = rmContext;
  }

  /**
   * Asks the engine for the next few sentences, unless that was done too recently for what it
   * costs. With the scheduler's write lock held, on the tick.
   */
  void askIfDue() {
    changes.clear();
    long start = Time.monotonicNow();
    if (start < nextAskMs || books.jobsEnd() == 0) {
      return;
    }
    String reply = engine.request(SetupJson.request("waits", "from", from, "max", most));
    if (reply != null) {
      JsonNode answer = SetupJson.read(reply);
      from = answer.path("next").asInt();
      for (JsonNode told : answer.path("jobs")) {
        compare(books.job(told.path(0).asInt()), told.path(1));
      }
    }
    for (HeddleJob job : quarantine.jobs()) {
      if (job.attempt() != null) {
        changes.put(job.attempt(), job.faults().aside());
      }
    }
    long end = Time.monotonicNow();
    nextAskMs = end + ASKING_SHARE * (end - start);
    most = end - start > ASKING_MS_MAX ? Math.max(most / 2, 1) : Math.min(2 * most, WAITS_MAX);
  }

  private void compare(HeddleJob job, JsonNode sentence) {
    HeddleAppAttempt attempt = job == null ? null : job.attempt();
    if (attempt == null) {
      return;
    }
    // An unmanaged AM ends without a word to the scheduler: what stands there would be its last.
    boolean waits = sentence.isTextual() && !attempt.getUnmanagedAM();
    if (waits || shown.containsKey(attempt.getApplicationAttemptId())) {
      changes.put(attempt, waits ? named(sentence.asText()) : null);
    }
  }

  /** Shows what {@link #askIfDue} brought. Without the scheduler's lock, on the tick's thread. */
  void show() {
    changes.forEach((attempt, text) -> {
      ApplicationAttemptId id = attempt.getApplicationAttemptId();
      if (text != null) {
        show(id, text);
      }
      // Or it ended meanwhile, before there was a message to withdraw.
      if (text == null || attempt.isStopped()) {
        withdraw(id);
      }
    });
    changes.clear();
  }

  private void show(ApplicationAttemptId id, String text) {
    RMAppAttempt attempt = rmAttempt(id);
    if (attempt == null || ENDING.contains(attempt.getState())) {
      withdraw(id);
    } else if (!text.equals(shown.put(id, text))) {
      attempt.updateAMLaunchDiagnostics(text);
      LOG.debug("{} {}", id.getApplicationId(), text);
    }
  }

  /**
   * A container ended. With the AM's ends the attempt, and unless another message replaces it, what
   * stands in its diagnostics then becomes the application's last word.
   */
  void containerEnded(RMContainer container) {
    if (!shown.isEmpty() && container.isAMContainer()) {
      withdraw(container.getApplicationAttemptId());
    }
  }

  /** An attempt ended, or waits no longer. */
  void withdraw(ApplicationAttemptId id) {
    String text = shown.remove(id);
    RMAppAttempt attempt = text == null ? null : rmAttempt(id);
    if (attempt != null && text.equals(attempt.getDiagnostics())) {
      attempt.updateAMLaunchDiagnostics(null);
    }
    if (text != null) {
      LOG.debug("{} waits no longer", id.getApplicationId());
    }
  }

  private RMAppAttempt rmAttempt(ApplicationAttemptId id) {
    RMApp app = rmContext.getRMApps().get(id.getApplicationId());
    return app == null ? null : app.getRMAppAttempt(id);
  }

  /** Puts names for the engine's numbers; with the scheduler's write lock held. */
  String named(String text) {
    Matcher matcher = NUMBERED.matcher(text);
    StringBuffer result = new StringBuffer();
    while (matcher.find()) {
      String name = name(matcher.group(1), Integer.parseInt(matcher.group(2)));
      matcher.appendReplacement(
          result, Matcher.quoteReplacement(name == null ? matcher.group() : name));
    }
    return matcher.appendTail(result).toString();
  }

  private String name(String what, int id) {
    if (what.equals("job")) {
      HeddleJob job = books.job(id);
      return job == null ? null : job.applicationId().toString();
    }
    HeddleNode node = books.node(id);
    return node == null ? null : node.getNodeID().toString();
  }
}
