package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;

/**
 * Computes foreign load: the part of a node's capacity for containers that processes outside YARN
 * use. The figures are the utilization in the node's heartbeats. The engine's policies decide what
 * follows.
 *
 * <p>YARN has less than the whole machine, because daemons and other known processes have a
 * reserve. Only use beyond that reserve is foreign load.
 */
public final class ForeignLoad {
  /** Whether to tell the engine nodes' foreign load. */
  public static final String ENABLE_PROPERTY = "heddle.node-load.enable";
  /** The load of a node that does not measure, or has not yet. */
  public static final int UNKNOWN = -1;

  private static final int ALL = 1000;
  /** Smaller loads count as 0: the figures are from different moments. */
  private static final int NOISE_PER_MILLE = 50;
  /** Smaller changes are not told. */
  private static final int STEP_PER_MILLE = 50;

  private ForeignLoad() {}

  /**
   * Computes the load of a node.
   *
   * @param node use of the whole machine: memory in MB, CPU in processors
   * @param containers use of all containers: memory in MB, CPU in vcores
   * @param machine capacity of the machine, CPU in processors; null if it is unknown
   * @param capacity YARN's part of that, CPU in vcores
   * @return 0 to 1,000, or {@link #UNKNOWN}
   */
  public static int perMille(ResourceUtilization node, ResourceUtilization containers,
      Resource machine, Resource capacity) {
    // A running machine uses memory: 0 means that it is not measured.
    if (node == null || containers == null || node.getPhysicalMemory() <= 0
        || capacity.getMemorySize() <= 0 || capacity.getVirtualCores() <= 0) {
      return UNKNOWN;
    }
    Resource all = machine != null && machine.getMemorySize() > 0
        && machine.getVirtualCores() > 0 ? machine : capacity;
    // A vcore is a fraction of YARN's processors, so both are compared as fractions of the whole.
    double processors = part(node.getCPU(), all.getVirtualCores());
    double vcores = part(containers.getCPU(), capacity.getVirtualCores());
    double cpu = beyondReserve(processors - vcores,
        part(capacity.getVirtualCores(), all.getVirtualCores()));
    double memory = beyondReserve(
        part((double) node.getPhysicalMemory() - Math.max(0, containers.getPhysicalMemory()),
            all.getMemorySize()),
        part(capacity.getMemorySize(), all.getMemorySize()));
    int load = (int) Math.round(Math.min(1, Math.max(cpu, memory)) * ALL);
    return load < NOISE_PER_MILLE ? 0 : load;
  }

  /** Returns a fraction of at least 0; a measurement of NaN counts as 0. */
  private static double part(double of, double all) {
    double part = of / all;
    return part > 0 ? part : 0;
  }

  /** Returns the fraction of YARN's share that a load, a fraction of the machine, takes from it. */
  private static double beyondReserve(double load, double yarns) {
    double share = Math.min(1, yarns);
    return Math.max(0, load - (1 - share)) / share;
  }

  /** Returns whether to tell the engine a changed load. */
  public static boolean isNews(int told, int load) {
    if (load == UNKNOWN || told == load) {
      return false;
    }
    return told == UNKNOWN || load == 0 || load == ALL
        || Math.abs(load - told) >= STEP_PER_MILLE;
  }
}
