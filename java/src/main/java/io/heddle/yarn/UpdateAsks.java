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

/** The asks that YARN derives from an AM's requests to change running containers. */
final class UpdateAsks {
  private UpdateAsks() {}

  /** Returns whether an AM requests any change. */
  static boolean hasAny(ContainerUpdates updates) {
    return !updates.getIncreaseRequests().isEmpty() || !updates.getDecreaseRequests().isEmpty()
        || !updates.getPromotionRequests().isEmpty() || !updates.getDemotionRequests().isEmpty();
  }

  /** Returns an update of this container without a size, which rolls an increase back. */
  static ContainerUpdates of(ContainerId id) {
    ContainerUpdates updates = new ContainerUpdates();
    updates.getDecreaseRequests().add(UpdateContainerRequest.newInstance(
        0, id, ContainerUpdateType.DECREASE_RESOURCE, null, null));
    return updates;
  }

  /**
   * Withdraws the waiting asks that these updates replace. YARN would use a temporary container
   * that never ends.
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
