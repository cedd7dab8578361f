package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.yarn.HeddleScheduler;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.PrivilegedExceptionAction;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.GetNewApplicationRequest;
import org.apache.hadoop.yarn.api.protocolrecords.SubmitApplicationRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMAppState;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * Signed applications at a real ResourceManager (DP-39). One that is signed as {@code canonical.rs}
 * describes is accepted with its bounds. All others are rejected with the reason, and no signature
 * starts a second application after a restart. Signs by itself, like a client in another language.
 */
public class SubmissionTest {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final String SECRET = "alices-16-bytes.";
  private static final String NAME = "word count";
  private static final String QUEUE = "root.alice";
  private static final long CREDITS_MICRO = 12_500_000;

  /** Files that outlive the ResourceManagers. */
  @Rule
  public final TemporaryFolder durable = new TemporaryFolder();

  private int nonces;

  private MiniManager manager(String api) throws Exception {
    Path root = durable.getRoot().toPath();
    Path acl = root.resolve("acl");
    if (!Files.exists(acl)) {
      Files.write(acl, ("alice user " + SECRET + "\n").getBytes(StandardCharsets.UTF_8));
      Files.setPosixFilePermissions(acl, PosixFilePermissions.fromString("rw-------"));
    }
    Path folder = Files.createTempDirectory("submission");
    YarnConfiguration conf = MiniManager.configuration(MiniCluster.HEDDLE, folder);
    conf.setBoolean(YarnConfiguration.RECOVERY_ENABLED, true);
    conf.set(YarnConfiguration.RM_STORE, FileSystemRMStateStore.class.getName());
    conf.set(YarnConfiguration.FS_RM_STATE_STORE_URI, root.resolve("state").toUri().toString());
    MiniManager.heddleJson(conf, folder, "{\"policy\": \"dynamic-priority\","
        + " \"queues\": [{\"path\": \"root.alice\", \"budget\": 100.0, \"spending_rate\": 1.0}],"
        + " \"api\": {\"acl_file\": \"" + acl + "\"" + api + "},"
        + " \"store\": \"sqlite:" + root.resolve("economy") + "\","
        + " \"testing\": {\"faults\": true}}");
    MiniManager manager = MiniManager.start(conf, folder);
    EconomyTest.booksAreOpen(manager.address);
    return manager;
  }

