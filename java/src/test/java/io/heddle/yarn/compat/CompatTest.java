package io.heddle.yarn.compat;

import static org.junit.Assert.assertEquals;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplication;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerApplicationAttempt;
import org.apache.hadoop.yarn.util.Records;
import org.apache.hadoop.yarn.util.YarnVersionInfo;
import org.junit.Test;

/** Tests the members of Hadoop that differ between versions. */
public class CompatTest {
  @Test
  public void whatDiffersBetweenHadoopVersionsIsFound() throws Exception {
    QueueMetrics metrics = QueueMetrics.forQueue("compat", null, false, new Configuration(false));
    Compat.submitApp(metrics, "alice", false);
    Compat.submitAppAttempt(metrics, "alice", false);
    assertEquals(1, metrics.getAppsSubmitted());
    assertEquals(1, metrics.getAppsPending());
    SchedulerApplication<SchedulerApplicationAttempt> application =
        Compat.newApplication(null, "alice", Priority.newInstance(3), true);
    assertEquals("alice", application.getUser());
    assertEquals(3, application.getPriority().getPriority());
    QueueInfo info = Records.newRecord(QueueInfo.class);
    Compat.describeQueue(info, "root.x", "HeddleScheduler", 2f, 7);
    if (!YarnVersionInfo.getVersion().startsWith("3.3")) {
      assertEquals("root.x", QueueInfo.class.getMethod("getQueuePath").invoke(info));
      assertEquals("HeddleScheduler",
          QueueInfo.class.getMethod("getSchedulerType").invoke(info));
      assertEquals(7, QueueInfo.class.getMethod("getMaxParallelApps").invoke(info));
    }
  }
}
