package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.SetupJson;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether an application is taken, as far as signatures go (DP-39). Signatures are parameters of
 * a job's configuration, which the ResourceManager never sees: {@code conf/mapred-site.xml} hands
 * them over as variables of the ApplicationMaster's environment. What they are worth the library
 * says; this finds them.
 */
public final class Submissions {
  private static final Logger LOG = LoggerFactory.getLogger(Submissions.class);
  private static final String JOB = "HEDDLE_JOB_";
  private static final String PUBLISHED = "HEDDLE_MAPRED_JOB_";
  /** The library takes no value that is longer than 256; some are joined to others. */
  private static final int VALUE_MAX = 1024;
  private static final int VALUES_MAX = 32;

  private final Economy economy;

  public Submissions(Economy economy) {
    this.economy = economy;
  }

  /** Whether a variable belongs to a signature; then it is no hint. */
  public static boolean isPart(String variable) {
    return variable.startsWith(JOB) || variable.startsWith(PUBLISHED);
  }

  /**
   * Checks a submission; with the scheduler's write lock held.
   *
   * @param app null if the ResourceManager knows none
   * @param recovering whether it was taken before; then it is never refused
   * @return what it may spend, or null if that is what its queue has
   * @throws YarnException saying why it is not taken
   */
  public SpendingBounds check(RMApp app, String user, String queue, boolean recovering)
      throws YarnException {
    String name = app == null || app.getName() == null ? "" : app.getName();
    String submitted = SetupJson.submitted(user, queue, name,
        variables(app), recovering);
    JsonNode answer;
    try {
      answer = economy.submit(submitted);
    } catch (RuntimeException e) {
      LOG.error("The signature of a job of user {} cannot be checked", user, e);
      if (recovering) {
        return SpendingBounds.NOTHING;
      }
      throw new YarnException("The signature of this job cannot be checked: " + e.getMessage(), e);
    }
    JsonNode refused = answer.path("refused");
    if (refused.isTextual()) {
      throw new YarnException("The job's signature does not let it into queue "
          + queue + ": " + refused.asText() + ". `heddle sign` makes a new one");
    }
    return SpendingBounds.read(answer.path("bounds"));
  }

  private static Map<String, String> variables(RMApp app) {
    Map<String, String> found = new TreeMap<>();
    if (app == null || app.getApplicationSchedulingEnvs() == null) {
      return found;
    }
    for (Map.Entry<String, String> variable : app.getApplicationSchedulingEnvs().entrySet()) {
      String value = variable.getValue();
      if (isPart(variable.getKey()) && value != null && found.size() < VALUES_MAX) {
        // Too long a text is no signature: it is refused as such, not overlooked.
        found.put(variable.getKey(), value.substring(0, Math.min(value.length(), VALUE_MAX)));
      }
    }
    return found;
  }
}
