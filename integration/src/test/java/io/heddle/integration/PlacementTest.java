package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Node;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.applications.distributedshell.Client;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.constraint.AllocationTagsManager;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * A real application with placement constraints: YARN's DistributedShell, whose ApplicationMaster
 * sends scheduling requests. Newest Hadoop only: the processor of constraints is YARN's own.
 */
public class PlacementTest {
  /** Three on different nodes; four of which a node takes one while it has at most one. */
  private static final String SPEC = "zk(3),NOTIN,NODE,zk:web(4),CARDINALITY,NODE,web,0,1";

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("placement")
              .engineConfiguration("{\"queues\": [{\"path\": \"root.shell\"}]}")
              .set(
                  YarnConfiguration.RM_PLACEMENT_CONSTRAINTS_HANDLER,
                  YarnConfiguration.PROCESSOR_RM_PLACEMENT_CONSTRAINTS_HANDLER));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Test
  public void aRealApplicationIsPlacedAsItAsks() throws Exception {
    File folder = CLUSTER.cluster().workFolder();
    Path end = folder.toPath().resolve("end");
    Path script = folder.toPath().resolve("wait.sh");
    String text = "while [ ! -e " + end + " ]; do sleep 0.2; done\n";
    Files.write(script, text.getBytes(StandardCharsets.UTF_8));
    Client client = new Client(withSite(folder.toPath().resolve("site")));
    assertTrue(client.init(arguments(script)));
    CompletableFuture<Boolean> run = CompletableFuture.supplyAsync(() -> run(client));

    Await.until(
        "all containers run",
        Await.SECONDS,
        () -> run.isDone() && !run.get() || sum(counts("zk")) == 3 && sum(counts("web")) == 4,
        () -> counts("zk") + " " + counts("web"));
    assertTrue(counts("zk").toString(), Collections.max(counts("zk")) == 1);
    assertTrue(counts("web").toString(), Collections.max(counts("web")) <= 2);

    Files.createFile(end);
    assertTrue(run.get(Await.SECONDS, TimeUnit.SECONDS));
    Await.until("the tags are gone", Await.SECONDS, () -> sum(counts("zk")) == 0);
    assertEquals(0, sum(counts("web")));
  }

  /** Puts a yarn-site.xml on the class path of the ApplicationMaster, which reads nothing else. */
  private static Configuration withSite(Path folder) throws IOException {
    Configuration conf = new YarnConfiguration(CLUSTER.configuration());
    Files.createDirectory(folder);
    try (OutputStream out = Files.newOutputStream(folder.resolve("yarn-site.xml"))) {
      conf.writeXml(out);
    }
    conf.set(YarnConfiguration.YARN_APPLICATION_CLASSPATH,
        folder + "," + conf.get(YarnConfiguration.YARN_APPLICATION_CLASSPATH, ""));
    return conf;
  }

  private static String[] arguments(Path script) {
    File jar =
        new File(Client.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    return new String[] {
      "--jar", jar.getPath(), "--queue", "root.shell", "--shell_script", script.toString(),
      "--placement_spec", SPEC,
      "--container_memory", "128", "--container_vcores", "1", "--master_memory", "512"
    };
  }

  private static boolean run(Client client) {
    try {
      return client.run();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns how many containers with a tag each node has. */
  private static List<Integer> counts(String tag) {
    AllocationTagsManager tags =
        CLUSTER.cluster().resourceManager().getRMContext().getAllocationTagsManager();
    List<Integer> counts = new ArrayList<>();
    for (Node node : CLUSTER.cluster().nodes()) {
      Map<String, Long> found =
          tags.getAllocationTagsWithCount(node.nodeManager().getNMContext().getNodeId());
      counts.add(found == null ? 0 : found.getOrDefault(tag, 0L).intValue());
    }
    return counts;
  }

  private static int sum(List<Integer> counts) {
    return counts.stream().mapToInt(Integer::intValue).sum();
  }
}
