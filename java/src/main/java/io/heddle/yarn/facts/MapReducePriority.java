package io.heddle.yarn.facts;

/** MapReduce's request priorities, which distinguish its tasks ({@code RMContainerAllocator}). */
final class MapReducePriority {
  private static final int FAILED_MAP = 5;
  private static final int REDUCE = 10;
  private static final int OPPORTUNISTIC_MAP = 19;
  private static final int MAP = 20;

  private MapReducePriority() {}

  static boolean isMap(int priority) {
    return priority == MAP || priority == FAILED_MAP || priority == OPPORTUNISTIC_MAP;
  }

  static boolean isReduce(int priority) {
    return priority == REDUCE;
  }
}
