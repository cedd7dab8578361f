package io.heddle.yarn.engine;

import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;

/** The names of one scheduler that the engine knows by number; they last as long as it. */
public final class Names {

  // The engine's place 0 is "anywhere", its partition 0 the nodes without a label.
  private final Interner places = new Interner(ResourceRequest.ANY);
  private final Interner partitions = new Interner(CommonNodeLabelsManager.NO_LABEL);
  private final Interner users = new Interner();

  /** Returns hosts and racks, which share one set of numbers as in asks. */
  public Interner places() {
    return places;
  }

  /** Returns node labels. */
  public Interner partitions() {
    return partitions;
  }

  /** Returns owners of jobs. */
  public Interner users() {
    return users;
  }
}
