package io.heddle.yarn.engine;

import java.util.Arrays;

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
  private Object[] items = new Object[16];
  // A binary heap of free numbers below `top`.
  private int[] free = new int[16];
  private int freeCount;
  private int top;

  /** Adds an item and returns its number. */
  public int add(T item) {
    int id = freeCount > 0 ? popFree() : top++;
    if (id >= items.length) {
      items = Arrays.copyOf(items, items.length * 2);
    }
    items[id] = item;
    return id;
  }

  /** Returns the item of a number, or null if there is none. */
  @SuppressWarnings("unchecked")
  public T get(int id) {
    return id >= 0 && id < top ? (T) items[id] : null;
  }

  /** Removes an item and frees its number. Does nothing for a free number. */
  public void remove(int id) {
    if (get(id) == null) {
      return;
    }
    items[id] = null;
    pushFree(id);
  }

  /** Returns one more than the greatest number ever used. */
  public int end() {
    return top;
  }

  /** Returns the number of items. */
  public int size() {
    return top - freeCount;
  }

  private void pushFree(int id) {
    if (freeCount == free.length) {
      free = Arrays.copyOf(free, freeCount * 2);
    }
    int child = freeCount++;
    while (child > 0 && free[(child - 1) / 2] > id) {
      free[child] = free[(child - 1) / 2];
      child = (child - 1) / 2;
    }
    free[child] = id;
  }

  private int popFree() {
    int smallest = free[0];
    int last = free[--freeCount];
    int parent = 0;
    for (int child = 1; child < freeCount; child = 2 * parent + 1) {
      if (child + 1 < freeCount && free[child + 1] < free[child]) {
        child++;
      }
      if (free[child] >= last) {
        break;
      }
      free[parent] = free[child];
      parent = child;
    }
    free[parent] = last;
    return smallest;
  }
}
