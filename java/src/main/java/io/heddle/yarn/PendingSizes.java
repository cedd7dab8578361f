package io.heddle.yarn;

import io.heddle.yarn.engine.ResourceCodec;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * The sizes of the containers that the engine was asked for, to tell without a call that a node's
 * heartbeat leads to nothing. For a node whose room no pending size fits the engine only
 * notes the room: no clock of delay scheduling starts, no hold is looked at. So, if it knows the
 * room, it need not hear of the node again until a size comes that it did not know.
 *
 * <p>Holds every size that is pending and perhaps more (a job may not run yet, a limit may be
 * reached): what is here too long costs calls, what is missing would cost a job its containers.
 * Hence {@link EngineAudit} looks for asks whose size is missing.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class PendingSizes {
  /** One size with its label; as many asks have it as {@link #asks} says. */
  static final class Size {
    private final Resource resource;
    private final int partition;
    private int asks;

    private Size(Resource resource, int partition) {
      this.resource = resource;
      this.partition = partition;
    }

    /** Whether this is that size with that label. */
    boolean is(Resource other, int otherPartition) {
      return partition == otherPartition && resource.equals(other);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Size && is(((Size) other).resource, ((Size) other).partition);
    }

    @Override
    public int hashCode() {
      return 31 * resource.hashCode() + partition;
    }
  }

  private final ResourceCodec resources;
  private final Map<Size, Size> sizes = new HashMap<>();
  // Grows with every new size; findings of before may no longer hold.
  private long version;

  PendingSizes(ResourceCodec resources) {
    this.resources = resources;
  }

  /** One more ask has this size. The caller owes one {@link #remove}. */
  Size add(Resource resource, int partition) {
    Size size = sizes.get(new Size(resource, partition));
    if (size == null) {
      // A copy: YARN's belongs to its caller.
      size = new Size(Resources.clone(resource), partition);
      sizes.put(size, size);
      version++;
    }
    size.asks++;
    return size;
  }

  /** One ask of this size is served or withdrawn. */
  void remove(Size size) {
    size.asks--;
    if (size.asks == 0) {
      sizes.remove(size);
    }
  }

  /** Returns how many sizes there are. */
  int count() {
    return sizes.size();
  }

  /**
   * Whether the engine would do nothing with a heartbeat of a node, as it knows of this room and no
   * pending container fits it.
   */
  boolean leaveAlone(HeddleNode node, Resource free) {
    if (!node.wasToldOf(free, resources)) {
      return false;
    }
    if (node.unfitAt() != version) {
      if (anyFits(node.partitionId(), free)) {
        return false;
      }
      node.setUnfitAt(version);
    }
    return true;
  }

  private boolean anyFits(int partition, Resource free) {
    for (Size size : sizes.keySet()) {
      if (size.partition == partition && resources.fits(size.resource, free)) {
        return true;
      }
    }
    return false;
  }
}
