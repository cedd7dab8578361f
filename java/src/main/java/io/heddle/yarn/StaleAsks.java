package io.heddle.yarn;

import java.util.List;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;

/**
 * Subtracts from an AM's counts the containers that it has not fetched yet. An AM's counts are
 * absolute and were computed before it saw those containers, so YARN would grant them twice: a
 * MapReduce job would get too many at the end of every wave. Host and rack rows are lowered too,
 * because they cannot exceed their ask.
 */
final class StaleAsks {
  private StaleAsks() {}

  /**
   * Corrects the rows of a heartbeat in place.
   *
   * @param unseen containers that the AM has not fetched yet
   */
  static void correct(List<ResourceRequest> requests, List<RMContainer> unseen) {
    for (int i = 0; i < requests.size(); i++) {
      ResourceRequest row = requests.get(i);
      if (ResourceRequest.ANY.equals(row.getResourceName()) && row.getNumContainers() > 0) {
        int count = count(row, unseen);
        if (count > 0) {
          int corrected = Math.max(0, row.getNumContainers() - count);
          row.setNumContainers(corrected);
          clampRows(requests, row, corrected);
        }
      }
    }
  }

  private static int count(ResourceRequest ask, List<RMContainer> unseen) {
    int count = 0;
    for (int i = 0; i < unseen.size(); i++) {
      Container container = unseen.get(i).getContainer();
      if (container.getAllocationRequestId() == ask.getAllocationRequestId()
          && container.getPriority().equals(ask.getPriority())
          && container.getResource().equals(ask.getCapability())) {
        count++;
      }
    }
    return count;
  }

  private static void clampRows(List<ResourceRequest> requests, ResourceRequest any, int most) {
    for (int i = 0; i < requests.size(); i++) {
      ResourceRequest row = requests.get(i);
      if (row.getNumContainers() > most
          && row.getAllocationRequestId() == any.getAllocationRequestId()
          && row.getPriority().equals(any.getPriority())) {
        row.setNumContainers(most);
      }
    }
  }
}
