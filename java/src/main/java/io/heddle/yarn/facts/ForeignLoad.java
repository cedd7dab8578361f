package io.heddle.yarn.facts;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;

/**
 * How much of what a node has for containers is taken by what is not YARN's, from the utilization
 * in the node's heartbeats. The engine's policies decide what follows.
 *
 * <p>A node is given less to YARN than the machine has, for its daemons and what else is known to
 * run there. Only what exceeds that reserve is foreign load.
 */
public final class ForeignLoad {
  /** Whether nodes' utilization is told to the engine. */
  public static final String ENABLE_PROPERTY = "heddle.node-load.enable";
  /** The node does not measure, or has not yet. */
  public static final int UNKNOWN = -1;

  private static final int ALL = 1000;
  /** Less is noise of the measurement: the figures are of different moments. */
  private static final int NOISE_PER_MILLE = 50;
  /** A change of less than this is not told. */
  private static final int STEP_PER_MILLE = 50;

  private ForeignLoad() {}

  /**
   * Works out the load of a node.
   *
   * @param node of the whole machine: memory in MB, CPU in processors
   * @param containers of all containers: memory in MB, CPU in vcores
   * @param machine what the machine has, CPU in processors; null if it did not say
   * @param capacity what of it is YARN's, CPU in vcores
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
    // A vcore is a part of YARN's part of the processors, so both are compared as parts of all.
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

  /** From 0 up; NaN, which a measurement may be, is nothing. */
  private static double part(double of, double all) {
    double part = of / all;
    return part > 0 ? part : 0;
  }

  /** Returns the part of YARN's share that a load, as a part of the machine, takes. */
  private static double beyondReserve(double load, double yarns) {
    double share = Math.min(1, yarns);
    return Math.max(0, load - (1 - share)) / share;
  }

  /** Whether the engine should hear that a load has changed. */
  public static boolean isNews(int told, int load) {
    if (load == UNKNOWN || told == load) {
      return false;
    }
    return told == UNKNOWN || load == 0 || load == ALL
        || Math.abs(load - told) >= STEP_PER_MILLE;
  }
}
