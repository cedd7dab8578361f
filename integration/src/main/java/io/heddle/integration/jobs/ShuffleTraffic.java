/*
 * Computes how much of a job's shuffle crossed racks, from the counters and places of its tasks in
 * the job's own records. Measures no network.
 */
package io.heddle.integration.jobs;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;

/**
 * The shuffle of one ended job. Records show the bytes that each reduce fetched and the output of
 * each rack's maps. Each reduce is assumed to fetch from all maps in proportion to their output, as
 * a hash partitioner with many keys makes it.
 */
public final class ShuffleTraffic {
  private static final int EVENTS_AT_ONCE = 1000;

  private final double bytes;
  private final double crossRackBytes;

  ShuffleTraffic(Map<String, Double> outputByRack, Map<String, Double> fetchedByRack) {
    double output = outputByRack.values().stream().mapToDouble(Double::doubleValue).sum();
    double all = 0;
    double crossing = 0;
    for (Map.Entry<String, Double> fetched : fetchedByRack.entrySet()) {
      double near = outputByRack.getOrDefault(fetched.getKey(), 0.0);
      all += fetched.getValue();
      crossing += output == 0 ? 0 : fetched.getValue() * (1 - near / output);
    }
    bytes = all;
    crossRackBytes = crossing;
  }

  /**
   * Reads a job that succeeded.
   *
   * @param rackOf returns the rack of a host
   */
  public static ShuffleTraffic of(Job job, UnaryOperator<String> rackOf)
      throws IOException, InterruptedException {
    Map<String, String> rackByTask = new HashMap<>();
    TaskCompletionEvent[] events;
    for (int from = 0; ; from += events.length) {
      events = job.getTaskCompletionEvents(from, EVENTS_AT_ONCE);
      for (TaskCompletionEvent event : events) {
        if (event.getStatus() == TaskCompletionEvent.Status.SUCCEEDED) {
          String host = host(event.getTaskTrackerHttp());
          rackByTask.put(event.getTaskAttemptId().getTaskID().toString(), rackOf.apply(host));
        }
      }
      if (events.length == 0) {
        break;
      }
    }
    return new ShuffleTraffic(
        sums(job, TaskType.MAP, TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES, rackByTask),
        sums(job, TaskType.REDUCE, TaskCounter.REDUCE_SHUFFLE_BYTES, rackByTask));
  }

  /** Returns the host in an ApplicationMaster's {@code http://HOST:PORT} or the history's form. */
  static String host(String address) {
    String authority = address.substring(address.indexOf("//") < 0 ? 0 : address.indexOf("//") + 2);
    return authority.replaceFirst(":\\d+/?$", "");
  }

  private static Map<String, Double> sums(
      Job job, TaskType type, TaskCounter counter, Map<String, String> rackByTask)
      throws IOException, InterruptedException {
    Map<String, Double> sums = new TreeMap<>();
    for (TaskReport report : job.getTaskReports(type)) {
      String rack = rackByTask.get(report.getTaskId());
      if (rack == null) {
        throw new IOException("no event tells where " + report.getTaskId() + " ran");
      }
      double value = report.getTaskCounters().findCounter(counter).getValue();
      sums.merge(rack, value, Double::sum);
    }
    return sums;
  }

  /** Returns the bytes that the reduces fetched. */
  public double bytes() {
    return bytes;
  }

  /** Returns how many of them came from maps on other racks. */
  public double crossRackBytes() {
    return crossRackBytes;
  }
}
