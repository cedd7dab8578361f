package io.heddle.yarn.engine;

import java.util.ArrayList;
import java.util.PriorityQueue;

/**
 * Gives items small numbers and finds them by number. Freed numbers are reused, the smallest first,
 * so tables on both sides grow only to the largest number of items at one time. The order also
 * makes two runs with the same events use the same numbers.
 *
 * <p>Not thread-safe: the owner guards it.
 *
 * @param <T> the items
 */
public final class DenseTable<T> {
  private final ArrayList<T> items = new ArrayList<>();
  private final PriorityQueue<Integer> free = new PriorityQueue<>();

  /** Adds an item and returns its number. */
  public int add(T item) {
    Integer freed = free.poll();
    if (freed != null) {
      items.set(freed, item);
      return freed;
    }
    items.add(item);
    return items.size() - 1;
  }

  /** Returns the item of a number, or null if there is none. */
  public T get(int id) {
    return id >= 0 && id < items.size() ? items.get(id) : null;
  }

  /** Removes an item and frees its number. Does nothing for a free number. */
  public void remove(int id) {
    if (get(id) != null) {
      items.set(id, null);
      free.add(id);
    }
  }

  /** Returns one more than the greatest number ever used. */
  public int end() {
    return items.size();
  }

  /** Returns the number of items. */
  public int size() {
    return items.size() - free.size();
  }
}
