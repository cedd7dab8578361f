/*
 * A thread of the storm: draws operations by their weights until it is told to stop.
 */
package io.heddle.integration.storm;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** One thread; subclasses perform the operations. */
abstract class StormThread extends Thread {
  final StormCluster cluster;
  final History history;
  final Random random;
  private final Operation.Role role;
  private volatile boolean storming;
  private volatile boolean stopping;

  StormThread(String name, StormCluster cluster, Operation.Role role, long seed) {
    super(name);
    setDaemon(true);
    this.cluster = cluster;
    this.history = cluster.history;
    this.role = role;
    this.random = new Random(seed ^ name.hashCode() * 0x9E3779B97F4A7C15L);
  }

  /** Performs one operation. */
  abstract void perform(Operation operation) throws Exception;

  final void storm(boolean on) {
    storming = on;
  }

  final void finish() throws InterruptedException {
    stopping = true;
    join(60_000);
    if (isAlive()) {
      StringBuilder where = new StringBuilder(getName() + " hangs");
      for (StackTraceElement frame : getStackTrace()) {
        where.append("\n    at ").append(frame);
      }
      history.violation(where.toString(), null);
    }
  }

  @Override
  public final void run() {
    while (!stopping) {
      Operation operation = draw();
      cluster.inside(() -> {
        try {
          perform(operation);
          history.count(operation);
        } catch (Throwable e) {
          history.violation(operation + " failed", e);
        }
      });
      if (cluster.isBehind() || random.nextInt(8) == 0) {
        pause();
      }
    }
  }

  private void pause() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      stopping = true;
    }
  }

  private Operation draw() {
    boolean storm = storming;
    int sum = 0;
    for (Operation operation : Operation.values()) {
      sum += operation.role == role ? operation.weight(storm) : 0;
    }
    int drawn = random.nextInt(sum);
    for (Operation operation : Operation.values()) {
      drawn -= operation.role == role ? operation.weight(storm) : 0;
      if (drawn < 0) {
        return operation;
      }
    }
    throw new IllegalStateException("weights of " + role + " changed while one was drawn");
  }

  @SafeVarargs
  final <T> T one(T... of) {
    return of[random.nextInt(of.length)];
  }

  final <T> T one(List<T> of) {
    return of.isEmpty() ? null : of.get(random.nextInt(of.size()));
  }

  /** Returns any application that has not ended, or null. */
  final StormApp anyApp() {
    return one(new ArrayList<>(cluster.apps.values()));
  }
}
