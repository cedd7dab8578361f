package io.heddle.integration;

import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.ShuffleTraffic;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;

/** The racks on which the tasks of an ended job ran, and the part of its shuffle that crossed. */
final class TaskPlaces {
  private static final int TASKS_MAX = 1000;

  private final Map<String, Integer> maps = new TreeMap<>();
  private final Map<String, Integer> reduces = new TreeMap<>();
  private final ShuffleTraffic traffic;

  TaskPlaces(Job job) throws Exception {
    for (TaskCompletionEvent event : job.getTaskCompletionEvents(0, TASKS_MAX)) {
      if (event.getStatus() == TaskCompletionEvent.Status.SUCCEEDED) {
        String rack = rackOf(event.getTaskTrackerHttp());
        (event.isMapTask() ? maps : reduces).merge(rack, 1, Integer::sum);
      }
    }
    traffic = ShuffleTraffic.of(job, TaskPlaces::rackOf);
    if (traffic.bytes() == 0 || reduces.isEmpty()) {
      throw new AssertionError(job.getJobName() + " shuffled nothing: " + this);
    }
  }

  /** Returns the rack of a node by its host, or by an address on it. */
  private static String rackOf(String address) {
    for (int host = 0; host < Topology.HOSTS.size(); host++) {
      if (address.contains(Topology.HOSTS.get(host))) {
        return Topology.rackOf(host);
      }
    }
    throw new AssertionError("no node of the cluster: " + address);
  }

  double shuffledBytes() {
    return traffic.bytes();
  }

  double crossingBytes() {
    return traffic.crossRackBytes();
  }

  /** Returns the part of the maps that ran on the rack with most of them. */
  double largestPartOfMaps() {
    return Collections.max(maps.values()) / (double) sum(maps);
  }

  /**
   * Measures how far the reduces are from the spread of equal maps: 0 exactly there, 1 all
   * elsewhere.
   */
  double reducesOffOutput() {
    double off = 0;
    for (String rack : Topology.RACKS) {
      double here = (double) reduces.getOrDefault(rack, 0) / sum(reduces);
      off += Math.abs(here - (double) maps.getOrDefault(rack, 0) / sum(maps)) / 2;
    }
    return off;
  }

  private static int sum(Map<String, Integer> counts) {
    return counts.values().stream().mapToInt(Integer::intValue).sum();
  }

  @Override
  public String toString() {
    return String.format("maps %s, reduces %s", maps, reduces);
  }
}
