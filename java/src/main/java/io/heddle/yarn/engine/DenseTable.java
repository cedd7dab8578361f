package io.heddle.yarn.engine;

import java.util.Arrays;

/**
 * Gives things that come and go small numbers and finds them by number; freed numbers are given
 * again, the smallest first, so that tables on both sides stay as long as the most that ever lived
 * at once. The order also makes two runs with the same events use the same numbers.
 *
 * <p>Not thread-safe: the owner guards it.
 *
 * @param <T> what is kept
 */
public final class DenseTable<T> {
  private Object[] items = new Object[16];
  // A binary heap of free numbers below `top`.
  private int[] free = new int[16];
  private int freeCount;
  private int top;

  /** Keeps an item and returns its number. */
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

  /** Forgets an item; its number may be given again. Does nothing for a free number. */
  public void remove(int id) {
    if (get(id) == null) {
      return;
    }
    items[id] = null;
    pushFree(id);
  }

  /** Returns one more than the greatest number that was ever given. */
  public int end() {
    return top;
  }

  /** Returns how many items are kept. */
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
