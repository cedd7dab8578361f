package io.heddle.yarn;

import static io.heddle.yarn.TestCluster.GB;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import io.heddle.yarn.config.ConfigFile;
import java.io.File;
import java.lang.reflect.UndeclaredThrowableException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.PrivilegedExceptionAction;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authorize.AccessControlList;
import org.apache.hadoop.yarn.api.ApplicationClientProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.KillApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.MoveApplicationAcrossQueuesRequest;
import org.apache.hadoop.yarn.api.records.QueueACL;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.AccessRequest;
import org.apache.hadoop.yarn.security.AccessType;
import org.apache.hadoop.yarn.security.Permission;
import org.apache.hadoop.yarn.security.PrivilegedEntity.EntityType;
import org.apache.hadoop.yarn.security.YarnAuthorizationProvider;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.After;
import org.junit.Before;
import org.junit.Test;

/** Tests that the cluster's authorization provider, such as Ranger, decides about queues. */
public class AuthorizationTest {
  /** Grants the permissions that a test lists, and records those that it is told. */
  public static final class Listed extends YarnAuthorizationProvider {
    static final Set<String> ALLOWED = ConcurrentHashMap.newKeySet();
    static final Map<String, Map<AccessType, AccessControlList>> TOLD = new ConcurrentHashMap<>();

    @Override
    public void init(Configuration conf) {
      // Has no settings.
    }

    @Override
    public boolean checkPermission(AccessRequest request) {
      return request.getEntity().getType() == EntityType.QUEUE
          && ALLOWED.contains(request.getUser().getShortUserName() + " "
              + request.getAccessType() + " " + request.getEntity().getName());
    }

    @Override
    public void setPermission(List<Permission> permissions, UserGroupInformation user) {
      for (Permission permission : permissions) {
        TOLD.put(permission.getTarget().getName(), permission.getAcls());
      }
    }

    @Override
    public void setAdmins(AccessControlList acls, UserGroupInformation user) {
      // Has no administrators.
    }

    @Override
    public boolean isAdmin(UserGroupInformation user) {
      return false;
    }
  }

  private static final QueueACL SUBMIT = QueueACL.SUBMIT_APPLICATIONS;

  private static Configuration conf(String queues) throws Exception {
    Configuration conf = TestCluster.conf("{\"queues\": [" + queues + "]}");
    conf.setBoolean(YarnConfiguration.YARN_ACL_ENABLE, true);
    return conf;
  }

  private static Configuration listed(String queues) throws Exception {
    Configuration conf = conf(queues);
    conf.setClass(YarnConfiguration.YARN_AUTHORIZATION_PROVIDER, Listed.class,
        YarnAuthorizationProvider.class);
    return conf;
  }

  private static UserGroupInformation user(String name) {
    return UserGroupInformation.createUserForTesting(name, new String[0]);
  }

  @Before
  @After
  public void forget() {
    YarnAuthorizationProvider.destroy();
    Listed.ALLOWED.clear();
    Listed.TOLD.clear();
  }

  @Test
  public void theProviderDecidesThoughRootIsOpen() throws Exception {
    try (TestCluster cluster = new TestCluster(listed("{\"path\": \"root.ads\"}"))) {
      cluster.node("a1", 8 * GB);
      for (String queue : new String[] {"root.ads", null, "root.new"}) {
        try {
          cluster.submit("alice", queue);
          fail("the provider allows nothing: " + queue);
        } catch (Exception e) {
          String message = String.valueOf(e.getCause());
          assertTrue(message, message.contains("alice") && message.contains("permission"));
        }
      }
      Listed.ALLOWED.add("alice SUBMIT_APP root.ads");
      assertEquals("root.ads", cluster.submit("alice", "ads").getQueue());
      Listed.ALLOWED.add("boss ADMINISTER_QUEUE root.ads");
      assertTrue(cluster.scheduler.checkAccess(
          user("boss"), QueueACL.ADMINISTER_QUEUE, "root.ads"));
      assertTrue("administrators may submit",
          cluster.scheduler.checkAccess(user("boss"), SUBMIT, "ads"));
      assertFalse(cluster.scheduler.checkAccess(user("bob"), SUBMIT, "root.ads"));
      assertFalse("the provider, not the queue above, decides",
          cluster.scheduler.checkAccess(user("boss"), SUBMIT, "root.ads.deep"));
    }
  }

  /** Calls the ResourceManager as a user; returns the refusal, or null. */
  private static String refusal(String caller, PrivilegedExceptionAction<?> call)
      throws Exception {
    try {
      user(caller).doAs(call);
      return null;
    } catch (UndeclaredThrowableException e) {
      return String.valueOf(e.getCause());
    }
  }

