package io.heddle.yarn.engine;

import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;

/**
 * Container ids as the engine's 64-bit keys: the lowest 16 bits of the ResourceManager's epoch, the
 * attempt (16) and the number (32). Keys are unique within a job under these bounds: it has fewer
 * than 65,536 attempts, an attempt has fewer than 4,294,967,296 containers, and the ResourceManager
 * restarts fewer than 65,536 times between two containers that live at once. The first epoch
 * ({@code yarn.resourcemanager.epoch}) may be any: it is the same for all of these containers.
 */
public final class ContainerKeys {
  /** Lowest bit of the epoch in YARN's container number. */
  private static final int EPOCH_SHIFT = 40;
  private static final long NUMBER_MASK = (1L << 32) - 1;

  private ContainerKeys() {}

  /** Returns the key of a container within its job. */
  public static long of(ContainerId id) {
    return of(id.getContainerId(), id.getApplicationAttemptId().getAttemptId());
  }

  /** Returns the key of the container with YARN's number (epoch and counter) in an attempt. */
  public static long of(long yarnNumber, int attempt) {
    long epoch = yarnNumber >>> EPOCH_SHIFT;
    return (epoch & 0xFFFF) << 48 | (attempt & 0xFFFFL) << 32 | yarnNumber & NUMBER_MASK;
  }

  /**
   * Returns the only container id that a key can mean while the bounds above hold and the epoch is
   * below 65,536. Beyond, it names a container that does not exist: callers look for the key then.
   */
  public static ContainerId toId(ApplicationId application, long key) {
    int attempt = (int) (key >>> 32 & 0xFFFF);
    long yarnNumber = key >>> 48 << EPOCH_SHIFT | key & NUMBER_MASK;
    return ContainerId.newContainerId(
        ApplicationAttemptId.newInstance(application, attempt), yarnNumber);
  }
}
