package io.heddle.yarn;

import io.heddle.yarn.compat.LinkCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AppSchedulingInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.NodeType;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.ContainerRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.AppPlacementAllocator;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.LocalityAppPlacementAllocator;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Lowers the rows of an ask as LocalityAppPlacementAllocator does. YARN copies each row, to ask
 * again for a container that is lost before the AM fetches it. Here the container keeps the rows
 * themselves and copies them only if it is lost. Called with the attempt's write lock.
 */
final class AskRows {
  private static final boolean TESTED = LinkCheck.onTestedHadoop();

  private AskRows() {}

  /** Returns whether YARN's stock class lowers these rows; a job can choose another class. */
  static boolean isCommon(AppPlacementAllocator<?> allocator) {
    return TESTED && allocator.getClass() == LocalityAppPlacementAllocator.class;
  }

  /** Returns the rows that a grant lowers, the narrowest first. */
  static ResourceRequest[] of(Map<String, ResourceRequest> rows, NodeType type, HeddleNode node) {
    ResourceRequest[] found = new ResourceRequest[3 - type.getIndex()];
    int at = 0;
    if (type == NodeType.NODE_LOCAL) {
      found[at++] = Objects.requireNonNull(rows.get(node.getNodeName()), "a row of the host");
    }
    if (type != NodeType.OFF_SWITCH) {
      found[at++] = Objects.requireNonNull(rows.get(node.getRackName()), "a row of the rack");
    }
    found[at] = Objects.requireNonNull(rows.get(ResourceRequest.ANY), "a row for any node");
    return found;
  }

  /** Lowers the found rows. Readers without the attempt's lock may see only some of it. */
  static void lower(AppSchedulingInfo info, SchedulerRequestKey key,
      Map<String, ResourceRequest> rows, ResourceRequest[] found) {
    for (ResourceRequest row : found) {
      int left = row.getNumContainers() - 1;
      row.setNumContainers(left);
      if (left == 0) {
        rows.remove(row.getResourceName());
      }
    }
    ResourceRequest any = found[found.length - 1];
    if (any.getNumContainers() == 0) {
      info.getSchedulerKeys().remove(key);
      info.checkForDeactivation();
      if (rows.isEmpty()) {
        info.removeAppPlacement(key);
      }
    }
    info.decPendingResource(any.getNodeLabelExpression(), any.getCapability());
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
