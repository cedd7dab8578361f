/*
 * An application's AM in the bench: its asks, and its use of the containers it gets. Works with any
 * scheduler. Each kind of job is a subclass; the driver sends its asks to the scheduler.
 */
package io.heddle.integration.bench;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;

/** One application's behaviour. */
abstract class ApplicationMaster {
  /** The stages of an application. */
  enum Stage { WAITING_FOR_AM, RUNNING, ENDING, GONE }

  /** The size of every AM container. */
  static final Resource AM_SIZE = Resource.newInstance(1024, 1);
  /** The priority that the ResourceManager gives to the ask for an AM container. */
  static final int AM_PRIORITY = 0;

  /** Position in the order of submission, from 0; determines queue and lifetimes. */
  final int index;
  final long seed;
  Stage stage = Stage.WAITING_FOR_AM;
  ApplicationAttemptId attempt;
  BenchApp app;
  ContainerId amContainer;
  BenchNode amNode;
  /** Containers that ended since the AM's last heartbeat; the driver adds them. */
  final List<ContainerId> ended = new ArrayList<>();
  /** Containers beyond the asks, to release. Only asynchronous schedulers grant any. */
  final List<ContainerId> surplus = new ArrayList<>();
  private final Set<ContainerId> live = new HashSet<>();
  private int received;

  ApplicationMaster(int index, long seed) {
    this.index = index;
    this.seed = seed;
  }

  /** Returns the application type. */
  String type() {
    return "YARN";
  }

  /** Returns the ask rows that changed since the last call, with absolute counts. */
  abstract List<ResourceRequest> asks();

  /** Takes a container into use; returns false if it serves no ask. */
  abstract boolean accept(Container container, BenchNode node);

  /** Notes that one of this application's task containers succeeded. */
  abstract void taskEnded(ContainerId container);

  /** Returns how many containers are asked for and not received. */
  abstract int outstanding();

  /** Returns whether nothing is left to ask and nothing runs. */
  abstract boolean finished();

  /** Returns for how many node heartbeats the {@code ordinal}th container runs. */
  abstract int lifetime(int ordinal);

  /** Books a container that was handed out; returns its lifetime, or -1 for a surplus one. */
  final int receive(Container container, BenchNode node) {
    if (!live.add(container.getId())) {
      throw new Violation("container " + container.getId() + " was handed out twice");
    }
    if (!accept(container, node)) {
      live.remove(container.getId());
      surplus.add(container.getId());
      return -1;
    }
    return lifetime(received++);
  }

  /** Passes the ended containers on to the job. */
  final void settleEnded() {
    for (ContainerId container : ended) {
      if (live.remove(container)) {
        taskEnded(container);
      }
    }
    ended.clear();
  }

  final int liveContainers() {
    return live.size();
  }

  /** Returns a number that depends on seed, application and ordinal only, not on the scheduler. */
  final int spread(int ordinal, int lowest, int highest) {
    long x = seed * 0x9E3779B97F4A7C15L + index * 0xBF58476D1CE4E5B9L
        + ordinal * 0x94D049BB133111EBL;
    x ^= x >>> 31;
    x *= 0xD6E8FEB86659FD93L;
    x ^= x >>> 32;
    return lowest + (int) Long.remainderUnsigned(x, highest - lowest + 1);
  }

  static ResourceRequest row(int priority, String place, Resource size, int count) {
    return ResourceRequest.newInstance(Priority.newInstance(priority), place, size, count);
  }
}
