package io.heddle.yarn;

import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.rmcontainer.RMContainer;
import org.apache.hadoop.yarn.server.scheduler.SchedulerRequestKey;

/**
 * Subtracts from an AM's counts the containers that it has not fetched yet. An AM's counts are
 * absolute and were computed before it saw those containers, so YARN would grant them twice: a
 * MapReduce job would get too many at the end of every wave. Host and rack rows are lowered too,
 * because they cannot exceed their ask.
 */
final class StaleAsks {
  private StaleAsks() {}

  /**
   * Corrects the rows of a heartbeat in place. An AM may send tens of thousands while thousands of
   * containers wait for it, so each row and each container is looked at once.
   *
   * @param unseen containers that the AM has not fetched yet
   */
  static void correct(List<ResourceRequest> requests, List<RMContainer> unseen) {
    Map<SchedulerRequestKey, Map<Resource, Integer>> counts = count(unseen);
    // The new counts of the asks that were lowered.
    Map<SchedulerRequestKey, Integer> lowered = new HashMap<>();
    for (int i = 0; i < requests.size(); i++) {
      ResourceRequest row = requests.get(i);
      if (ResourceRequest.ANY.equals(row.getResourceName()) && row.getNumContainers() > 0) {
        SchedulerRequestKey key = SchedulerRequestKey.create(row);
        int count = counts.getOrDefault(key, Collections.<Resource, Integer>emptyMap())
            .getOrDefault(row.getCapability(), 0);
        if (count > 0) {
          row.setNumContainers(Math.max(0, row.getNumContainers() - count));
          lowered.put(key, row.getNumContainers());
        }
      }
    }
    if (!lowered.isEmpty()) {
      clampRows(requests, lowered);
    }
  }

  private static Map<SchedulerRequestKey, Map<Resource, Integer>> count(List<RMContainer> unseen) {
    Map<SchedulerRequestKey, Map<Resource, Integer>> counts = new HashMap<>();
    for (int i = 0; i < unseen.size(); i++) {
      Container container = unseen.get(i).getContainer();
      counts.computeIfAbsent(new SchedulerRequestKey(container.getPriority(),
              container.getAllocationRequestId(), null), key -> new HashMap<>())
          .merge(container.getResource(), 1, Integer::sum);
    }
    return counts;
  }

  private static void clampRows(
      List<ResourceRequest> requests, Map<SchedulerRequestKey, Integer> lowered) {
    for (int i = 0; i < requests.size(); i++) {
      ResourceRequest row = requests.get(i);
      Integer most = lowered.get(SchedulerRequestKey.create(row));
      if (most != null && row.getNumContainers() > most) {
        row.setNumContainers(most);
      }
    }
  }
}
