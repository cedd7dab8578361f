package io.heddle.yarn;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.LocalityAppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Lowers the rows of an ask as LocalityAppPlacementAllocator does. That copies each row, to ask
 * again for a container that is lost before the AM fetches it. Here a container keeps the rows
 * themselves, and the copies are made if that happens. Called with the attempt's write lock.
 */
final class AskRows {
  private AskRows() {}

  /** Returns whether YARN lowers these rows in that way; a job can choose another class. */
  static boolean isCommon(AppPlacementAllocator<?> allocator) {
    return allocator.getClass() == LocalityAppPlacementAllocator.class;
  }

  /** Lowers the rows of a grant; returns them, the narrowest first. */
  static ResourceRequest[] lower(AppSchedulingInfo info, SchedulerRequestKey key,
      Map<String, ResourceRequest> rows, NodeType type, HeddleNode node) {
    ResourceRequest[] lowered = new ResourceRequest[3 - type.getIndex()];
    int at = 0;
    if (type == NodeType.NODE_LOCAL) {
      lowered[at++] = lower(rows, node.getNodeName());
    }
    if (type != NodeType.OFF_SWITCH) {
      lowered[at++] = lower(rows, node.getRackName());
    }
    ResourceRequest any = lower(rows, ResourceRequest.ANY);
    lowered[at] = any;
    if (any.getNumContainers() == 0) {
      info.getSchedulerKeys().remove(key);
      info.checkForDeactivation();
      if (rows.isEmpty()) {
        info.removeAppPlacement(key);
      }
    }
    info.decPendingResource(any.getNodeLabelExpression(), any.getCapability());
    return lowered;
  }

  private static ResourceRequest lower(Map<String, ResourceRequest> rows, String name) {
    ResourceRequest row = rows.get(name);
    int left = row.getNumContainers() - 1;
    row.setNumContainers(left);
    if (left == 0) {
      rows.remove(name);
    }
    return row;
  }

  /** Returns what to ask again for one container. */
  static ContainerRequest again(ResourceRequest[] lowered) {
    List<ResourceRequest> copies = new ArrayList<>(lowered.length);
    for (ResourceRequest row : lowered) {
      ResourceRequest copy = ResourceRequest.clone(row);
      copy.setNumContainers(1);
      copies.add(copy);
    }
    return new ContainerRequest(copies);
  }
}
