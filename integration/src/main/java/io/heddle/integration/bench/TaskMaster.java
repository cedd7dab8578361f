/*
 * A job of tasks that may run anywhere, in several sizes, one priority each. With replacement, it
 * asks again for each task that ends (steady load), until `stopReplacing` is called.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/** An AM whose asks name no place. */
final class TaskMaster extends ApplicationMaster {
  private static final int FIRST_PRIORITY = 10;

  private final Resource[] sizes;
  private final int[] outstanding;
  private final boolean[] changed;
  private final int shortest;
  private final int longest;
  private final Map<ContainerId, Integer> sizeOf = new HashMap<>();
  private boolean replace;
  private boolean held;
  private String label;

  /**
   * @param sizesMb memory of each kind of task
   * @param tasks tasks of each kind
   * @param shortest shortest lifetime in node heartbeats; {@link BenchNode#FOREVER} for no end
   * @param longest longest lifetime in node heartbeats
   */
  TaskMaster(int index, long seed, int[] sizesMb, int[] tasks, int shortest, int longest,
      boolean replace) {
    super(index, seed);
    this.sizes = new Resource[sizesMb.length];
    this.outstanding = tasks.clone();
    this.changed = new boolean[sizesMb.length];
    for (int kind = 0; kind < sizesMb.length; kind++) {
      sizes[kind] = Resource.newInstance(sizesMb[kind], 1);
      changed[kind] = tasks[kind] > 0;
    }
    this.shortest = shortest;
    this.longest = longest;
    this.replace = replace;
  }

  /** Asks for nothing until {@link #release()}. */
  TaskMaster held() {
    held = true;
    return this;
  }

  /** Sets the label of the nodes that it asks for; null for none. */
  TaskMaster labelled(String name) {
    label = name;
    return this;
  }

  /** Lets it ask. */
  void release() {
    held = false;
  }

  /** Stops replacing tasks that end. */
  void stopReplacing() {
    replace = false;
  }

  @Override
  List<ResourceRequest> asks() {
    if (held) {
      return Collections.emptyList();
    }
    List<ResourceRequest> rows = null;
    for (int kind = 0; kind < sizes.length; kind++) {
      if (changed[kind]) {
        changed[kind] = false;
        if (rows == null) {
          rows = new ArrayList<>(sizes.length);
        }
        ResourceRequest row =
            row(FIRST_PRIORITY + kind, ResourceRequest.ANY, sizes[kind], outstanding[kind]);
        row.setNodeLabelExpression(label);
        rows.add(row);
      }
    }
    return rows == null ? Collections.emptyList() : rows;
  }

  @Override
  boolean accept(Container container, BenchNode node) {
    int kind = container.getPriority().getPriority() - FIRST_PRIORITY;
    if (outstanding[kind] == 0) {
      return false;
    }
    if (!container.getResource().equals(sizes[kind])) {
      throw new Violation("container " + container.getId() + " has " + container.getResource()
          + " where " + sizes[kind] + " was asked");
    }
    if (!Objects.equals(label, node.label) && !(label == null && Shape.isLent(node.label))) {
      throw new Violation("container " + container.getId() + " is on a node of label "
          + node.label + " where " + label + " was asked");
    }
    outstanding[kind]--;
    sizeOf.put(container.getId(), kind);
    return true;
  }

  @Override
  void taskEnded(ContainerId container) {
    int kind = sizeOf.remove(container);
    if (replace) {
      outstanding[kind]++;
      changed[kind] = true;
    }
  }

  @Override
  int outstanding() {
    int sum = 0;
    for (int count : outstanding) {
      sum += count;
    }
    return sum;
  }

  @Override
  boolean finished() {
    return !replace && outstanding() == 0 && liveContainers() == 0;
  }

  @Override
  int lifetime(int ordinal) {
    return shortest == BenchNode.FOREVER ? shortest : spread(ordinal, shortest, longest);
  }
}
