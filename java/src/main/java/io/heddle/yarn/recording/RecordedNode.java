package io.heddle.yarn.recording;

import io.heddle.yarn.engine.FrameWriter;
import io.heddle.yarn.engine.Names;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** A node of a stock scheduler at one moment, in the journal's terms. */
final class RecordedNode implements FrameWriter.Node {
  private final String host;
  private final String rack;
  private final String partition;
  private final Resource total;
  private final Resource unallocated;
  private int id;
  private Names names;

  RecordedNode(SchedulerNode node) {
    host = node.getNodeName();
    rack = node.getRackName();
    partition = node.getPartition();
    total = node.getTotalResource();
    unallocated = node.getUnallocatedResource();
  }

  /** Sets its number, and who numbers its names. */
  void number(int number, Names known) {
    id = number;
    names = known;
  }

  @Override
  public int id() {
    return id;
  }

  @Override
  public int hostPlace() {
    return names.places.intern(host);
  }

  @Override
  public int rackPlace() {
    return names.places.intern(rack);
  }

  @Override
  public int partitionId() {
    return names.partitions.intern(partition);
  }

  @Override
  public boolean lends() {
    return false;
  }

  @Override
  public Resource getTotalResource() {
    return total;
  }

  @Override
  public Resource getUnallocatedResource() {
    return unallocated;
  }
}
