package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Foresees where the engine's rules put a submission, from {@code placement} of heddle.json and a
 * snapshot of the queues. So the thread of a submission does not wait for the scheduler when the
 * queue exists, and no queue is made for a user who may not submit to it. The engine decides;
 * unclear cases are left to it.
 *
 * <p>Immutable. The threads of submissions read it.
 */
public final class Placement {
  /** The engine's probable answer. Both fields are null if it is unclear. */
  public static final class Foreseen {
    /** The existing leaf that will be used, or null. */
    public final QueueView leaf;
    /** The path of a queue that will be made, or null. */
    public final String made;

    private Foreseen(QueueView leaf, String made) {
      this.leaf = leaf;
      this.made = made;
    }
  }

  private static final Foreseen UNCLEAR = new Foreseen(null, null);
  private static final String DEFAULT = "default";

  private static final class Rule {
    final String name;
    final boolean create;
    final String queue;

    Rule(String name, boolean create, String queue) {
      this.name = name;
      this.create = create;
      this.queue = queue;
    }
  }

  private final List<Rule> rules = new ArrayList<>();

  /** Reads a configuration that the engine has checked. */
  Placement(JsonNode config) {
    for (JsonNode rule : config.path("placement")) {
      rules.add(new Rule(rule.path("rule").asText(), rule.path("create").asBoolean(true),
          rule.path("queue").asText(path(DEFAULT))));
    }
    if (rules.isEmpty()) {
      // The engine's default rules.
      rules.add(new Rule("specified", true, null));
      rules.add(new Rule("user", true, null));
    }
  }

  /** Returns the path of a user's own queue. */
  public static String queueOf(String user) {
    return path(user.replace(".", "_dot_"));
  }

  private static String path(String name) {
    return name.startsWith(QueueSnapshot.ROOT + ".") ? name : QueueSnapshot.ROOT + "." + name;
  }

  /**
   * Foresees the queue of a new submission.
   *
   * @param requested the name in the submission, or null
   */
  Foreseen foresee(String user, String requested, QueueSnapshot queues) {
    String named = namesNone(requested, queues) ? null : requested;
    for (Rule rule : rules) {
      String wanted;
      switch (rule.name) {
        case "specified":
          wanted = named;
          break;
        case "user":
          wanted = queueOf(user);
          break;
        case "default":
          wanted = rule.queue;
          break;
        default:
          return UNCLEAR;
      }
      if (wanted != null) {
        return lookUp(wanted, rule.create, queues);
      }
    }
    return UNCLEAR;
  }

  /** Returns whether a submission names no queue: clients then send "default". */
  private static boolean namesNone(String requested, QueueSnapshot queues) {
    if (requested == null || requested.isEmpty()) {
      return true;
    }
    if (!requested.equals(DEFAULT) && !requested.equals(path(DEFAULT))) {
      return false;
    }
    QueueView configured = queues.get(path(DEFAULT));
    return configured == null || configured.dynamic;
  }

  private static Foreseen lookUp(String wanted, boolean create, QueueSnapshot queues) {
    QueueView queue = queues.find(wanted);
    if (queue != null) {
      return queue.leaf && !queue.draining && queue.parent != null
          ? new Foreseen(queue, null) : UNCLEAR;
    }
    // The engine may resolve a shared last part, or several last parts, to one queue.
    return create && !queues.anyEndsWith("." + wanted)
        ? new Foreseen(null, path(wanted)) : UNCLEAR;
  }
}
