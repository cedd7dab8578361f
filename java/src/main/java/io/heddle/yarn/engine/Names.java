package io.heddle.yarn.engine;

import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;

/** The names of one scheduler that the engine knows by number; they last as long as it. */
public final class Names {
  /** The number of the nodes without a label. */
  public static final int UNLABELLED = 0;

  /** Hosts and racks, in one space, as asks name them; the engine's place 0 is "anywhere". */
  public final Interner places = new Interner(ResourceRequest.ANY);
  /** Node labels; the engine's partition 0 is the nodes without one. */
  public final Interner partitions = new Interner(CommonNodeLabelsManager.NO_LABEL);
  /** Owners of jobs. */
  public final Interner users = new Interner();
}
