package io.heddle.yarn.engine;

import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Gives names dense, permanent numbers: the engine knows hosts, racks, node labels and users only
 * by number. Names are never removed, so the size is bounded by all names that the cluster ever
 * had. {@link DenseTable} gives numbers to items that are removed again.
 *
 * <p>Looking up takes no lock; adding takes the monitor.
 */
public final class Interner {
  /** Result of {@link #find} for an unknown name. */
  public static final int UNKNOWN = -1;

  private final Map<String, Integer> ids = new ConcurrentHashMap<>();
  private final Map<Integer, String> names = new ConcurrentHashMap<>();

  /**
   * Makes an interner with some names.
   *
   * @param first the names that get 0, 1, 2 ...
   */
  Interner(String... first) {
    for (String name : first) {
      intern(name);
    }
  }

  /** Returns the number of a name, and gives a new name its number. */
  public int intern(String name) {
    Integer id = ids.get(name);
    return id != null ? id : add(name);
  }

  /** Returns the number of a name or {@link #UNKNOWN}. */
  public int find(String name) {
    Integer id = ids.get(name);
    return id == null ? UNKNOWN : id;
  }

  /** Returns the name of a number, or null. */
  public String name(int id) {
    return names.get(id);
  }

  /** Returns a live view of all names. */
  public Set<String> names() {
    return Collections.unmodifiableSet(ids.keySet());
  }

  private synchronized int add(String name) {
    Integer known = ids.get(name);
    if (known != null) {
      return known;
    }
    int id = ids.size();
    names.put(id, name);
    ids.put(name, id);
    return id;
  }
}
