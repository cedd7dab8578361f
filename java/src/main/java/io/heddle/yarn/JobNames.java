package io.heddle.yarn;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.web.ApiHandler;
import java.util.Map;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * Maps the engine's numbers of jobs and nodes to names, for answers over HTTP. A job has YARN's id,
 * its user and its name; a node has YARN's id. A job or node that is put aside also has the reason,
 * as the engine does not know it. Web threads read without the scheduler's lock: before the engine
 * answers, a job may have ended and its number been reused.
 */
final class JobNames implements ApiHandler.Names {
  /** Largest number of jobs on a page. */
  private static final int NAMES_MAX = 500;
  /** Longest name in an answer: submitters choose names of any length. */
  private static final int NAME_CHARS_MAX = 200;

  private final RMContext rmContext;
  private final ConcurrentNavigableMap<Integer, HeddleJob> jobs = new ConcurrentSkipListMap<>();
  private final ConcurrentNavigableMap<Integer, Node> nodes = new ConcurrentSkipListMap<>();

  /** A node, and the time by the engine's clock at which it got its number. */
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

  /** Adds a job that got its number. */
  void added(HeddleJob job) {
    jobs.put(job.id(), job);
  }

  /** Removes a job that ended. */
  void removed(HeddleJob job) {
    jobs.remove(job.id(), job);
  }

  /** Adds a node that got its number. */
  void added(HeddleNode node) {
    nodes.put(node.id(), new Node(node, Time.monotonicNow()));
  }

  /** Removes a node that left. */
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
    JsonNode about = SetupJson.ask("names", "path", path, "query", query);
    if (about.isNull()) {
      return null;
    }
    ArrayNode names = JsonNodeFactory.instance.arrayNode();
    String asked = about.path("one").textValue();
    if (asked != null) {
      for (Map.Entry<Integer, HeddleJob> entry : jobs.entrySet()) {
        if (asked.equals(entry.getValue().applicationId().toString())
            || asked.equals(entry.getKey().toString())) {
          add(names, entry);
        }
      }
    }
    // A page, or those that a sentence about the one may speak of.
    int from = about.path("from").asInt();
    for (Map.Entry<Integer, HeddleJob> entry : jobs.tailMap(from).entrySet()) {
      if (names.size() >= NAMES_MAX) {
        break;
      }
      add(names, entry);
    }
    return names;
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
