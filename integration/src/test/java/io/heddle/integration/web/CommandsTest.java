package io.heddle.integration.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.client.cli.ApplicationCLI;
import org.apache.hadoop.yarn.client.cli.ClusterCLI;
import org.apache.hadoop.yarn.client.cli.QueueCLI;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.apache.hadoop.yarn.client.cli.TopCLI;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler;
import org.junit.Test;

/**
 * Runs an operator's commands on the stock schedulers and on Heddle over their files, and compares
 * exit codes and output. Newest Hadoop only.
 */
public class CommandsTest {
  private static final int TOP_SECONDS = Await.SECONDS;

  private static final String FAIR = "<allocations><queue name='a'><weight>2.0</weight>"
      + "<minResources>1024 mb,1 vcores</minResources><maxRunningApps>5</maxRunningApps></queue>"
      + "<queue name='b'><schedulingPolicy>fifo</schedulingPolicy></queue></allocations>";
  private static final String[] CAPACITY = {"queues", "a,b", "a.capacity", "60", "b.capacity", "40",
      "a.maximum-capacity", "80", "b.acl_submit_applications", "alice,bob staff"};

  /** Names that must differ: ids, times, ports; a table is as wide as its names. */
  private static String normal(String text) {
    return text.replaceAll("application_\\d+_(\\d+)", "application_N_$1")
        .replaceAll("\\d{10,}", "TIME").replaceAll("localhost:\\d+", "localhost:PORT")
        .replaceAll("\\[?[A-Z][a-z]{2} [A-Z][a-z]{2} \\d+ [\\d:]+ \\S+ \\d{4}\\]?", "DATE")
        .replaceAll("\\d\\d:\\d\\d:\\d\\d|up \\d+d, \\d+:\\d+", "CLOCK")
        .replaceAll("[ \\t]+", " ").trim();
  }

  /** Runs a command; returns its name, exit code and output. */
  private static String run(String name, Class<?> tool, Configuration conf, String... args) {
    PrintStream out = System.out;
    PrintStream err = System.err;
    ByteArrayOutputStream written = new ByteArrayOutputStream();
    String code;
    System.setOut(new PrintStream(written, true));
    System.setErr(System.out);
    try {
      Constructor<?> constructor = tool.getDeclaredConstructor();
      // The mapred command's class is not public.
      constructor.setAccessible(true);
      Tool fresh = (Tool) constructor.newInstance();
      fresh.setConf(new Configuration(conf));
      code = String.valueOf(fresh.run(args));
    } catch (Exception e) {
      code = e.toString();
    } finally {
      System.setOut(out);
      System.setErr(err);
    }
    return normal("$ " + name + " " + String.join(" ", args) + "\n" + code + "\n"
        + new String(written.toByteArray(), StandardCharsets.UTF_8)) + "\n";
  }

  private static String queue(Configuration conf, String... args) {
    return run("yarn queue", QueueCLI.class, conf, args);
  }

  private static String application(Configuration conf, String... args) {
    List<String> all = new ArrayList<>(Arrays.asList(args));
    all.add(0, "application");
    return run("yarn", ApplicationCLI.class, conf, all.toArray(new String[0]));
  }

  private static String admin(Configuration conf, String... args) {
    return run("yarn rmadmin", RMAdminCLI.class, conf, args);
  }

  private static String mapred(Configuration conf, String... args) throws Exception {
    return run(
        "mapred queue", Class.forName("org.apache.hadoop.mapred.JobQueueClient"), conf, args);
  }

  /** Runs {@code yarn top} and quits it. */
  private static String top(Configuration conf) throws Exception {
    InputStream in = System.in;
    String[] said = new String[1];
    System.setIn(new ByteArrayInputStream("q".getBytes(StandardCharsets.US_ASCII)));
    try {
      Thread thread = new Thread(
          () -> said[0] = run("yarn top", TopCLI.class, conf, "-rows", "5", "-cols", "200"));
      thread.setDaemon(true);
      thread.start();
      thread.join(TimeUnit.SECONDS.toMillis(TOP_SECONDS));
    } finally {
      System.setIn(in);
    }
    return said[0] == null ? "yarn top does not end\n" : said[0];
  }

  private static ApplicationId submit(YarnClient yarn, String queue, String type)
      throws Exception {
    ApplicationSubmissionContext context =
        yarn.createApplication().getApplicationSubmissionContext();
    context.setApplicationName("waits");
    context.setApplicationType(type);
    context.setQueue(queue);
    context.setUnmanagedAM(true);
    context.setAMContainerSpec(
        ContainerLaunchContext.newInstance(null, null, null, null, null, null));
    return yarn.submitApplication(context);
  }

