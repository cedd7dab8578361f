package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.ApplicationId;

/** A job, as far as {@link FactFeed} looks at it. Any thread may ask. */
public interface WatchedJob {
  ApplicationId applicationId();

  boolean isMapReduce();

  /** How many reduces there are in all; -1 if that is not known. */
  int reduces();
}
