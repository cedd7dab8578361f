/*
 * The small jobs that are measured, one of each framework. Tez and Spark may not be there.
 */
package io.heddle.integration.grants;

import io.heddle.integration.jobs.SparkSubmit;
import io.heddle.integration.jobs.TezJob;
import java.util.Arrays;
import java.util.stream.Collectors;

/** One kind of job. */
enum Kind {
  /** A word count of four maps and a reduce. */
  MAPREDUCE("mapreduce", "small MapReduce job", null, null),
  /** A word count with sorted counts: a graph of three vertices. */
  TEZ("tez", "small Tez job", TezJob.JARS_VARIABLE, "./x grants sets it"),
  /** A query that groups numbers, with two executors. */
  SPARK("spark", "small Spark job", SparkSubmit.HOME_VARIABLE,
      "HEDDLE_SPARK=$(scripts/pyspark) ./x grants ... installs Spark and sets it");

  final String label;
  /** The name of its turn-around. */
  final String figure;
  private final String variable;
  private final String remedy;

  Kind(String label, String figure, String variable, String remedy) {
    this.label = label;
    this.figure = figure;
    this.variable = variable;
    this.remedy = remedy;
  }

  /** Returns the name of the time in which it waited for containers. */
  String waiting() {
    return figure + ": waiting";
  }

  /** Returns what is missing to run it and what to do, or null. */
  String missing() {
    // Scripts set it to nothing if they could not install it.
    return variable == null || !System.getenv().getOrDefault(variable, "").trim().isEmpty()
        ? null : "no " + figure + ": " + variable + " is not set; " + remedy;
  }

  static String labels() {
    return Arrays.stream(values()).map(kind -> kind.label).collect(Collectors.joining(","));
  }

  static Kind byLabel(String label) {
    return Arrays.stream(values()).filter(kind -> kind.label.equals(label)).findFirst()
        .orElseThrow(() -> new IllegalArgumentException(
            "unknown kind of job '" + label + "'; known are " + labels()));
  }
}
