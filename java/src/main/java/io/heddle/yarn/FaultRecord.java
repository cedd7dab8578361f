package io.heddle.yarn;

/**
 * The faults of a job or node: when it last caused a rebuild of the engine, and why it is put
 * aside. Lives as long as the job or node, so a node that registers again starts with none.
 *
 * <p>Guarded by the scheduler's write lock, except {@link #aside}.
 */
final class FaultRecord {
  /** A second fault within this time puts the job or node aside. */
  static final long SUSPICION_MS = 3_600_000;

  private boolean suspected;
  private long suspectedMs;
  private volatile String aside;

  /** Notes that the engine was rebuilt because of this. */
  void suspect(long nowMs) {
    suspected = true;
    suspectedMs = nowMs;
  }

  /** Returns whether it caused a rebuild within the last {@link #SUSPICION_MS}. */
  boolean suspected(long nowMs) {
    return suspected && nowMs - suspectedMs < SUSPICION_MS;
  }

  /** Returns why it is put aside, or null if it is not. Any thread may ask. */
  String aside() {
    return aside;
  }

  void putAside(String reason) {
    aside = reason;
  }

  /** Forgets all faults; returns whether it was put aside. */
  boolean clear() {
    boolean wasAside = aside != null;
    suspected = false;
    aside = null;
    return wasAside;
  }
}
