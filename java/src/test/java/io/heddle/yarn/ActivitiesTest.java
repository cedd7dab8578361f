package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.AbstractYarnScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.activities.ActivitiesManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.ActivitiesInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.ActivityNodeInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppActivitiesInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppAllocationInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.AppRequestAllocationInfo;
import org.apache.hadoop.yarn.server.resourcemanager.webapp.dao.NodeAllocationInfo;
import org.junit.Test;

/** Tests YARN's REST about scheduling activities: YARN's own classes answer, from explanations. */
public class ActivitiesTest {
  private static final Set<Integer> NONE = Collections.emptySet();

  private static List<String> states(ActivityNodeInfo node) {
    List<String> states = new ArrayList<>();
    ActivityNodeInfo at = node;
    while (at != null) {
      states.add(at.getName() + " " + at.getAllocationState());
      List<ActivityNodeInfo> below = at.getChildren();
      at = below == null || below.isEmpty() ? null : below.get(0);
    }
    return states;
  }

  @Test
  public void aNodesActivitiesAreBranchesOfTheQueues() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      ActivitiesManager manager = cluster.scheduler.getActivitiesManager();
      MockNM node = cluster.node("a1", 2 * GB);
      assertEquals("Queue does not need more resource",
          manager.getActivitiesInfo(null, null).getDiagnostic());
      RMApp app = cluster.submit("alice", "root.x.y");
      MockAM am = cluster.launch(app, node);
      TestCluster.ask(am, TestCluster.any(7, 2 * GB, 1));
      cluster.heartbeat();
      cluster.tick();
      for (String asked : new String[] {null, "a1:1234"}) {
        manager.recordNextNodeUpdateActivities(asked);
        ActivitiesInfo info = manager.getActivitiesInfo(asked, null);
        List<NodeAllocationInfo> allocations = info.getAllocations();
        assertEquals(info.getDiagnostic(), 2, allocations.size());
        NodeAllocationInfo master = allocations.get(0);
        assertEquals("ALLOCATED", master.getFinalAllocationState());
        NodeAllocationInfo waits = allocations.get(1);
        assertEquals("SKIPPED", waits.getFinalAllocationState());
        String id = app.getApplicationId().toString();
        assertEquals(Arrays.asList("root SKIPPED", "root.x SKIPPED", "root.x.y SKIPPED",
            id + " SKIPPED", "request_7_-1 SKIPPED"), states(waits.getRoot()).subList(0, 5));
        assertEquals("that of the first allocation", "a1:1234", info.getNodeId());
      }
      assertEquals("nothing was granted there", 1,
          manager.getActivitiesInfo("a2:1234", null).getAllocations().size());
      // YARN's web services cast the nodes so.
      AbstractYarnScheduler<?, ?> scheduler = cluster.scheduler;
      FiCaSchedulerNode first =
          (FiCaSchedulerNode) (Object) scheduler.getNodeTracker().getAllNodes().get(0);
      assertEquals(node.getNodeId(), first.getNodeID());
    }
  }

  @Test
  public void anApplicationsActivitiesAreItsGrantsAndWhyItWaits() throws Exception {
    try (TestCluster cluster = new TestCluster()) {
      ActivitiesManager web = cluster.scheduler.getActivitiesManager();
      MockNM node = cluster.node("a1", 2 * GB);
      RMApp app = cluster.submit("alice", null);
      MockAM am = cluster.launch(app, node);
      TestCluster.ask(am, TestCluster.any(7, 2 * GB, 1));
      cluster.heartbeat();
      cluster.tick();
      List<AppAllocationInfo> told = told(web, app, NONE, -1, false);
      assertEquals(2, told.size());
      AppAllocationInfo now = told.get(0);
      assertEquals("the latest first", "SKIPPED", now.getAllocationState());
      assertEquals("root.alice", now.getQueueName());
      AppRequestAllocationInfo request = now.getChildren().get(0);
      assertEquals(Integer.valueOf(7), request.getRequestPriority());
      assertEquals(Long.valueOf(-1), request.getAllocationRequestId());
      String sentence = now.getDiagnostic();
      assertTrue(sentence, sentence.startsWith(
          "Node does not have sufficient resource for request, waits: "));
      assertTrue("names for numbers: " + sentence, sentence.contains("a1:1234"));
      AppAllocationInfo master = told.get(1);
      assertEquals("ALLOCATED", master.getAllocationState());
      assertEquals("a1:1234", master.getNodeId());
      assertEquals(1, told(web, app, NONE, 1, false).size());
      assertEquals(1, told(web, app, NONE, -1, true).size());
      assertEquals(1, told(web, app, Collections.singleton(7), -1, false).size());
      assertEquals(0, told(web, app, Collections.singleton(8), -1, false).size());
      ApplicationId unknown = ApplicationId.newInstance(1, 1);
      assertEquals("fail to get application activities after finished",
          activities(web, unknown, NONE, -1, false).getDiagnostic());
    }
  }

  private static List<AppAllocationInfo> told(ActivitiesManager web, RMApp app,
      Set<Integer> priorities, int limit, boolean summarize) {
    return activities(web, app.getApplicationId(), priorities, limit, summarize).getAllocations();
  }

  private static AppActivitiesInfo activities(ActivitiesManager web, ApplicationId app,
      Set<Integer> priorities, int limit, boolean summarize) {
    return web.getAppActivitiesInfo(
        app, priorities, Collections.<Long>emptySet(), null, limit, summarize, 3.0);
  }
}
