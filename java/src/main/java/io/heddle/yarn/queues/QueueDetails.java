package io.heddle.yarn.queues;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.compat.Compat;
import java.util.Collections;
import org.apache.hadoop.yarn.api.records.QueueConfigurations;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.QueueStatistics;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.nodelabels.CommonNodeLabelsManager;
import org.apache.hadoop.yarn.util.Records;

/** Completes a queue's description as the stock scheduler of the file in use does. */
final class QueueDetails {
  private static final String CAPACITY_TYPE = "CapacityScheduler";
  private static final String FAIR_TYPE = "FairScheduler";

  private QueueDetails() {}

  /** Writes what the library says of a queue of the Capacity Scheduler's file. */
  static void capacity(QueueInfo info, QueueView view, JsonNode row) {
    info.setQueueName(view.path.substring(view.path.lastIndexOf('.') + 1));
    info.setCapacity(number(row, "capacity"));
    info.setCurrentCapacity(number(row, "current"));
    info.setMaximumCapacity(number(row, "maximum"));
    info.setPreemptionDisabled(row.path("preemption_disabled").asBoolean());
    info.setIntraQueuePreemptionDisabled(row.path("intra_queue_disabled").asBoolean());
    Resource available = resource(row.path("available"));
    QueueStatistics statistics = info.getQueueStatistics();
    statistics.setAvailableMemoryMB(available.getMemorySize());
    statistics.setAvailableVCores(available.getVirtualCores());
    info.setQueueStatistics(statistics);
    QueueConfigurations sizes = Records.newRecord(QueueConfigurations.class);
    sizes.setCapacity(number(row, "capacity"));
    sizes.setAbsoluteCapacity(number(row, "absolute"));
    sizes.setMaxCapacity(number(row, "maximum"));
    sizes.setAbsoluteMaxCapacity(number(row, "absolute_maximum"));
    sizes.setMaxAMPercentage(number(row, "max_am"));
    sizes.setEffectiveMinCapacity(resource(row.path("effective").path(0)));
    sizes.setEffectiveMaxCapacity(resource(row.path("effective").path(1)));
    sizes.setConfiguredMinCapacity(resource(row.path("configured").path(0)));
    sizes.setConfiguredMaxCapacity(resource(row.path("configured").path(1)));
    info.setQueueConfigurations(
        Collections.singletonMap(CommonNodeLabelsManager.NO_LABEL, sizes));
    Compat.describeQueue(info, view.path, CAPACITY_TYPE, number(row, "weight"),
        row.path("max_parallel").asInt());
  }

  /** Writes what the engine says of a queue of the Fair Scheduler's file. */
  static void fair(QueueInfo info, QueueView view) {
    JsonNode said = view.described;
    // The Fair Scheduler reports no maximum and has no labels. In 3.4 and later its flag has the
    // opposite of its name's meaning.
    info.setMaximumCapacity(-1);
    // Nor does it count users, or limit applications there.
    QueueStatistics statistics = info.getQueueStatistics();
    statistics.setNumActiveUsers(0);
    info.setQueueStatistics(statistics);
    info.setAccessibleNodeLabels(Collections.<String>emptySet());
    boolean known = Compat.describeFairQueue(info,
        QueueView.resource(said.path("min_share"), 0), view.maxShare,
        QueueView.resource(said.path("steady_share"), 0), view.maxRunningJobs);
    if (known) {
      info.setPreemptionDisabled(said.path("preemptable").asBoolean());
      Compat.describeQueue(info, null, FAIR_TYPE, view.weight, -1);
    }
  }

  private static float number(JsonNode row, String key) {
    return (float) row.path(key).asDouble();
  }

  /** Reads amounts in the order of the resource types. */
  private static Resource resource(JsonNode amounts) {
    Resource resource = Resource.newInstance(0, 0);
    for (int i = 0; i < amounts.size(); i++) {
      resource.setResourceValue(i, amounts.path(i).asLong());
    }
    return resource;
  }
}