  /** Returns what {@code heddle sign} prints, as the clients' template hands it over. */
  private Map<String, String> signed(String name) throws Exception {
    long now = System.currentTimeMillis();
    String[] keys = {"CREDITS", "RATE", "UNTIL", "TIMESTAMP", "EXPIRES", "NONCE"};
    String[] values = {"12.5", "2", String.valueOf(now + 7_200_000), String.valueOf(now),
        String.valueOf(now + 3_600_000), String.format("%016d", ++nonces)};
    StringBuilder text = new StringBuilder("HEDDLE-JOB-V2\nalice\n" + QUEUE + "\n"
        + name.replace(" ", "%20") + "\n");
    Map<String, String> variables = new HashMap<>();
    for (int i = 0; i < keys.length; i++) {
      text.append(values[i]).append('\n');
      variables.put("HEDDLE_JOB_" + keys[i], values[i]);
    }
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(SECRET.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
    StringBuilder hex = new StringBuilder();
    for (byte part : mac.doFinal(text.toString().getBytes(StandardCharsets.UTF_8))) {
      hex.append(String.format("%02x", part));
    }
    variables.put("HEDDLE_JOB_SIGNATURE", hex.toString());
    return variables;
  }

  private static RMApp submit(MiniManager manager, String name, Map<String, String> environment)
      throws Exception {
    ResourceManager rm = manager.manager;
    return UserGroupInformation.createRemoteUser("alice").doAs(
        (PrivilegedExceptionAction<RMApp>) () -> {
          ApplicationId id = rm.getClientRMService()
              .getNewApplication(GetNewApplicationRequest.newInstance()).getApplicationId();
          ContainerLaunchContext master = ContainerLaunchContext.newInstance(
              Collections.emptyMap(), environment, Collections.singletonList("true"), null, null,
              null);
          ApplicationSubmissionContext context = ApplicationSubmissionContext.newInstance(id,
              name, "default", null, master, false, true, 1, Resource.newInstance(1024, 1));
          rm.getClientRMService().submitApplication(SubmitApplicationRequest.newInstance(context));
          RMApp app = rm.getRMContext().getRMApps().get(id);
          Await.until(id + " is taken or rejected", Await.SECONDS, () ->
              app.getState() == RMAppState.ACCEPTED || app.getState() == RMAppState.FAILED);
          return app;
        });
  }

  /** Returns what the application may spend, by the engine. */
  private static JsonNode accepted(MiniManager manager, RMApp app) throws Exception {
    assertEquals(app.getDiagnostics().toString(), RMAppState.ACCEPTED, app.getState());
    assertEquals(QUEUE, app.getQueue());
    String told = told(manager, app);
    assertNotNull("the engine knows nothing of it", told);
    return MAPPER.readTree(told).path("authority");
  }

  private static String told(MiniManager manager, RMApp app) {
    return ((HeddleScheduler) manager.manager.getResourceScheduler())
        .describe(app.getApplicationId());
  }

  private static void rejected(RMApp app, String reason) {
    assertEquals(RMAppState.FAILED, app.getState());
    String said = app.getDiagnostics().toString();
    assertTrue(said, said.contains(reason) && said.contains("heddle sign"));
  }

  @Test
  public void aSignedApplicationIsTakenOnceAndAChangedOneIsRejected() throws Exception {
    try (MiniManager manager = manager("")) {
      Map<String, String> job = signed(NAME);
      JsonNode authority = accepted(manager, submit(manager, NAME, job));
      assertEquals(CREDITS_MICRO, authority.path("credits_micro").asLong());
      assertEquals(2_000_000, authority.path("rate_micro").asLong());
      rejected(submit(manager, NAME, job), "accepted before");
      rejected(submit(manager, NAME + "s", signed(NAME)), "not the signature");
      Map<String, String> richer = signed(NAME);
      richer.put("HEDDLE_JOB_CREDITS", "99");
      rejected(submit(manager, NAME, richer), "not the signature");
      assertTrue(accepted(manager, submit(manager, NAME, Collections.emptyMap())).isNull());
    }
  }

  @Test
  public void whereSignaturesAreRequiredOthersAreRejected() throws Exception {
    try (MiniManager manager = manager(", \"require_signed_jobs\": true")) {
      rejected(submit(manager, NAME, Collections.emptyMap()), "not signed");
      accepted(manager, submit(manager, NAME, signed(NAME)));
    }
  }

  @Test
  public void boundsOutliveTheEngineAndTheResourceManager() throws Exception {
    Map<String, String> job = signed(NAME);
    ApplicationId id;
    try (MiniManager manager = manager("")) {
      RMApp app = submit(manager, NAME, job);
      id = app.getApplicationId();
      accepted(manager, app);
      EconomyTest.panic((HeddleScheduler) manager.manager.getResourceScheduler());
      Await.until("there is a new engine", Await.SECONDS, () -> told(manager, app) != null);
      Await.until("the new engine knows its bounds", Await.SECONDS, () ->
          accepted(manager, app).path("credits_micro").asLong() == CREDITS_MICRO);
    }
    try (MiniManager manager = manager("")) {
      Map<ApplicationId, RMApp> apps = manager.manager.getRMContext().getRMApps();
      Await.until("it is recovered", Await.SECONDS, () -> apps.containsKey(id)
          && apps.get(id).getState() == RMAppState.ACCEPTED);
      assertEquals(CREDITS_MICRO,
          accepted(manager, apps.get(id)).path("credits_micro").asLong());
      rejected(submit(manager, NAME, job), "accepted before");
    }
  }
}
