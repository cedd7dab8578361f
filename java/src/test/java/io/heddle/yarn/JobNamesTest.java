package io.heddle.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.NativeLibrary;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import javax.servlet.http.HttpServletRequest;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationAccessType;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.security.QueueACLsManager;
import org.apache.hadoop.yarn.server.security.ApplicationACLsManager;
import org.junit.BeforeClass;
import org.junit.Test;

/** Tests that requests about jobs, and no others, carry the names of possible jobs. */
public class JobNamesTest {
  @BeforeClass
  public static void loadTheLibrary() {
    NativeLibrary.load(System.getProperty(NativeLibrary.PATH_PROPERTY));
  }

  private final RMContextImpl context = new RMContextImpl();
  private final JobNames names = new JobNames(context);

  private HeddleJob job(int number, String user) {
    HeddleJob job = new HeddleJob(
        ApplicationId.newInstance(17, number + 1), null, user, 0, 0, 0, 0, null);
    job.setId(number);
    names.added(job);
    return job;
  }

  private TreeSet<Integer> numbers(String path) {
    TreeSet<Integer> numbers = new TreeSet<>();
    for (JsonNode row : names.of(path)) {
      numbers.add(row.get(0).asInt());
    }
    return numbers;
  }

  @Test
  public void aJobHasItsNamesUntilItEnds() {
    HeddleJob job = job(6, "alice");
    assertEquals("[[6,\"application_17_0007\",\"alice\",\"\"]]",
        names.of("/heddle/v1/jobs").toString());
    names.removed(job);
    assertEquals("[]", names.of("/heddle/v1/jobs").toString());
    // Another job has the number now, and the first one ends a second time.
    job(6, "bob");
    names.removed(job);
    assertEquals("bob", names.of("/heddle/v1/jobs").get(0).get(2).asText());
  }

  /** Names of queues may look like jobs, with more digits than any number has. */
  @Test
  public void aSentenceNamesApplicationsAndLeavesWhatOnlyLooksLikeThem() {
    job(6, "alice");
    assertEquals("application_17_0007 waits in `root.job#99999999999`; job#7, job#6x",
        names.named("job#6 waits in `root.job#99999999999`; job#7, job#6x"));
  }

  private String viewedBy(String user) {
    HttpServletRequest request = mock(HttpServletRequest.class);
    when(request.getRemoteUser()).thenReturn(user);
    return String.valueOf(names.viewed(names.of("/heddle/v1/jobs"), request));
  }

  /** As on YARN's own pages: the owner, whom the application lets view it, administrators. */
  @Test
  public void whoMayViewAJobIsYarnsDecision() {
    Configuration conf = new YarnConfiguration();
    ResourceManager manager = mock(ResourceManager.class);
    when(manager.getConfig()).thenReturn(conf);
    when(manager.getQueueACLsManager()).thenReturn(mock(QueueACLsManager.class));
    context.setResourceManager(manager);
    for (int number = 6; number < 8; number++) {
      HeddleJob job = job(number, "alice");
      RMApp app = mock(RMApp.class);
      when(app.getApplicationId()).thenReturn(job.applicationId());
      when(app.getUser()).thenReturn("alice");
      context.getRMApps().put(job.applicationId(), app);
    }
    assertEquals("without access control YARN hides nothing", "null", viewedBy("bob"));
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    conf.set(YarnConfiguration.YARN_ADMIN_ACL, "root");
    ApplicationACLsManager rights = new ApplicationACLsManager(conf);
    rights.addApplication(job(7, "alice").applicationId(),
        Collections.singletonMap(ApplicationAccessType.VIEW_APP, "bob"));
    when(manager.getApplicationACLsManager()).thenReturn(rights);
    assertEquals("[6,7]", viewedBy("alice"));
    assertEquals("[7]", viewedBy("bob"));
    assertEquals("[]", viewedBy("carol"));
    assertEquals("[6,7]", viewedBy("root"));
    assertEquals("null", viewedBy(null));
  }

  @Test
  public void aListHasAllAndAnAnswerThoseThatItMayMention() {
    for (int number = 0; number < 1_000; number++) {
      job(number, "alice");
    }
    assertEquals("a list may find any", 1_000, numbers("/heddle/v1/jobs").size());
    assertEquals("a map of nodes has none", 0, numbers("/heddle/v1/nodes").size());
    assertEquals("the one, and as many as fit", 500, numbers("/heddle/v1/explain/800").size());
    for (String asked : Arrays.asList("application_17_0801", "800")) {
      for (String route : new String[] {"jobs", "explain"}) {
        TreeSet<Integer> found = numbers("/heddle/v1/" + route + "/" + asked);
        assertEquals(asked, 800, (int) found.last());
      }
    }
    for (String other : new String[] {"/heddle/v1/queues", "/scheduler", "/heddle/v1/jobs/1/2",
        "/heddle/v1/jobsx", "/heddle/"}) {
      assertFalse(other, names.concern(other));
    }
  }

  private static HeddleNode node(int number, String host) {
    HeddleNode node = new HeddleNode(
        MockNodes.newNodeInfo(1, Resource.newInstance(4096, 4), 1, host), false,
        Collections.emptySet());
    node.setId(number);
    return node;
  }

  @Test
  public void theMarkOfNodesChangesWithEachOfThem() {
    List<String> marks = new ArrayList<>();
    marks.add(names.nodesMark());
    HeddleNode first = node(0, "a1");
    HeddleNode second = node(1, "a2");
    names.added(first);
    marks.add(names.nodesMark());
    names.added(second);
    marks.add(names.nodesMark());
    first.updateLabels(Collections.singleton("gpu"));
    marks.add(names.nodesMark());
    second.faults().putAside("it failed twice");
    marks.add(names.nodesMark());
    names.removed(first);
    marks.add(names.nodesMark());
    names.added(node(0, "a3"));
    marks.add(names.nodesMark());
    assertEquals(marks.toString(), marks.size(), new TreeSet<>(marks).size());
    assertEquals(marks.get(marks.size() - 1), names.nodesMark());
  }

  @Test
  public void halvesOfCharactersAndBooksAreCut() {
    StringBuilder book = new StringBuilder("\ud83e");
    for (int i = 0; i < 1_000; i++) {
      book.append("\ud83e\udd80");
    }
    job(1, book.toString());
    String user = names.of("/heddle/v1/jobs").get(0).get(2).asText();
    assertEquals(200, user.length());
    assertEquals("?\ud83e\udd80", user.substring(0, 3));
    assertEquals('?', user.charAt(199));
  }
}
