package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.Proxies;
import io.heddle.yarn.engine.SetupJson;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the library to check an application's signature (DP-39) and to read its hints. Both are
 * parameters of a job's configuration, which the ResourceManager never sees. So
 * {@code conf/mapred-site.xml} passes them on as variables of the ApplicationMaster's environment.
 * Hints may also be tags.
 */
public final class Submissions {
  /** Whether hints are read. */
  public static final String HINTS_PROPERTY = "heddle.hints.enable";

  /** The bounds of a job that may spend nothing. */
  public static final JsonNode NOTHING = SetupJson.object()
      .put("credits_micro", 0).put("rate_micro", 0).put("until_ms", 0);

  private static final Logger LOG = LoggerFactory.getLogger(Submissions.class);
  private static final String VARIABLE = "HEDDLE_";
  /** Longest text passed on. The library accepts at most 256 bytes and joins some texts. */
  private static final int TEXT_MAX = 1024;
  private static final int VARIABLES_MAX = 256;

  private final Economy economy;
  private final boolean hints;

  public Submissions(Economy economy, Configuration conf) {
    this.economy = economy;
    hints = conf.getBoolean(HINTS_PROPERTY, true);
  }

  /**
   * Checks a submission; called with the scheduler's write lock held.
   *
   * @param app null if the ResourceManager does not know it
   * @param recovering whether it was accepted before; then it is never refused
   * @return its {@code bounds}, null if only its queue's bounds apply, and {@code hints}
   * @throws YarnException with the reason for a refusal
   */
  public JsonNode check(ApplicationId id, RMApp app, String user, String queue, boolean recovering)
      throws YarnException {
    ObjectNode submitted = SetupJson.object().put("user", user).put("queue", queue)
        .put("recovering", recovering)
        .put("name", name(app));
    putVariables(submitted.putObject("environment"), app);
    if (hints && app != null) {
      ObjectNode claims = submitted.putObject("hints").put("application", id.toString())
          .put("kind", app.getApplicationType()).put("submitted_ms", app.getSubmitTime());
      putTags(claims.putArray("tags"), app);
    }
    JsonNode answer;
    try {
      answer = economy.submit(submitted.toString());
    } catch (RuntimeException e) {
      LOG.error("The signature of a job of user {} cannot be checked", user, e);
      if (recovering) {
        return SetupJson.object().set("bounds", NOTHING);
      }
      throw new YarnException("The signature of this job cannot be checked: " + e.getMessage(), e);
    }
    JsonNode refused = answer.path("refused");
    if (refused.isTextual()) {
      throw new YarnException("The job's signature does not let it into queue "
          + queue + ": " + refused.asText() + ". `heddle sign` makes a new one");
    }
    return answer;
  }

  /**
   * Returns the name that the submitter chose, or empty. A federation's proxies submit all jobs of
   * other sub-clusters under one name. Where a proxy passes on the type (Hadoop 3.5.0's do not),
   * the library would take it for one recurring job of MapReduce.
   */
  private static String name(RMApp app) {
    return app == null || app.getName() == null || Proxies.submitted(app) ? "" : app.getName();
  }

  private static void putVariables(ObjectNode variables, RMApp app) {
    if (app == null || app.getApplicationSchedulingEnvs() == null) {
      return;
    }
    for (Map.Entry<String, String> variable : app.getApplicationSchedulingEnvs().entrySet()) {
      if (variable.getKey().startsWith(VARIABLE) && variable.getValue() != null
          && variables.size() < VARIABLES_MAX) {
        // Longer texts are cut, not skipped, so that the library refuses them.
        variables.put(SetupJson.text(variable.getKey(), TEXT_MAX),
            SetupJson.text(variable.getValue(), TEXT_MAX));
      }
    }
  }

  private static void putTags(ArrayNode tags, RMApp app) {
    if (app.getApplicationTags() != null) {
      app.getApplicationTags().forEach(tag -> tags.add(SetupJson.text(tag, TEXT_MAX)));
    }
  }
}
