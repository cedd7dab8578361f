/*
 * The operations of the storm, the threads that do them and how often. The calm weights make a
 * normal cluster: nodes send heartbeats; jobs come, ask as libraries do, and go. The storm weights
 * add faults and abuse.
 */
package io.heddle.integration.storm;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/** One kind of operation. */
enum Operation {
  BEAT(Role.NODE, 400, 400),
  LOSE_NODE(Role.NODE, 0, 2),
  RESTART_NODE(Role.NODE, 0, 2),
  DECOMMISSION_NODE(Role.NODE, 0, 2),
  DECOMMISSION_SLOWLY(Role.NODE, 0, 2),
  RESIZE_NODE(Role.NODE, 0, 4),
  LABEL_NODE(Role.NODE, 0, 4),
  UNLABEL_NODE(Role.NODE, 0, 4),
  UNHEALTHY_NODE(Role.NODE, 0, 2),
  UNKNOWN_NODE(Role.NODE, 0, 2),
  NODE_TWICE(Role.NODE, 0, 2),
  EXPIRE_CONTAINER(Role.NODE, 0, 4),
  MARK_CONTAINER(Role.NODE, 0, 4),

  SUBMIT(Role.MASTER, 20, 20),
  FETCH(Role.MASTER, 100, 100),
  ASK(Role.MASTER, 100, 30),
  RELEASE(Role.MASTER, 5, 10),
  FINISH(Role.MASTER, 3, 8),
  ASK_WILDLY(Role.MASTER, 0, 60),
  ASK_WITHOUT_END(Role.MASTER, 0, 10),
  ASK_FOR_HOSTS(Role.MASTER, 20, 20),
  ASK_FOR_UNKNOWN_HOSTS(Role.MASTER, 0, 10),
  ASK_FOR_LABEL(Role.MASTER, 0, 10),
  BLACKLIST(Role.MASTER, 0, 10),
  RELEASE_FOREIGN(Role.MASTER, 0, 10),
  UPDATE_CONTAINER(Role.MASTER, 0, 20),
  NEXT_ATTEMPT(Role.MASTER, 0, 10),
  OLD_ATTEMPT(Role.MASTER, 0, 5),
  NEVER_REGISTER(Role.MASTER, 0, 3),

  READ(Role.CLIENT, 100, 100),
  READ_NONSENSE(Role.CLIENT, 0, 20),
  MAKE_QUEUE(Role.CLIENT, 0, 60),
  NAME_BADLY(Role.CLIENT, 0, 10),
  MOVE(Role.CLIENT, 0, 15),
  PRIORITY(Role.CLIENT, 0, 15),
  EXPLAIN(Role.CLIENT, 2, 5),
  REFRESH_WELL(Role.CLIENT, 0, 2),
  REFRESH_BADLY(Role.CLIENT, 0, 3),
  UNKNOWN_APPLICATION(Role.CLIENT, 0, 5);

  /** The threads that do it. */
  enum Role { NODE, MASTER, CLIENT }

  /** Operations left out because the scheduler fails on them; empty without a known fault. */
  static final Set<Operation> FAULT_KNOWN =
      Collections.unmodifiableSet(EnumSet.noneOf(Operation.class));

  final Role role;
  private final int calm;
  private final int storm;

  Operation(Role role, int calm, int storm) {
    this.role = role;
    this.calm = calm;
    this.storm = storm;
  }

  /** Returns its weight among the operations of its role. */
  int weight(boolean storming) {
    return FAULT_KNOWN.contains(this) ? 0 : storming ? storm : calm;
  }
}
