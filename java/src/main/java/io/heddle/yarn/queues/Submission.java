package io.heddle.yarn.queues;

import io.heddle.yarn.engine.SetupJson;
import java.util.List;

/** The input of the placement rules: an application's submitter and the queue that it asks for. */
public final class Submission {
  final String user;
  /** The name that it asks for, or null. */
  final String queue;
  // Null if no rule asks for them.
  private final List<String> groups;
  private final String application;

  /**
   * Describes a submission for rules that need more than its user and its queue.
   *
   * @param queue the name that it asks for, or null
   * @param groups of the user, the primary one first
   * @param application its name, or null
   */
  public Submission(String user, String queue, List<String> groups, String application) {
    this.user = user;
    this.queue = queue;
    this.groups = groups;
    this.application = application;
  }

  /** Describes a submission by its user and the queue that it asks for, or null. */
  public Submission(String user, String queue) {
    this(user, queue, null, null);
  }

  String foresee() {
    return SetupJson.request("foresee", "user", user, "queue", queue, "groups", groups,
        "application", application);
  }

  /** Asks for a place; {@code number} is the user's. */
  String place(int number, boolean recovering) {
    return SetupJson.request("place", "user", user, "user_number", number, "queue", queue,
        "groups", groups, "application", application, "recovering", recovering);
  }
}
