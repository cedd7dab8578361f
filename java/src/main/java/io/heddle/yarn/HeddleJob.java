package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.facts.JobCounters;
import io.heddle.yarn.facts.JobHints;
import io.heddle.yarn.facts.WatchedJob;
import io.heddle.yarn.queues.HeddleQueue;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A job in the engine's sense: a YARN application across all its attempts. Holds the number that
 * both sides use for it, and what a rebuilt engine must be told.
 *
 * <p>Guarded by the scheduler's write lock, except final and volatile fields.
 */
final class HeddleJob implements WatchedJob {
  private final ApplicationId applicationId;
  private final String user;
  private final int userId;
  private final int flags;
  private final long submittedMs;
  private final FaultRecord faults = new FaultRecord();
  private int id = -1;
  private int priority;
  private HeddleQueue queue;
  private HeddleAppAttempt attempt;
  // Volatile: the pollers of its progress read it without the lock.
  private volatile JobHints hints;
  // Its spending bounds, in the engine's form; null if only its queue's bounds apply.
  private JsonNode bounds;
  // The queue that was recorded for it and is none any more; null if there is none. Volatile: web
  // threads read it without the lock.
  private volatile String lostQueue;
  // The last counters of its ApplicationMaster; null before the first.
  private JobCounters counters;

  /**
   * Makes a job that has no number yet.
   *
   * @param userId number of its user
   * @param flags {@code JOB_...} of {@link FrameLayout}
   * @param submittedMs on the engine's monotonic clock
   * @param hints facts about it that its submission stated
   */
  HeddleJob(ApplicationId applicationId, HeddleQueue queue, String user, int userId, int priority,
      int flags, long submittedMs, JobHints hints) {
    this.applicationId = applicationId;
    this.queue = queue;
    this.user = user;
    this.userId = userId;
    this.priority = priority;
    this.flags = flags;
    this.submittedMs = submittedMs;
    this.hints = hints;
  }

  @Override
  public ApplicationId applicationId() {
    return applicationId;
  }

  String user() {
    return user;
  }

  FaultRecord faults() {
    return faults;
  }

  int id() {
    return id;
  }

  void setId(int id) {
    this.id = id;
  }

  HeddleQueue queue() {
    return queue;
  }

  /** Moves it; it has not lost a queue any more. */
  void setQueue(HeddleQueue queue) {
    this.queue = queue;
    lostQueue = null;
  }

  /** Returns the queue in which it ran before a restart and could not go on; else null. */
  String lostQueue() {
    return lostQueue;
  }

  /** Notes that it could not go on in the queue that was recorded for it. */
  void setLostQueue(String recorded) {
    lostQueue = recorded;
  }

  /** Says which queue it has lost and where it runs on; null if it has lost none. */
  String sayWhereItIs() {
    String lost = lostQueue;
    return lost == null ? null : "Its queue " + lost + " is gone or has queues below it since the"
        + " restart; the application runs on in " + queue
        + ". Move it with `yarn application -movetoqueue`.";
  }

  long submittedMs() {
    return submittedMs;
  }

  /** Returns whether it holds any container, its AM's included. */
  boolean holdsContainers() {
    return attempt != null && !attempt.getLiveContainersMap().isEmpty();
  }

  void setPriority(int priority) {
    this.priority = priority;
  }

  /** Returns the current attempt, or null before the first. */
  HeddleAppAttempt attempt() {
    return attempt;
  }

  void setAttempt(HeddleAppAttempt attempt) {
    this.attempt = attempt;
  }

  /** Tells the engine of this job. */
  void write(FrameWriter out) {
    out.jobAdded(id, queue.id(), userId, priority, flags, submittedMs);
    if (!hints.isEmpty()) {
      writeHints(out);
    }
    if (counters != null) {
      out.jobCounters(id, counters);
    }
  }

  /** Tells the engine the hints about this job. */
  void writeHints(FrameWriter out) {
    out.jobHints(id, hints);
  }

  @Override
  public boolean isMapReduce() {
    return (flags & FrameLayout.JOB_MAPREDUCE) != 0;
  }

  @Override
  public int reduces() {
    return hints.reduces();
  }

  /** Takes over totals that its submission did not state; returns whether any is new. */
  boolean learnTotals(long maps, long reduces) {
    JobHints before = hints;
    hints = before.withTotals(maps, reduces);
    return hints != before;
  }

  /** Returns its spending bounds; null if only its queue's bounds apply. */
  JsonNode bounds() {
    return bounds;
  }

  /** Returns the request that tells the engine of its spending bounds. */
  String authorization() {
    String name = applicationId.getClusterTimestamp() + "_" + applicationId.getId();
    return SetupJson.request("authorize", "job", id, "application", name,
        "credits_micro", bounds.get("credits_micro"), "rate_micro", bounds.get("rate_micro"),
        "until_ms", bounds.get("until_ms"));
  }

  void setBounds(JsonNode bounds) {
    this.bounds = bounds;
  }

  void setCounters(JobCounters counted) {
    counters = counted;
  }
}
