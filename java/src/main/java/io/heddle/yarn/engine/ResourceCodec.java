package io.heddle.yarn.engine;

import java.nio.ByteBuffer;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator;
import org.apache.hadoop.yarn.util.resource.DominantResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceCalculator;
import org.apache.hadoop.yarn.util.resource.ResourceUtils;

/**
 * Converts YARN resources to the engine's vectors: one {@code i64} per type, in the order of
 * {@link ResourceUtils}, memory in MB first, then vcores. Compares amounts in the types that the
 * configuration in force counts.
 */
public final class ResourceCodec {
  private final int types;
  // How many types count, the first ones; written with the scheduler's lock held.
  private volatile int counted;
  private final ResourceCalculator memory = new DefaultResourceCalculator();
  private final ResourceCalculator all = new DominantResourceCalculator();

  /**
   * Reads the cluster's resource types.
   *
   * @throws YarnRuntimeException if there are more than {@link FrameLayout#RESOURCE_TYPES}
   */
  public ResourceCodec() {
    types = ResourceUtils.getNumberOfKnownResourceTypes();
    if (types > FrameLayout.RESOURCE_TYPES) {
      throw new YarnRuntimeException(
          "yarn.resource-types names " + types + " resource types (memory and vcores included);"
              + " Heddle schedules at most " + FrameLayout.RESOURCE_TYPES + ": remove some");
    }
    counted = types;
  }

  /** Sets whether memory alone limits nodes and is rounded, or every type. */
  void countMemoryOnly(boolean memoryOnly) {
    counted = memoryOnly ? 1 : types;
  }

  /** Returns how many types count: memory, or all. */
  public int counted() {
    return counted;
  }

  /** Returns how amounts are compared and rounded. */
  public ResourceCalculator calculator() {
    return counted == 1 ? memory : all;
  }

  /** Returns the number of the cluster's resource types. */
  public int types() {
    return types;
  }

  /** Returns the amount of one type. */
  public static long value(Resource resource, int type) {
    // Memory and vcores have getters without an array and its bounds checks.
    switch (type) {
      case 0:
        return resource.getMemorySize();
      case 1:
        return resource.getVirtualCores();
      default:
        return resource.getResourceInformation(type).getValue();
    }
  }

  /** Returns the amounts of all types. */
  public long[] values(Resource resource) {
    long[] values = new long[types];
    for (int type = 0; type < types; type++) {
      values[type] = value(resource, type);
    }
    return values;
  }

  /** Writes a vector at an offset, unused types as 0. */
  void put(ByteBuffer buffer, int offset, Resource resource) {
    buffer.putLong(offset, resource.getMemorySize());
    buffer.putLong(offset + 8, resource.getVirtualCores());
    int type = 2;
    for (; type < types; type++) {
      buffer.putLong(offset + 8 * type, resource.getResourceInformation(type).getValue());
    }
    for (; type < FrameLayout.RESOURCE_TYPES; type++) {
      buffer.putLong(offset + 8 * type, 0);
    }
  }

  /** Reads the vector at an offset. */
  Resource get(ByteBuffer buffer, int offset) {
    long vcores = buffer.getLong(offset + 8);
    Resource resource = Resource.newInstance(buffer.getLong(offset), clampToInt(vcores));
    for (int type = 2; type < types; type++) {
      resource.setResourceValue(type, buffer.getLong(offset + 8 * type));
    }
    return resource;
  }

  /** Returns whether an amount fits into the free room in every type that counts. */
  public boolean fits(Resource amount, Resource free) {
    int compared = counted;
    for (int type = 0; type < compared; type++) {
      if (value(amount, type) > value(free, type)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether any type of an amount that counts is below 0. */
  public boolean anyNegative(Resource amount) {
    int compared = counted;
    for (int type = 0; type < compared; type++) {
      if (value(amount, type) < 0) {
        return true;
      }
    }
    return false;
  }

  private static int clampToInt(long value) {
    return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, value));
  }
}
