/*
 * One cluster with one scheduler: asks and small jobs while it is idle, then while half of it is
 * taken. Compares nothing.
 */
package io.heddle.integration.grants;

import io.heddle.integration.jobs.GrantProbe;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Measures once. */
final class ClusterRun {
  static final int NODE_MEMORY_MB = 8192;
  private static final int NODES = 4;
  /** Whole GB, to which the Fair scheduler rounds what is asked for. */
  private static final int TASK_MB = 1024;
  /** YARN's default, for nodes and for MapReduce's ApplicationMaster. */
  private static final int REPORT_MS = 1_000;
  /** Every scheduler has this queue, or makes it. */
  private static final String QUEUE = "root.default";

  private final Contender contender;
  private final boolean daemons;
  private final int asks;
  private final List<Kind> kinds;
  private final int jobs;
  private final Random random;
  private final List<Reading> readings = new ArrayList<>();

  /** Makes a run that asks, and submits jobs of each kind, this often in each of two states. */
  ClusterRun(
      Contender contender, boolean daemons, int asks, List<Kind> kinds, int jobs, long seed) {
    this.contender = contender;
    this.daemons = daemons;
    this.asks = asks;
    this.kinds = kinds;
    this.jobs = jobs;
    random = new Random(seed);
  }

  /** Starts a cluster, measures, and stops it. */
  List<Reading> run() throws Exception {
    try (Site site = start(); SmallJobs small = new SmallJobs(site, QUEUE, TASK_MB)) {
      // The first job loads what all later ones use.
      small.run(Kind.MAPREDUCE, "warm-up");
      measure(site, small, "idle");
      try (GrantProbe holder = probe(site, "holder")) {
        holder.hold(Resource.newInstance(TASK_MB, 1), NODES * NODE_MEMORY_MB / TASK_MB / 2);
        measure(site, small, "half-full");
      }
    }
    return readings;
  }

  private Site start() throws Exception {
    Map<String, String> set = new LinkedHashMap<>(contender.settings());
    set.put(YarnConfiguration.NM_PMEM_MB, String.valueOf(NODE_MEMORY_MB));
    set.put(YarnConfiguration.NM_VCORES, "32");
    set.put(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, String.valueOf(REPORT_MS));
    set.put(MRJobConfig.MR_AM_TO_RM_HEARTBEAT_INTERVAL_MS, String.valueOf(REPORT_MS));
    String name = "grants-" + contender.label;
    return daemons ? Site.ofDaemons(name, set) : Site.inProcess(name, set);
  }

  private GrantProbe probe(Site site, String user) throws Exception {
    return new GrantProbe(site.configuration(), user, QUEUE, random.nextLong());
  }

  private void measure(Site site, SmallJobs small, String load) throws Exception {
    try (GrantProbe probe = probe(site, "alice")) {
      for (GrantProbe.Sample sample : probe.measure(Resource.newInstance(TASK_MB, 1), asks)) {
        readings.add(new Reading(load, Reading.GRANT, sample.grantMs));
        readings.add(new Reading(load, Reading.START, sample.startMs));
      }
    }
    for (int i = 0; i < jobs; i++) {
      for (Kind kind : kinds) {
        // At any moment between two reports.
        Thread.sleep(random.nextInt(REPORT_MS));
        SmallJobs.Times times = small.run(kind, kind.label + "-" + load + "-" + i);
        readings.add(new Reading(load, kind.figure, times.turnAround));
        readings.add(new Reading(load, kind.waiting(), times.waiting));
      }
    }
  }
}
