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
  private final JsonNode policy;

  private Contender(String name, JsonNode policy) {
    this.name = name;
    this.policy = policy;
  }

  /** Makes Heddle with this policy: a preset's name, or an object of stages. */
  static Contender heddle(String name, JsonNode policy) {
    return new Contender(name, policy);
  }

  /** Makes Heddle with the simplest policy. */
  static Contender simplest() {
    return new Contender(Workload.OPPONENT, TextNode.valueOf(Workload.OPPONENT));
  }

  /** Makes Hadoop's own scheduler. */
  static Contender capacity() {
    return new Contender("Capacity", null);
  }

  /** Returns the name for tables and sentences; three stages would be too long for a line. */
  String name() {
    return name.contains("=") ? "the composition" : name;
  }

  /** Returns the name for the headline. */
  String title() {
    return policy == null ? "Hadoop's own Capacity scheduler" : "Heddle, policy " + name;
  }

  /** Returns the scheduler class to run. */
  String schedulerClass() {
    return policy == null ? CAPACITY : MiniCluster.HEDDLE;
  }

  /** Returns the text of heddle.json: the workload's sections and the policy. */
  String engineConfiguration(ObjectNode settings) {
    return settings.deepCopy().set("policy", policy).toString();
  }
}
