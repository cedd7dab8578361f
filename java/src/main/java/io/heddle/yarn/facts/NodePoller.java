package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.config.ConfigFile;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls the metrics of NodeManagers' shuffle services for the bytes of map output that they have
 * sent. The engine works out the load on the links between racks from these. Secured web pages do
 * not answer.
 */
final class NodePoller {
  /** Whether to poll NodeManagers; if unset, only while a policy in force uses traffic. */
  static final String ENABLE_PROPERTY = "heddle.nm-poll.enable";
  /** The interval of polls, in ms. */
  static final String INTERVAL_PROPERTY = "heddle.nm-poll.interval-ms";

  private static final Logger LOG = LoggerFactory.getLogger(NodePoller.class);
  private static final long INTERVAL_MS = 10_000;
  private static final String QUERY = "qry=Hadoop:service=NodeManager,name=ShuffleMetrics";

  private final JsonFetcher fetcher;
  private final Consumer<Fact> found;
  private final Supplier<Set<String>> wants;
  /** The operator's setting; null without one. */
  private final Boolean set;
  private final long intervalMs;
  private final Map<NodeId, PollWatch> watches = new HashMap<>();

  NodePoller(JsonFetcher fetcher, Supplier<Set<String>> wants, Consumer<Fact> found,
      Configuration conf) {
    this.fetcher = fetcher;
    this.wants = wants;
    this.found = found;
    String said = conf.getTrimmed(ENABLE_PROPERTY, "");
    set = said.isEmpty() ? null : conf.getBoolean(ENABLE_PROPERTY, false);
    intervalMs = ConfigFile.positiveMilliseconds(conf, INTERVAL_PROPERTY, INTERVAL_MS);
  }

  /** Returns whether to poll now. */
  private boolean enabled() {
    return set != null ? set : wants.get().contains(AmPoller.TRAFFIC);
  }

  /** Returns whether polls are possible, perhaps after a reload. */
  boolean mayBeEnabled() {
    return set == null || set;
  }

  /**
   * Lets the workers poll the due nodes, the longest waiting first. Nodes without room in the
   * workers' queue stay due. For the feed's thread.
   */
  void look(Map<NodeId, RMNode> nodes, Executor workers, long nowMs) {
    if (!enabled()) {
      return;
    }
    watches.keySet().retainAll(nodes.keySet());
    // Sorted by each time as read here, because workers change it meanwhile.
    NavigableMap<Long, Map<PollWatch, RMNode>> due = new TreeMap<>();
    for (Map.Entry<NodeId, RMNode> node : nodes.entrySet()) {
      PollWatch watch = watches.computeIfAbsent(node.getKey(), id -> new PollWatch());
      if (watch.isDue(nowMs)) {
        due.computeIfAbsent(watch.nextPollMs(), sinceMs -> new HashMap<>())
            .put(watch, node.getValue());
      }
    }
    for (Map<PollWatch, RMNode> next : due.values()) {
      for (Map.Entry<PollWatch, RMNode> asked : next.entrySet()) {
        PollWatch watch = asked.getKey();
        watch.beginPoll(nowMs);
        if (!FactFeed.submit(
            workers, () -> poll(watch, asked.getValue()), watch::cancelPoll)) {
          return;
        }
      }
    }
  }

  private void poll(PollWatch watch, RMNode node) {
    long pauseMs = intervalMs;
    try {
      if (poll(node)) {
        watch.succeeded();
      } else {
        pauseMs = Math.max(pauseMs, watch.failed());
      }
    } finally {
      watch.endPoll(Time.monotonicNow() + pauseMs);
    }
  }

  /** Polls one node. Never throws; returns false if the node did not answer. */
  boolean poll(RMNode node) {
    try {
      URI metrics = metrics(node.getHttpAddress(), node.getNodeID().getHost());
      if (metrics == null || node.getState() != NodeState.RUNNING) {
        return true;
      }
      JsonNode sent = fetcher.get(metrics);
      if (sent.isNumber()) {
        found.accept(to -> to.shuffled(node.getNodeID(), sent.asLong()));
      }
      return true;
    } catch (Throwable e) {
      // An uncaught error could end the ResourceManager.
      LOG.debug("{} does not report its map output: {}", node.getNodeID(), e.toString());
      return false;
    }
  }

  /** Returns the address of a node's metrics; null if it names another host. */
  static URI metrics(String httpAddress, String host) {
    try {
      URI address = new URI("http://" + httpAddress);
      return address.getPort() > 0 && host.equalsIgnoreCase(address.getHost())
          ? new URI("http", null, host, address.getPort(), "/jmx", QUERY, null) : null;
    } catch (URISyntaxException e) {
      return null;
    }
  }
}
