package io.heddle.yarn;

/**
 * The faults of a job or node: when a rebuild of the engine was laid to it, and why it is
 * put aside. Dies with the job or node, so a node that registers again starts without.
 *
 * <p>Guarded by the scheduler's write lock, except {@link #aside}.
 */
final class FaultRecord {
  /** A second fault within this time is a repeated one. */
  static final long SUSPICION_MS = 3_600_000;

  private boolean suspected;
  private long suspectedMs;
  private volatile String aside;

  /** A rebuild was made because of this. */
  void suspect(long nowMs) {
    suspected = true;
    suspectedMs = nowMs;
  }

  /** Whether a rebuild was made because of this, not long ago. */
  boolean suspected(long nowMs) {
    return suspected && nowMs - suspectedMs < SUSPICION_MS;
  }

  /** Returns why the engine is told nothing of this, or null. Any thread may ask. */
  String aside() {
    return aside;
  }

  void putAside(String reason) {
    aside = reason;
  }

  /** Starts without; returns whether the engine was told nothing of this. */
  boolean clear() {
    boolean wasAside = aside != null;
    suspected = false;
    aside = null;
    return wasAside;
  }
}
