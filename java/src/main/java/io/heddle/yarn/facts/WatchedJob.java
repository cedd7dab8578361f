package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.ApplicationId;

/** The part of a job that {@link FactFeed} needs. Any thread may call it. */
public interface WatchedJob {
  ApplicationId applicationId();

  boolean isMapReduce();

  /** Returns the number of reduces in all; -1 if it is unknown. */
  int reduces();
}
