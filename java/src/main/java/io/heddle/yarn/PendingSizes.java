package io.heddle.yarn;

import io.heddle.yarn.engine.ResourceCodec;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.util.resource.Resources;

/**
 * The container sizes of pending asks. With them a heartbeat that cannot lead to a grant is skipped
 * without a native call. When no pending size fits a node's room, the engine only notes the room:
 * it starts no clock of delay scheduling and checks no hold. So it does not need the same room
 * again until a new size is pending.
 *
 * <p>Holds every pending size and perhaps more, such as those of a job that may not run yet. A
 * superfluous size costs calls; a missing one would cost a job its containers. {@link EngineAudit}
 * therefore looks for asks whose size is missing.
 *
 * <p>Guarded by the scheduler's write lock.
 */
final class PendingSizes {
  /** One size with its label, and the number of asks that have it. */
  static final class Size {
    private final Resource resource;
    private final int partition;
    private int asks;

    private Size(Resource resource, int partition) {
      this.resource = resource;
      this.partition = partition;
    }

    /** Returns whether this is the given size and label. */
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
  // Grows with every new size, which invalidates what nodes noted before.
  private long version;
  // The number of resource types that counted then.
  private int counted;

  PendingSizes(ResourceCodec resources) {
    this.resources = resources;
  }

  /** Counts an ask of this size. The caller must {@link #remove} it later. */
  Size add(Resource resource, int partition) {
    Size size = sizes.get(new Size(resource, partition));
    if (size == null) {
      // YARN's caller may change the original.
      size = new Size(Resources.clone(resource), partition);
      sizes.put(size, size);
      version++;
    }
    size.asks++;
    return size;
  }

  /** Uncounts an ask of this size that was served or withdrawn. */
  void remove(Size size) {
    size.asks--;
    if (size.asks == 0) {
      sizes.remove(size);
    }
  }

  int count() {
    return sizes.size();
  }

  /**
   * Returns whether a heartbeat of a node would change nothing: the engine knows this room, and no
   * pending size fits it.
   */
  boolean leaveAlone(HeddleNode node, Resource free) {
    if (!node.wasToldOf(free, resources)) {
      return false;
    }
    if (counted != resources.counted()) {
      counted = resources.counted();
      version++;
    }
    if (node.unfitAt() != version) {
      if (anyFits(node, free)) {
        return false;
      }
      node.setUnfitAt(version);
    }
    return true;
  }

  private boolean anyFits(HeddleNode node, Resource free) {
    for (Size size : sizes.keySet()) {
      if (node.serves(size.partition) && resources.fits(size.resource, free)) {
        return true;
      }
    }
    return false;
  }
}
