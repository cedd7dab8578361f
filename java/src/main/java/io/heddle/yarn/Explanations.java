package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Engine;
import io.heddle.yarn.engine.SetupJson;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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
 * Shows why applications wait: in the ResourceManager's diagnostics of the application, and in the
 * log at debug level. The engine writes the sentences; this replaces its numbers by names.
 *
 * <p>The sentence goes into the attempt's message about the launch of its AM, which other
 * schedulers use as well. An application's report shows this message in any state, until another
 * one of the attempt replaces it. The sentence is withdrawn before the attempt ends, so that it is
 * not read as the cause of the end. A newer message of YARN itself stays; so does the one of an
 * attempt that YARN has recovered, which hides this one.
 *
 * <p>An application that has lost its queue at a restart says so first, also while it does not
 * wait.
 */
final class Explanations {
  /** After a request, waits this many times as long as the request took. */
  private static final int ASKING_SHARE = 20;
  /** Largest number of waiting applications in one request. */
  private static final int WAITS_MAX = 32;
  /** A request that takes longer halves the number of applications in the next one. */
  private static final int ASKING_MS_MAX = 5;

  /** The states in which an attempt no longer waits, whatever it asked for. */
  private static final Set<RMAppAttemptState> ENDING = EnumSet.of(RMAppAttemptState.FINAL_SAVING,
      RMAppAttemptState.FINISHING, RMAppAttemptState.FINISHED, RMAppAttemptState.FAILED,
      RMAppAttemptState.KILLED);

  private static final Logger LOG = LoggerFactory.getLogger(Explanations.class);

  private final Engine engine;
  private final EngineBooks books;
  private final Quarantine quarantine;
  private final RMContext rmContext;
  private final JobNames names;
  // The sentence in each attempt's diagnostics.
  private final Map<ApplicationAttemptId, String> shown = new ConcurrentHashMap<>();
  // The next sentence for each attempt, null to withdraw it. Only the tick thread uses it.
  private final Map<HeddleAppAttempt, String> changes = new LinkedHashMap<>();
  private long nextAskMs = Long.MIN_VALUE;
  private int from;
  private int most = WAITS_MAX;

  Explanations(Engine engine, EngineBooks books, Quarantine quarantine, RMContext rmContext,
      JobNames names) {
    this.engine = engine;
    this.books = books;
    this.quarantine = quarantine;
    this.rmContext = rmContext;
    this.names = names;
  }

  /**
   * Asks the engine for the next page of sentences, if {@link #ASKING_SHARE} allows it. Called by
   * the tick with the scheduler's write lock held.
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
    // The scheduler gets no event at the end of an unmanaged AM, so the sentence would stay.
    boolean waits = sentence.isTextual() && !attempt.getUnmanagedAM();
    String lost = attempt.getUnmanagedAM() ? null : job.sayWhereItIs();
    if (waits || lost != null || shown.containsKey(attempt.getApplicationAttemptId())) {
      String why = waits ? names.named(sentence.asText()) : null;
      changes.put(attempt, lost == null ? why : why == null ? lost : lost + " It " + why);
    }
  }

  /** Shows the sentences of {@link #askIfDue}. Called by the tick without the scheduler's lock. */
  void show() {
    changes.forEach((attempt, text) -> {
      ApplicationAttemptId id = attempt.getApplicationAttemptId();
      if (text != null) {
        show(id, text);
      }
      // It may have ended since, before there was a sentence to withdraw.
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
   * Withdraws the sentence when the AM's container ends. The attempt ends with it, and its
   * diagnostics become the application's final diagnostics.
   */
  void containerEnded(RMContainer container) {
    if (!shown.isEmpty() && container.isAMContainer()) {
      withdraw(container.getApplicationAttemptId());
    }
  }

  /** Withdraws the sentence of an attempt that ended or no longer waits. */
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
}
