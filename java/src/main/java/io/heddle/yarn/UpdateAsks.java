package io.heddle.yarn;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/** The asks that YARN makes of an AM's wishes to change containers. */
final class UpdateAsks {
  private UpdateAsks() {}

  /** Whether an AM wants any container changed. */
  static boolean hasAny(ContainerUpdates updates) {
    return !updates.getIncreaseRequests().isEmpty() || !updates.getDecreaseRequests().isEmpty()
        || !updates.getPromotionRequests().isEmpty() || !updates.getDemotionRequests().isEmpty();
  }

  /** Returns an update of this container that names no size: what takes an increase back. */
  static ContainerUpdates of(ContainerId id) {
    ContainerUpdates updates = new ContainerUpdates();
    updates.getDecreaseRequests().add(UpdateContainerRequest.newInstance(
        0, id, ContainerUpdateType.DECREASE_RESOURCE, null, null));
    return updates;
  }

  /**
   * Withdraws the asks that still wait for room and that these updates replace. YARN would do it by
   * a container that never ends.
   */
  static void withdraw(AppSchedulingInfo info, Map<ContainerId, RMContainer> live,
      ContainerUpdates updates) {
    List<UpdateContainerRequest> requests = new ArrayList<>(updates.getIncreaseRequests());
    requests.addAll(updates.getDecreaseRequests());
    for (UpdateContainerRequest request : requests) {
      RMContainer container = live.get(request.getContainerId());
      if (container != null) {
        withdraw(info, new SchedulerRequestKey(container.getContainer().getPriority(),
            container.getContainer().getAllocationRequestId(), container.getContainerId()));
      }
    }
  }

  private static void withdraw(AppSchedulingInfo info, SchedulerRequestKey key) {
    AppPlacementAllocator<?> allocator = info.getAppPlacementAllocator(key);
    ResourceRequest any =
        allocator == null ? null : allocator.getResourceRequests().get(ResourceRequest.ANY);
    if (any != null) {
      ResourceRequest none = ResourceRequest.clone(any);
      none.setNumContainers(0);
      info.updateResourceRequests(Collections.singletonMap(
          key, Collections.singletonMap(ResourceRequest.ANY, none)), false);
    }
  }
}
