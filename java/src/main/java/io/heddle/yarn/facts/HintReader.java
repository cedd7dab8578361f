package io.heddle.yarn.facts;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds what a submission says of its job: variables {@code HEDDLE_KEY} in the environment of its
 * ApplicationMaster, which {@code conf/mapred-site.xml} fills for every MapReduce job, or tags
 * {@code heddle:key=value}. Both are in the stored submission, so they outlive a ResourceManager.
 *
 * <p>All of it is claimed by users. Unreadable claims are left out with one line in the log, and no
 * job is refused for them. The policies, which observe the job, judge the worth of a claim.
 */
public final class HintReader {
  /** Whether claims of submissions are read at all. */
  static final String ENABLE_PROPERTY = "heddle.hints.enable";

  private static final Logger LOG = LoggerFactory.getLogger(HintReader.class);
  private static final String VARIABLE = "HEDDLE_";
  private static final String TAG = "heddle:";
  /** The value of a key that the site's template names and the job does not set. */
  private static final String ABSENT = "none";
  /** How many complaints one job may cause; a user must not fill the log. */
  private static final int COMPLAINTS_MAX = 10;
  private static final int QUOTED_MAX = 60;
  /** Far longer than any hint; the scheduler's lock is held while users' text is read. */
  private static final int VALUE_MAX = 200;

  private final boolean enabled;
  private final Predicate<String> foreign;

  /**
   * Makes a reader.
   *
   * @param foreign whether a variable of that name is no hint, whatever it begins with
   */
  public HintReader(Configuration conf, Predicate<String> foreign) {
    this.foreign = foreign;
    enabled = conf.getBoolean(ENABLE_PROPERTY, true);
  }

  /** Never throws: a job without hints is scheduled like any other. */
  public JobHints read(RMApp app, ApplicationId id) {
    if (!enabled || app == null) {
      return JobHints.NONE;
    }
    try {
      List<String> complaints = new ArrayList<>();
      JobHints hints = read(app, complaints);
      if (!complaints.isEmpty()) {
        LOG.warn("{} of user {}: hints were left out: {}", id, app.getUser(),
            String.join("; ", complaints));
      }
      return hints;
    } catch (RuntimeException e) {
      LOG.warn("The hints of {} cannot be read; it is scheduled without them", id, e);
      return JobHints.NONE;
    }
  }

  private JobHints read(RMApp app, List<String> complaints) {
    Map<String, String> claims = new TreeMap<>();
    if (app.getApplicationTags() != null) {
      // In order, so that of two that contradict each other always the same one counts.
      for (String tag : new TreeSet<>(app.getApplicationTags())) {
        if (tag.toLowerCase(Locale.ROOT).startsWith(TAG)) {
          String[] claim = tag.substring(TAG.length()).split("=", 2);
          claims.put(claim[0].toLowerCase(Locale.ROOT), claim.length > 1 ? claim[1] : "");
        }
      }
    }
    // The environment wins: it belongs to one job, tags may be a whole workflow's.
    if (app.getApplicationSchedulingEnvs() != null) {
      for (Map.Entry<String, String> variable : app.getApplicationSchedulingEnvs().entrySet()) {
        if (variable.getKey().startsWith(VARIABLE) && !absent(variable.getValue())
            && !foreign.test(variable.getKey())) {
          String key = variable.getKey().substring(VARIABLE.length());
          claims.put(key.toLowerCase(Locale.ROOT).replace('_', '-'), variable.getValue());
        }
      }
    }
    JobHints hints = new JobHints();
    HintKey.Submission submission = new HintKey.Submission(app.getUser(), app.getSubmitTime());
    // First what is guessed, so that a claim replaces it.
    HintKey.guessSignature(app, submission, hints);
    for (Map.Entry<String, String> claim : claims.entrySet()) {
      String complaint = apply(claim.getKey(), claim.getValue(), submission, hints);
      if (complaint != null && complaints.size() < COMPLAINTS_MAX) {
        complaints.add(complaint);
      }
    }
    return hints.isEmpty() ? JobHints.NONE : hints;
  }

  /** An unset property: the template's word for it, nothing, or an unexpanded reference. */
  private static boolean absent(String value) {
    return value == null || value.isEmpty() || value.equalsIgnoreCase(ABSENT)
        || value.contains("${");
  }

  /** Takes one claim over; returns null, or what was expected instead. */
  private static String apply(
      String key, String claimed, HintKey.Submission submission, JobHints hints) {
    HintKey known = HintKey.of(key);
    if (known == null) {
      return "no hint is called " + quoted(key) + ", expected one of " + HintKey.names();
    }
    String value = claimed.trim();
    // MapReduce joins the values of a variable that is set twice, by ':'.
    int from = 0;
    while (value.regionMatches(true, from, ABSENT + ":", 0, ABSENT.length() + 1)) {
      from += ABSENT.length() + 1;
    }
    value = value.substring(from);
    if (absent(value)) {
      return null;
    }
    int length = value.length() <= VALUE_MAX ? value.length() : 0;
    for (int end = length; end > 0; end = value.lastIndexOf(':', end - 1)) {
      if (known.apply(value.substring(0, end), submission, hints)) {
        return null;
      }
    }
    return known.keyName() + " is " + quoted(value) + ", expected " + known.expected();
  }

  /** Makes a user's text fit for a log. */
  private static String quoted(String text) {
    boolean whole = text.length() <= QUOTED_MAX;
    String shown = whole ? text : text.substring(0, QUOTED_MAX) + "...";
    return '"' + shown.replaceAll("[^\\x20-\\x7e]", "?") + '"';
  }
}