  @Test
  public void theProviderDecidesAboutMovesKillsAndAnswers() throws Exception {
    String queues = "{\"path\": \"root.ads\"}, {\"path\": \"root.web\"}";
    Configuration conf = listed(queues);
    // By default everybody is an administrator of the cluster.
    conf.set(YarnConfiguration.YARN_ADMIN_ACL, " ");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      Listed.ALLOWED.add("alice SUBMIT_APP root.ads");
      RMApp app = cluster.submit("alice", "ads");
      ApplicationClientProtocol client = cluster.rm.getClientRMService();
      PrivilegedExceptionAction<Object> move = () -> client.moveApplicationAcrossQueues(
          MoveApplicationAcrossQueuesRequest.newInstance(app.getApplicationId(), "root.web"));
      assertNotNull("not into web", refusal("alice", move));
      assertEquals("root.ads", app.getQueue());
      Listed.ALLOWED.add("alice SUBMIT_APP root.web");
      assertNull(refusal("alice", move));
      assertEquals("root.web", app.getQueue());

      PrivilegedExceptionAction<Object> kill = () -> client.forceKillApplication(
          KillApplicationRequest.newInstance(app.getApplicationId()));
      Listed.ALLOWED.add("boss ADMINISTER_QUEUE root.ads");
      assertNotNull("boss of the queue before", refusal("boss", kill));
      Listed.ALLOWED.add("boss ADMINISTER_QUEUE root.web");
      assertNull(refusal("boss", kill));

      List<QueueACL> rights = user("boss").doAs((PrivilegedExceptionAction<List<QueueACL>>) () ->
          cluster.scheduler.getQueueUserAclInfo().stream()
              .filter(info -> info.getQueueName().equals("root.web"))
              .flatMap(info -> info.getUserAcls().stream()).collect(Collectors.toList()));
      assertEquals("what `mapred queue -showacls` prints",
          Arrays.asList(SUBMIT, QueueACL.ADMINISTER_QUEUE), rights);
    }
  }

  @Test
  public void theProviderIsToldAtTheStartAndAtEveryReload() throws Exception {
    Configuration conf = listed("{\"path\": \"root.ads\", \"acl_submit\": \"alice\"},"
        + "{\"path\": \"root.old\", \"acl_submit\": \"*\", \"acl_admin\": \"boss\"}");
    File file = new File(conf.get(ConfigFile.FILE_PROPERTY));
    try (TestCluster cluster = new TestCluster(conf)) {
      assertTrue(told("root", AccessType.SUBMIT_APP, "mallory"));
      assertTrue(told("root.ads", AccessType.SUBMIT_APP, "alice"));
      assertFalse(told("root.ads", AccessType.SUBMIT_APP, "bob"));
      assertTrue(told("root.old", AccessType.ADMINISTER_QUEUE, "boss"));
      Listed.ALLOWED.add("carol SUBMIT_APP root.carol");
      cluster.node("a1", 8 * GB);
      cluster.submit("carol", null);
      assertNull("of a queue that a submission made", Listed.TOLD.get("root.carol"));
      Files.write(file.toPath(), ("{\"queues\": [{\"path\": \"root\", \"acl_submit\": \" \"},"
          + "{\"path\": \"root.ads\", \"acl_submit\": \"bob\"}]}")
          .getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertFalse(told("root", AccessType.SUBMIT_APP, "mallory"));
      assertTrue(told("root.ads", AccessType.SUBMIT_APP, "bob"));
      assertFalse(told("root.ads", AccessType.SUBMIT_APP, "alice"));
      assertFalse("a queue that is gone gives no rights",
          told("root.old", AccessType.SUBMIT_APP, "mallory"));
      assertFalse(told("root.old", AccessType.ADMINISTER_QUEUE, "boss"));
    }
  }

  private static boolean told(String queue, AccessType type, String user) {
    Map<AccessType, AccessControlList> rights = Listed.TOLD.get(queue);
    assertNotNull(queue, rights);
    return rights.get(type).isUserAllowed(user(user));
  }

  @Test
  public void withYarnsOwnProviderAReloadTakesRightsBack() throws Exception {
    Configuration conf = conf("{\"path\": \"root\", \"acl_submit\": \" \", \"acl_admin\": \" \"},"
        + "{\"path\": \"root.old\", \"acl_submit\": \"alice\"}");
    File file = new File(conf.get(ConfigFile.FILE_PROPERTY));
    try (TestCluster cluster = new TestCluster(conf)) {
      assertTrue(cluster.scheduler.checkAccess(user("alice"), SUBMIT, "root.old"));
      assertTrue("below it, too",
          cluster.scheduler.checkAccess(user("alice"), SUBMIT, "root.old.deep"));
      assertFalse(cluster.scheduler.checkAccess(user("alice"), SUBMIT, "root.other"));
      Files.write(file.toPath(), ("{\"queues\": [{\"path\": \"root\", \"acl_submit\": \" \","
          + " \"acl_admin\": \" \"}]}").getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertFalse(cluster.scheduler.checkAccess(user("alice"), SUBMIT, "root.old"));
    }
  }

  @Test
  public void aTemplateGivesRightsInTheQueuesThatSubmissionsMake() throws Exception {
    String root = "{\"path\": \"root\", \"acl_submit\": \" \", \"acl_admin\": \" \"},";
    Configuration conf = conf(root + "{\"path\": \"root.people\", \"parent\": true,"
        + " \"new_leaf\": {\"acl_submit\": \"alice,bob\"}}");
    try (TestCluster cluster = new TestCluster(conf)) {
      cluster.node("a1", 8 * GB);
      String leaf = "root.people.x";
      assertFalse(cluster.scheduler.checkAccess(user("bob"), SUBMIT, leaf));
      assertEquals(leaf, cluster.submit("alice", leaf).getQueue());
      assertEquals("the queue exists", leaf, cluster.submit("bob", leaf).getQueue());
      assertFalse(cluster.scheduler.checkAccess(user("mallory"), SUBMIT, leaf));
      assertFalse("not beside it",
          cluster.scheduler.checkAccess(user("bob"), SUBMIT, "root.people"));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertTrue(cluster.scheduler.checkAccess(user("bob"), SUBMIT, leaf));
      Files.write(Paths.get(conf.get(ConfigFile.FILE_PROPERTY)), ("{\"queues\": [" + root
          + "{\"path\": \"root.people\", \"parent\": true}]}").getBytes(StandardCharsets.UTF_8));
      cluster.scheduler.reinitialize(conf, cluster.rm.getRMContext());
      assertFalse(cluster.scheduler.checkAccess(user("bob"), SUBMIT, leaf));
    }
  }
}
