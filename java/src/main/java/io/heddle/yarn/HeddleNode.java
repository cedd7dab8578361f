package io.heddle.yarn;

import io.heddle.yarn.engine.FrameLayout;
import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Interner;
import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.ResourceCodec;
import java.util.Set;
import org.apache.hadoop.net.NetUtils;
import org.apache.hadoop.security.SecurityUtil;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * A node with the engine's numbers for it, so that a heartbeat looks up no name. Keeps its books in
 * SchedulerNode. FiCaSchedulerNode would build a line of text for every container, logged or not,
 * which took a sixth of the time for a container.
 *
 * <p>The numbers are guarded by the scheduler's write lock.
 */
final class HeddleNode extends SchedulerNode {
  /** The time of a node that the list of reports does not have. */
  static final long UNLISTED_MS = Long.MIN_VALUE / 2;

  private static final long NEVER = -1;

  /** A node's address is looked up again after this time. */
  private static final long ADDRESS_MS = 10_000;

  private final FaultRecord faults = new FaultRecord();
  private int id = -1;
  private int hostPlace;
  private int rackPlace;
  private int partitionId;
  private boolean lends;
  private boolean sentSchedulable;
  // The free room that the engine was told last; null before the first time.
  private long[] toldFree;
  // The load from outside YARN that the engine was told last.
  private int toldLoad = -1;
  // The version of the pending sizes at which none fitted that room.
  private long unfitAt = NEVER;

  // When the list of reports got it last.
  private long listedMs = UNLISTED_MS;
  // When it last reported, and the mean time between its reports; 0 before the second.
  private long reportedMs;
  private long reportIntervalMs;
  // Whether the engine was told that its last report is late.
  private boolean silent;

  // The application whose launch failed here last, by its number, and when; -1 for none.
  private int failedJob = -1;
  private long failedMs;

  private volatile Address address;

  /** An address, and when it was looked up. */
  private static final class Address {
    private final String service;
    private final long sinceMs;

    private Address(String service, long sinceMs) {
      this.service = service;
      this.sinceMs = sinceMs;
    }
  }

  HeddleNode(RMNode node, boolean usePortForNodeName, Set<String> labels) {
    super(node, usePortForNodeName, labels);
  }

  /** Returns the engine's number of this node, -1 before it has one. */
  int id() {
    return id;
  }

  FaultRecord faults() {
    return faults;
  }

  void setId(int id) {
    this.id = id;
  }

  /** Looks up the numbers for this node's names; called again after its labels changed. */
  void intern(Interner places, Interner partitions) {
    hostPlace = places.intern(getNodeName());
    rackPlace = places.intern(getRackName());
    partitionId = partitions.intern(getPartition());
    unfitAt = NEVER;
  }

  /** Returns the engine's number of its host. */
  int hostPlace() {
    return hostPlace;
  }

  /** Writes a record with all of it, and what the engine was last told of its state. */
  void write(FrameWriter out, int kind) {
    int flags = (sentSchedulable ? FrameLayout.NODE_SCHEDULABLE : 0)
        | (lends ? FrameLayout.NODE_LENDS : 0);
    out.node(kind, id, hostPlace, rackPlace, partitionId, flags, getTotalResource(),
        getUnallocatedResource());
    if (silent) {
      out.nodeSilent(id);
    }
  }

  /**
   * Sets whether its label is non-exclusive: asks without a label may then use what asks for its
   * label leave.
   */
  void setLends(boolean lends) {
    this.lends = lends;
  }

  /**
   * Returns its address for tokens. Any thread may call it.
   *
   * @throws IllegalArgumentException if its name cannot be resolved
   */
  String address(long nowMs) {
    Address known = address;
    if (known == null || nowMs - known.sinceMs > ADDRESS_MS || nowMs < known.sinceMs) {
      known = new Address(SecurityUtil.buildTokenService(NetUtils.createSocketAddrForHost(
          getNodeID().getHost(), getNodeID().getPort())).toString(), nowMs);
      address = known;
    }
    return known.service;
  }

  /** Returns whether asks for a label, by its number, may run here at all. */
  boolean serves(int label) {
    return label == partitionId || lends && label == Names.UNLABELLED;
  }

  /** Returns whether asks for a label may run here at all. */
  boolean serves(String label) {
    return label.equals(getPartition()) || lends && label.isEmpty();
  }

  /** Returns whether the engine was last told that it may use this node. */
  boolean sentSchedulable() {
    return sentSchedulable;
  }

  void setSentSchedulable(boolean schedulable) {
    sentSchedulable = schedulable;
  }

  /** Returns when the list of reports got this node last, or {@link #UNLISTED_MS}. */
  long listedMs() {
    return listedMs;
  }

  void setListedMs(long nowMs) {
    listedMs = nowMs;
  }

  /** Notes the time of a report, and how long it took to come. */
  void noteReport(long nowMs) {
    if (reportedMs != 0) {
      long passedMs = Math.max(1, nowMs - reportedMs);
      reportIntervalMs =
          reportIntervalMs == 0 ? passedMs : (3 * reportIntervalMs + passedMs + 3) / 4;
    }
    reportedMs = nowMs;
  }

  long reportedMs() {
    return reportedMs;
  }

  long reportIntervalMs() {
    return reportIntervalMs;
  }

  /**
   * Notes that a launch failed; returns whether that of another job has, within this time.
   */
  boolean failedOthers(int job, long nowMs, long withinMs) {
    boolean others = failedJob >= 0 && failedJob != job && nowMs - failedMs < withinMs;
    failedJob = job;
    failedMs = nowMs;
    return others;
  }

  boolean isSilent() {
    return silent;
  }

  void setSilent(boolean silent) {
    this.silent = silent;
  }

  /** Returns the foreign load that the engine was told, per mille; negative for none. */
  int toldLoad() {
    return toldLoad;
  }

  void setToldLoad(int perMille) {
    toldLoad = perMille;
  }

  /** Notes a copy of the free room that the engine is told: YARN changes its object in place. */
  void tellOf(Resource free, ResourceCodec resources) {
    if (wasToldOf(free, resources)) {
      return;
    }
    if (toldFree == null) {
      toldFree = new long[resources.types()];
    }
    for (int type = 0; type < toldFree.length; type++) {
      toldFree[type] = ResourceCodec.value(free, type);
    }
    unfitAt = NEVER;
  }

  /** Returns whether the engine was last told this free room. */
  boolean wasToldOf(Resource free, ResourceCodec resources) {
    if (toldFree == null) {
      return false;
    }
    for (int type = 0; type < resources.types(); type++) {
      if (toldFree[type] != ResourceCodec.value(free, type)) {
        return false;
      }
    }
    return true;
  }

  long unfitAt() {
    return unfitAt;
  }

  void setUnfitAt(long version) {
    unfitAt = version;
  }

  /** Always fails: the engine holds nodes for large asks, and YARN's reservations stay unused. */
  @Override
  public void reserveResource(SchedulerApplicationAttempt attempt, SchedulerRequestKey key,
      RMContainer container) {
    throw new UnsupportedOperationException("nothing is reserved in Java");
  }

  @Override
  public void unreserveResource(SchedulerApplicationAttempt attempt) {
    throw new UnsupportedOperationException("nothing is reserved in Java");
  }
}