  /** Runs all commands on one scheduler. */
  private static List<String> session(String scheduler, boolean fair) throws Exception {
    Path folder = Files.createTempDirectory("commands");
    YarnConfiguration conf = MiniManager.configuration(scheduler, folder);
    conf.set("yarn.cluster.max-application-priority", "10");
    conf.set("yarn.node-labels.enabled", "true");
    conf.set("yarn.node-labels.fs-store.root-dir", folder.resolve("labels").toUri().toString());
    Path excluded = Files.write(folder.resolve("excluded"), new byte[0]);
    conf.set("yarn.resourcemanager.nodes.exclude-path", excluded.toString());
    conf.set("mapreduce.framework.name", "yarn");
    conf.set("heddle.queues.from", fair ? "fair" : "capacity");
    if (fair) {
      Path file = Files.write(
          folder.resolve("fair.xml"), FAIR.getBytes(StandardCharsets.UTF_8));
      conf.set("yarn.scheduler.fair.allocation.file", file.toString());
      MiniManager.siteFile(conf, folder);
    } else {
      for (int i = 0; i < CAPACITY.length; i += 2) {
        conf.set("yarn.scheduler.capacity.root." + CAPACITY[i], CAPACITY[i + 1]);
      }
    }
    List<String> said = new ArrayList<>();
    try (MiniManager manager = MiniManager.start(conf, folder);
        YarnClient yarn = YarnClient.createYarnClient()) {
      Configuration client = manager.manager.getConfig();
      yarn.init(client);
      yarn.start();
      Await.until("the node counts", Await.SECONDS, () ->
          manager.get("/ws/v1/cluster/scheduler").body.contains("\"memory\":8192"));
      queues(client, fair, said);
      applications(yarn, client, fair, said);
      said.add(top(client));
      if (fair) {
        // The Capacity Scheduler would look for its properties on the class path.
        said.add(admin(client, "-refreshQueues"));
      }
      administration(client, said);
      Files.write(excluded, "node1\n".getBytes(StandardCharsets.UTF_8));
      said.add(admin(client, "-refreshNodes", "-g", "1", "-client"));
      said.add(queue(client, "-status", "root"));
    }
    return said;
  }

  private static void queues(Configuration conf, boolean fair, List<String> said)
      throws Exception {
    String a = fair ? "root.a" : "a";
    for (String name : new String[] {"root", a, fair ? "root.b" : "b", "nosuch"}) {
      said.add(queue(conf, "-status", name));
    }
    said.add(queue(conf, "-list", "all"));
    said.add(mapred(conf, "-list"));
    said.add(mapred(conf, "-info", a));
    said.add(mapred(conf, "-info", "nosuch"));
    said.add(mapred(conf, "-showacls"));
  }

  private static void applications(
      YarnClient yarn, Configuration conf, boolean fair, List<String> said) throws Exception {
    ApplicationId id = submit(yarn, "root.a", "SPARK");
    submit(yarn, "root.a", "TEZ");
    String name = id.toString();
    said.add(application(conf, "-list", "-appTypes", "SPARK"));
    said.add(application(conf, "-list", "-appTypes", "none"));
    said.add(application(conf, "-updatePriority", "3", "-appId", name));
    said.add(application(conf, "-appId", name, "-updatePriority", "99"));
    said.add(application(conf, "-movetoqueue", name, "-queue", fair ? "root.b" : "b"));
    said.add(application(conf, "-appId", name, "-changeQueue", "root.a"));
    said.add(application(conf, "-list"));
    said.add(queue(conf, "-status", fair ? "root.a" : "a"));
    said.add(mapred(conf, "-info", fair ? "root.a" : "a", "-showJobs"));
  }

  private static void administration(Configuration conf, List<String> said) {
    said.add(admin(conf, "-refreshNodes"));
    said.add(admin(conf, "-updateNodeResource", "node1:1234", "4096", "4"));
    said.add(admin(conf, "-updateNodeResource", "node2:1234", "4096", "4"));
    said.add(queue(conf, "-status", "root"));
    said.add(admin(conf, "-addToClusterNodeLabels", "gpu,ssd"));
    said.add(admin(conf, "-replaceLabelsOnNode", "node1=gpu"));
    said.add(admin(conf, "-replaceLabelsOnNode", "node1=nosuch"));
    said.add(run("yarn cluster", ClusterCLI.class, conf, "cluster", "-lnl"));
    said.add(admin(conf, "-replaceLabelsOnNode", "node1="));
    said.add(admin(conf, "-removeFromClusterNodeLabels", "gpu"));
    said.add(admin(conf, "-removeFromClusterNodeLabels", "nosuch"));
    said.add(admin(conf, "-refreshClusterMaxPriority"));
    said.add(admin(conf, "-getGroups", "nobody-of-that-name"));
  }

  private static void compare(String stockScheduler, boolean fair, String known)
      throws Exception {
    List<String> stock = session(stockScheduler, fair);
    assertTrue(String.join("", stock).contains("Queue Name : "));
    List<String> ours = session(MiniCluster.HEDDLE, fair);
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < stock.size(); i++) {
      String differences = Lines.differences(lines(stock.get(i)), lines(ours.get(i)), known);
      if (!differences.isEmpty()) {
        all.append(stock.get(i), 0, stock.get(i).indexOf('\n') + 1).append(differences);
      }
    }
    assertEquals("", all.toString());
  }

  /** Returns lines in alphabetic order: YARN lists applications as its hash tables do. */
  private static List<String> lines(String text) {
    List<String> lines = new ArrayList<>(Arrays.asList(text.split("\\s*\n\\s*")));
    Collections.sort(lines);
    return lines;
  }

  @Test
  public void commandsAnswerAsWithTheFairScheduler() throws Exception {
    // docs/stock-differences.md, which queues are active: an application that asks for nothing.
    compare(FairScheduler.class.getName(), true,
        "Scheduling Info : Capacity: (0.0|100.0), MaximumCapacity: UNDEFINED, .*");
  }

  @Test
  public void commandsAnswerAsWithTheCapacityScheduler() throws Exception {
    compare(CapacityScheduler.class.getName(), false, "");
  }
}
