package io.heddle.integration.stock;

import java.util.List;

/** The users of every scenario, and their groups: always the same, because Hadoop caches them. */
final class People {
  static final List<String> USERS = List.of(
      "alice", "bob", "carol", "dave.x", "erin", "frank", "Gina", "hal");
  static final List<String> GROUPS = List.of("staff", "dev", "ops", "data", "research.team");

  /** In the form of Hadoop's static mapping; the first group is the primary one. */
  static final String MAPPING = "alice=staff,dev;bob=dev,ops;carol=ops;dave.x=research.team,staff;"
      + "erin=data,research.team;frank=staff,data,ops;Gina=dev;hal=";

  private People() {}

  /** Returns the text of an access control list. */
  static String acl(Dice dice) {
    String users = String.join(",", dice.some(dice.between(1, 2), USERS));
    String groups = String.join(",", dice.some(dice.between(1, 2), GROUPS));
    return dice.of("*", " ", users, users + " ", " " + groups, users + " " + groups, users);
  }
}
