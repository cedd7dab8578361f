package io.heddle.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import io.heddle.yarn.engine.Names;
import io.heddle.yarn.engine.SetupJson;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.Test;

/** Tests reports of queues that come and go. */
public class QueueReportsTest {
  /** Reports take no lock, so a queue may go while one is made. */
  @Test
  public void aReportBringsNoRemovedQueueBack() {
    YarnConfiguration conf = new YarnConfiguration();
    Names names = new Names();
    QueueTable table = new QueueReports(conf, false, false, names.users,
        new QueueGauges(conf, false, false, names)).table();
    QueueView view = new QueueView(
        SetupJson.read("{\"id\": 1, \"path\": \"root.goes\", \"leaf\": true}"));
    table.add(new QueueView(SetupJson.read("{\"id\": 0, \"path\": \"root\"}")));
    table.add(view);
    table.remove(view.path);
    QueueInfo info = table.reports.describe(view);
    assertEquals("root.goes", info.getQueueName());
    assertNull(table.get("root.goes"));
  }
}
