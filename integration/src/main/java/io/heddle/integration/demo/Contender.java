/*
 * A scheduler for the demo's workload: Heddle with a policy, or Hadoop's own. Holds names and
 * configuration; runs nothing.
 */
package io.heddle.integration.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.heddle.integration.cluster.MiniCluster;

/** One of two schedulers that are compared. */
final class Contender {
  private static final String CAPACITY =
      "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler";

  private final String name;
  private final String title;
  private final String schedulerClass;
  // Null without one, as of a scheduler of Hadoop.
  private final JsonNode policy;
  // The stock scheduler's file that both use, or null.
  private final StockFile file;

  private Contender(
      String name, String title, String schedulerClass, JsonNode policy, StockFile file) {
    this.name = name;
    this.title = title;
    this.schedulerClass = schedulerClass;
    this.policy = policy;
    this.file = file;
  }

  /** Makes Heddle with this policy: a preset's name, or an object of stages. */
  static Contender heddle(String name, JsonNode policy) {
    return new Contender(name, "Heddle, policy " + name, MiniCluster.HEDDLE, policy, null);
  }

  /** Makes Heddle over a stock scheduler's file, with this policy or, if null, the file's own. */
  static Contender over(StockFile file, String name, JsonNode policy) {
    String with = policy == null ? "" : ", policy " + name;
    return new Contender(policy == null ? "Heddle" : name,
        "Heddle over " + file.name() + with, MiniCluster.HEDDLE, policy, file);
  }

  /** Makes the scheduler whose file it is. */
  static Contender of(StockFile file) {
    return new Contender(file.scheduler(), "the " + file.scheduler() + " Scheduler with "
        + file.name(), file.schedulerClass(), null, file);
  }

  /** Makes Heddle with the simplest policy. */
  static Contender simplest() {
    return heddle(Workload.OPPONENT, TextNode.valueOf(Workload.OPPONENT));
  }

  /** Makes Hadoop's own scheduler. */
  static Contender capacity() {
    return new Contender("Capacity", "Hadoop's own Capacity scheduler", CAPACITY, null, null);
  }

  /** Returns the name for tables and sentences; three stages would be too long for a line. */
  String name() {
    return name.contains("=") ? "the composition" : name;
  }

  /** Returns the name for the headline. */
  String title() {
    return title;
  }

  /** Returns the scheduler class to run. */
  String schedulerClass() {
    return schedulerClass;
  }

  /** Gives a cluster the scheduler and its files. */
  void install(MiniCluster.Builder cluster, ObjectNode settings) {
    cluster.scheduler(schedulerClass).engineConfiguration(engineConfiguration(settings));
    if (file != null) {
      cluster.set("heddle.queues.from", file.kind());
      file.install(cluster);
    }
  }

  /**
   * Returns the text of heddle.json: the workload's sections and the policy. Over a stock file only
   * a policy: the workload's sections would hide what the file says.
   */
  String engineConfiguration(ObjectNode settings) {
    ObjectNode json = settings.deepCopy();
    if (file != null) {
      json.removeAll();
    }
    if (policy != null || file == null) {
      json.set("policy", policy);
    }
    return json.toString();
  }
}
