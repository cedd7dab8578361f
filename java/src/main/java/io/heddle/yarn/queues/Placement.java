package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * Foresees where the engine's rules put a submission, from {@code placement} of heddle.json and a
 * snapshot of the queues: so that the thread of a submission need not wait for the scheduler when
 * the queue is there already, and so that no queue is made for a user who may not submit to it. The
 * engine has the last word; whatever is not plain is left to it.
 *
 * <p>Immutable, read by threads of submissions.
 */
public final class Placement {
  /** The answer that the engine will probably give. */
  public static final class Foreseen {
    /** The leaf that exists and will be taken, or null. */
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
      // The engine takes the same when there are none.
      rules.add(new Rule("specified", true, null));
      rules.add(new Rule("user", true, null));
    }
  }

  /** Returns the queue that a user has of their own. */
  public static String queueOf(String user) {
    return path(user.replace(".", "_dot_"));
  }

  private static String path(String name) {
    return name.startsWith(QueueSnapshot.ROOT + ".") ? name : QueueSnapshot.ROOT + "." + name;
  }

  /**
   * Foresees the queue of a new submission.
   *
   * @param requested what the submission names, or null
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

  /** Clients that name no queue send "default", which counts only if it is configured. */
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
    // A last part that several queues share, or several parts, may still mean one for the engine.
    return create && !queues.anyEndsWith("." + wanted)
        ? new Foreseen(null, path(wanted)) : UNCLEAR;
  }
}
