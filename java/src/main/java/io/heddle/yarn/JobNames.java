package io.heddle.yarn;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.web.ApiHandler;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * The names of the jobs and nodes that the engine knows by number, for answers over HTTP: of a
 * job YARN's id, the user and the name of the submission, of a node YARN's id. A job or node that
 * is put aside, unknown to the engine, comes with the reason. Web threads read it without the
 * scheduler's lock, so a job may have ended, or its number have become another's, when the engine
 * is asked about it.
 */
final class JobNames implements ApiHandler.Names {
  /** As many as a page of jobs has at the most. */
  private static final int NAMES_MAX = 500;
  /** A name is the submitter's, and may be a book. */
  private static final int NAME_CHARS_MAX = 200;
  private static final Pattern ABOUT_JOBS =
      Pattern.compile("/heddle/v1/(?:jobs|explain)(?:/([^/]+))?");
  private static final Pattern FROM = Pattern.compile("(?:^|&)from=(\\d{1,9})(?:&|$)");

  private final RMContext rmContext;
  private final ConcurrentNavigableMap<Integer, HeddleJob> jobs = new ConcurrentSkipListMap<>();
  private final ConcurrentNavigableMap<Integer, Node> nodes = new ConcurrentSkipListMap<>();

  /** A node, and since when it has its number, by the engine's clock. */
  private static final class Node {
    private final HeddleNode node;
    private final long sinceMs;

    Node(HeddleNode node, long sinceMs) {
      this.node = node;
      this.sinceMs = sinceMs;
    }
  }

  JobNames(RMContext rmContext) {
    this.rmContext = rmContext;
  }

  /** A job has its number. */
  void added(HeddleJob job) {
    jobs.put(job.id(), job);
  }

  /** A job ended. */
  void removed(HeddleJob job) {
    jobs.remove(job.id(), job);
  }

  /** A node has its number. */
  void added(HeddleNode node) {
    nodes.put(node.id(), new Node(node, Time.monotonicNow()));
  }

  /** A node left. */
  void removed(HeddleNode node) {
    nodes.remove(node.id());
  }

  @Override
  public ArrayNode nodes() {
    ArrayNode names = JsonNodeFactory.instance.arrayNode();
    for (Map.Entry<Integer, Node> entry : nodes.entrySet()) {
      Node node = entry.getValue();
      ArrayNode row = names.addArray().add(entry.getKey()).add(node.node.getNodeID().toString())
          .add(node.sinceMs);
      String aside = node.node.faults().aside();
      if (aside != null) {
        row.add(aside);
      }
    }
    return names;
  }

  @Override
  public ArrayNode of(String path, String query) {
    Matcher about = ABOUT_JOBS.matcher(path);
    if (!about.matches()) {
      return null;
    }
    ArrayNode names = JsonNodeFactory.instance.arrayNode();
    String asked = about.group(1);
    if (asked != null) {
      for (Map.Entry<Integer, HeddleJob> entry : jobs.entrySet()) {
        if (asked.equals(entry.getValue().applicationId().toString())
            || asked.equals(entry.getKey().toString())) {
          add(names, entry);
        }
      }
    }
    // A page, or those that a sentence about the one may speak of.
    for (Map.Entry<Integer, HeddleJob> entry : jobs.tailMap(from(query)).entrySet()) {
      if (names.size() >= NAMES_MAX) {
        break;
      }
      add(names, entry);
    }
    return names;
  }

  private static int from(String query) {
    Matcher from = FROM.matcher(query == null ? "" : query);
    return from.find() ? Integer.parseInt(from.group(1)) : 0;
  }

  private void add(ArrayNode names, Map.Entry<Integer, HeddleJob> entry) {
    HeddleJob job = entry.getValue();
    RMApp app = rmContext.getRMApps().get(job.applicationId());
    String name = app == null || app.getName() == null ? "" : app.getName();
    ArrayNode row = names.addArray().add(entry.getKey()).add(job.applicationId().toString())
        .add(SetupJson.text(job.user(), NAME_CHARS_MAX)).add(SetupJson.text(name, NAME_CHARS_MAX));
    String aside = job.faults().aside();
    if (aside != null) {
      row.addArray().add(job.queue().getQueueName()).add(aside);
    }
  }
}
