package io.heddle.yarn.engine;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Gives names dense numbers, for good: the engine knows hosts, racks, node labels and users only
 * by number. Names are never forgotten, so the size is bounded by what the cluster ever called
 * its nodes and users. Numbers of things that come and go are given by {@link DenseTable}.
 *
 * <p>Looking up is free of locks; adding is guarded by the monitor.
 */
public final class Interner {
  /** The answer of {@link #find} for an unknown name. */
  public static final int UNKNOWN = -1;

  private final Map<String, Integer> ids = new ConcurrentHashMap<>();

  /**
   * Makes an interner that knows some names from the start.
   *
   * @param first the names that get 0, 1, 2 ...
   */
  Interner(String... first) {
    for (String name : first) {
      intern(name);
    }
  }

  /** Returns the number of a name, a new one if it was never seen. */
  public int intern(String name) {
    Integer id = ids.get(name);
    return id != null ? id : add(name);
  }

  /** Returns the number of a name or {@link #UNKNOWN}. */
  public int find(String name) {
    Integer id = ids.get(name);
    return id == null ? UNKNOWN : id;
  }

  private synchronized int add(String name) {
    Integer known = ids.putIfAbsent(name, ids.size());
    return known != null ? known : ids.get(name);
  }
}
