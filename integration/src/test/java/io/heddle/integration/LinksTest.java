package io.heddle.integration;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.MiniCluster;
import io.heddle.integration.cluster.Topology;
import io.heddle.integration.jobs.Corpus;
import io.heddle.integration.jobs.JobClient;
import io.heddle.integration.jobs.ShellService;
import io.heddle.integration.jobs.ShuffleTraffic;
import io.heddle.integration.jobs.TextJobs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.cli.RMAdminCLI;
import org.junit.After;
import org.junit.Before;
import org.junit.ClassRule;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TestRule;

/**
 * The links between racks on a real cluster whose NodeManagers are processes of their own: their
 * shuffle services tell what each has sent. Fairness is strict. A service keeps the nodes too full
 * for a task of the jobs that compete; the test makes room for one at a time, and sees who gets it.
 * Newest Hadoop only: nothing here depends on the version.
 */
public class LinksTest {
  /** The size of the tasks that compete, and of the service's containers. */
  private static final int TASK_MB = 1024;

  private static final int SMALL_MB = 256;

  /** Beside a container of the service, there is room for three small ones and no task. */
  private static final int NODE_MB = TASK_MB + 3 * SMALL_MB;

  private static final int NODE_VCORES = 16;

  /** A flag holds for a period: as long as several grants need, and a job that shuffles. */
  private static final int PERIOD_MS = 80_000;

  private static final String QUEUES =
      ", \"heartbeat_fill\": 0.1, \"queues\": [{\"path\": \"root.ann\", \"weight\": 4},"
          + " {\"path\": \"root.ben\"}, {\"path\": \"root.grace\"}]}";

  /** Nothing is configured about the links: nodes tell their load, and Heddle asks unbidden. */
  private static final String MEASURED = configuration(
      "\"uplink_floor_bytes_per_s\": 1, \"period_ms\": 500");

  @ClassRule
  public static final ClusterRule CLUSTER =
      new ClusterRule(
          MiniCluster.named("links")
              .nodeProcesses()
              .engineConfiguration(MEASURED)
              .set("heddle.nm-poll.interval-ms", "500")
              .set("heddle.am-poll.interval-ms", "500")
              .set("heddle.am-poll.counters-interval-ms", "500"));

  @Rule public final TestRule afterEach = CLUSTER.afterEach();

  @Rule public final Slots slots = new Slots(CLUSTER);

  private final Map<String, Integer> room = new HashMap<>();
  private final List<HeldJob> submitted = new ArrayList<>();

  private static String configuration(String links) {
    // No windows: jobs that come before and after the end of one would compete in another order.
    return "{\"policy\": \"shufflewatcher\", \"shuffle_watcher\": {\"window_ms\": 0, " + links
        + "}" + QUEUES;
  }

  private static String configuration(double bytesPerSecond) {
    return configuration(
        "\"uplink_bytes_per_s\": " + bytesPerSecond + ", \"period_ms\": " + PERIOD_MS);
  }

  /** Jobs of a failed test would hold their tasks for minutes. */
  @After
  public void killJobs() throws Exception {
    HeldJob.kill(submitted);
  }

  @Before
  public void emptyNodes() throws Exception {
    CLUSTER.awaitIdle();
    closeNodes();
  }

  private void closeNodes() throws Exception {
    for (String host : Topology.HOSTS) {
      room.put(host, 0);
      CLUSTER.resize(host, NODE_MB, NODE_VCORES);
    }
  }

  /** Each node tells exactly the output of the maps that ran on it, and links get a capacity. */
  @Test
  public void nodesTellWhatTheySend() throws Exception {
    configure(MEASURED);
    List<Long> before = awaitSent(null);
    Job job = Traffic.submit("measured", "ann", 4, 2);
    CLUSTER.assertSucceeds(job);
    Map<String, Long> byHost = new TreeMap<>();
    Topology.HOSTS.forEach(host -> byHost.put(host, 0L));
    Map<String, String> hosts = new HashMap<>();
    for (TaskCompletionEvent event : job.getTaskCompletionEvents(0, 100)) {
      if (event.getStatus() == TaskCompletionEvent.Status.SUCCEEDED) {
        String host = event.getTaskTrackerHttp().replaceFirst("^.*//", "").replaceFirst(":.*", "");
        hosts.put(event.getTaskAttemptId().getTaskID().toString(), host);
      }
    }
    for (TaskReport map : job.getTaskReports(TaskType.MAP)) {
      long bytes = map.getTaskCounters()
          .findCounter(TaskCounter.MAP_OUTPUT_MATERIALIZED_BYTES).getValue();
      byHost.merge(hosts.get(map.getTaskId()), bytes, Long::sum);
    }
    Slots.measured("map output by node, which NodeManagers sent: %s", byHost);
    List<Long> expected = new ArrayList<>(byHost.values());
    assertTrue("no node sent anything", Collections.max(expected) > 0);
    // The engine's numbers of nodes are in the order of their registration.
    Collections.sort(expected);
    awaitSent(before, expected);
    Await.until(
        "the capacity of links is estimated by it", ClusterRule.JOB_SECONDS,
        () -> place().path("uplink_highest").asDouble() > 1, () -> place().toString());
    // Later windows are quieter.
    JsonNode links = place();
    double highest = links.path("uplink_highest").asDouble();
    assertEquals(highest, links.path("uplink_bytes_per_s").asDouble(), 0);
    Slots.measured("highest traffic of a link: %.0f bytes/s", highest);
  }

  /** SW-5: while the links are full, a reduce waits for maps of jobs that came after its own. */
  @Test
  public void mapsGoFirstWhileTheLinksAreFull() throws Exception {
    List<String> grants = compete(1, true);
    assertEquals(Arrays.asList("map", "map", "map", "map", "reduce", "reduce"), grants);
  }

  /** SW-6: while they are not, it goes before maps of a job that came before its own. */
  @Test
  public void reducesGoFirstWhileTheLinksAreFree() throws Exception {
    List<String> grants = compete(1e12, false);
    assertEquals(Arrays.asList("reduce", "reduce", "map", "map", "map", "map"), grants);
  }

  /**
   * Lets two maps of a job, two reduces of the next and two maps of a third compete, all of one
   * user, after a job of another has shuffled, and beside more of them where links shall be full.
   * Returns who gets room, in order.
   */
  private List<String> compete(double capacity, boolean full) throws Exception {
    configure(configuration(capacity));
    String name = full ? "full" : "free";
    fill();
    HeldJob first = submit(name + "-first", 2, 0, LinksTest::large);
    first.awaitPending();
    HeldJob second = submit(name + "-second", 2, 2, conf -> {
      large(conf);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, SMALL_MB);
    });
    second.letMapsEnd();
    second.awaitMapsDone();
    second.awaitPending();
    HeldJob third = submit(name + "-third", 2, 0, LinksTest::large);
    third.awaitPending();
    List<String> grants = new ArrayList<>();
    try (Traffic traffic = new Traffic(name, full ? Integer.MAX_VALUE : 1)) {
      traffic.awaitJob();
      Await.until(
          "the links are " + name, ClusterRule.JOB_SECONDS,
          () -> place().path("saturated_racks").size() == (full ? 2 : 0),
          () -> place().toString());
      String[] hosts = Topology.HOSTS.toArray(new String[0]);
      Applications applications = CLUSTER.applications();
      for (int i = 0; i < 6; i++) {
        int reduces = applications.reduceHosts(second.id()).size();
        makeRoom(hosts[new int[] {0, 2, 1, 3, 0, 2}[i]]);
        awaitTasks(i + 1, Arrays.asList(first, second, third));
        boolean reduce = applications.reduceHosts(second.id()).size() > reduces;
        grants.add(reduce ? "reduce" : "map");
      }
      assertEquals("racks with full links", full ? 2 : 0, place().path("saturated_racks").size());
    }
    Slots.measured("%s links: %s", name, grants);
    first.finish();
    second.finish();
    third.finish();
    return grants;
  }

  /**
   * SW-21: one map has most of a job's output, and its three others are on the other rack; of a
   * second job it is the other way round. Each rack takes the reduces whose input it has, whichever
   * job came first.
   */
  @Test
  public void reducesGoWhereMostMapOutputIs() throws Exception {
    // Lines of each map; MapReduce runs the largest first. The hosts of each job's maps.
    int[] lines = {4_000, 100, 100, 100};
    int[][] places = {{0, 2, 3, 2}, {3, 1, 0, 1}};
    configure(configuration(1e12));
    fill();
    String[] hosts = Topology.HOSTS.toArray(new String[0]);
    List<HeldJob> jobs = new ArrayList<>();
    int tasks = 0;
    for (int[] racks : places) {
      HeldJob job = new HeldJob(CLUSTER, "ann", "uneven-" + jobs.size(), lines, 4, conf -> {
        large(conf);
        conf.set(MRJobConfig.JOB_TAGS, "heddle:shuffle-ratio=2");
      });
      submitted.add(job);
      job.awaitPending();
      jobs.add(job);
      for (int host : racks) {
        makeRoom(hosts[host]);
        awaitTasks(++tasks, jobs);
      }
    }
    closeNodes();
    for (HeldJob job : jobs) {
      job.letMapsEnd();
      job.awaitMapsDone();
    }
    for (HeldJob job : jobs) {
      job.awaitPending();
    }
    Await.until(
        "the ApplicationMasters tell the output of each map", ClusterRule.JOB_SECONDS,
        () -> jobsThatTold(lines.length) == jobs.size(), () -> place().path("jobs").toString());
    tasks = 0;
    for (int host : new int[] {2, 0, 3, 1, 2, 0, 3, 1}) {
      makeRoom(hosts[host]);
      awaitTasks(++tasks, jobs);
    }
    for (int i = 0; i < jobs.size(); i++) {
      String rack = Topology.RACKS.get(i);
      List<String> on = CLUSTER.applications().reduceHosts(jobs.get(i).id());
      long there = on.stream().filter(host -> Topology.rackOf(host).equals(rack)).count();
      Slots.measured("reduces on the rack with most of the map output: %d of 4", there);
      assertTrue(jobs.get(i).job().getJobName() + ": " + on, there >= 3);
    }
    for (HeldJob job : jobs) {
      job.finish();
      ShuffleTraffic traffic = ShuffleTraffic.of(job.job(), Topology::rackOf);
      double crossing = traffic.crossRackBytes() / traffic.bytes();
      Slots.measured("part of the shuffle across racks: %.2f", crossing);
      assertTrue("crossing: " + crossing, crossing < 0.45);
    }
  }

  private static int jobsThatTold(int maps) {
    int jobs = 0;
    for (JsonNode job : place().path("jobs")) {
      jobs += job.path("told").asInt() == maps ? 1 : 0;
    }
    return jobs;
  }

  private HeldJob submit(String name, int maps, int reduces, Consumer<Configuration> change)
      throws Exception {
    HeldJob job = new HeldJob(CLUSTER, "ann", name, maps, reduces, change);
    submitted.add(job);
    return job;
  }

  private static void large(Configuration conf) {
    conf.setInt(MRJobConfig.MAP_MEMORY_MB, TASK_MB);
    conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, TASK_MB);
  }

  /** Starts a service with one container on each node: a second does not fit. */
  private void fill() throws Exception {
    ShellService grace =
        slots.service("grace", "root.grace", 4, Resource.newInstance(TASK_MB, 1));
    slots.await("the nodes are full", () -> slots.held(grace) == 4, grace);
  }

  private void makeRoom(String host) throws Exception {
    CLUSTER.resize(host, NODE_MB + room.merge(host, TASK_MB, Integer::sum), NODE_VCORES);
  }

  /** Waits until this many tasks of the jobs run; small maps are over by then. */
  private static void awaitTasks(int count, List<HeldJob> jobs) throws Exception {
    Await.until(
        count + " tasks run", ClusterRule.JOB_SECONDS, () -> tasks(jobs).size() == count,
        () -> tasks(jobs) + " " + place());
  }

  private static List<String> tasks(List<HeldJob> jobs) {
    List<String> all = new ArrayList<>();
    for (HeldJob job : jobs) {
      all.addAll(CLUSTER.applications().taskHosts(job.id()));
    }
    return all;
  }

  private static void configure(String json) throws Exception {
    CLUSTER.cluster().configureEngine(json);
    assertEquals(0, new RMAdminCLI(CLUSTER.configuration()).run(new String[] {"-refreshQueues"}));
  }

  private static JsonNode place() {
    try {
      return EngineRequest.send(CLUSTER.heddle(), "{\"op\": \"stages\"}").path("place");
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  /** Waits until all nodes have told what they have sent; returns it by node. */
  private static List<Long> awaitSent(List<Long> before) throws Exception {
    Await.until(
        "every NodeManager tells what it has sent", ClusterRule.JOB_SECONDS,
        () -> sent(before).size() == Topology.HOSTS.size(), () -> place().toString());
    return sent(before);
  }

  /** Waits until nodes have sent these amounts more, in any order. */
  private static void awaitSent(List<Long> before, List<Long> expected) throws Exception {
    Await.until(
        "NodeManagers have sent " + expected, ClusterRule.JOB_SECONDS,
        () -> {
          List<Long> now = sent(before);
          Collections.sort(now);
          return now.equals(expected);
        },
        () -> place().toString());
  }

  private static List<Long> sent(List<Long> before) {
    List<Long> sent = new ArrayList<>();
    for (JsonNode node : place().path("sent_bytes")) {
      sent.add(node.get(1).asLong() - (before == null ? 0 : before.get(sent.size())));
    }
    return sent;
  }

  /** Small jobs of another user; at most two begin in a period. The links are in use. */
  private static final class Traffic extends Thread implements AutoCloseable {
    private final String name;
    private final int most;
    private volatile boolean closing;
    private volatile int ended;
    private volatile Throwable failure;

    /** Starts {@code most} jobs at most, one after the other, until it is closed. */
    Traffic(String name, int most) {
      this.name = name;
      this.most = most;
      setDaemon(true);
      start();
    }

    static Job submit(String name, String user, int maps, int reduces) throws Exception {
      Path folder = ClusterRule.path(name);
      Corpus corpus =
          Corpus.write(CLUSTER.fileSystem(), new Path(folder, "in"), maps, 500, name.hashCode());
      Configuration conf = CLUSTER.configuration();
      conf.set(MRJobConfig.QUEUE_NAME, "root." + user);
      conf.setInt(MRJobConfig.MR_AM_VMEM_MB, SMALL_MB);
      conf.setInt(MRJobConfig.MAP_MEMORY_MB, SMALL_MB);
      conf.setInt(MRJobConfig.REDUCE_MEMORY_MB, SMALL_MB);
      return JobClient.submit(
          user,
          () -> TextJobs.wordCount(conf, name, corpus.folder(), new Path(folder, "out"), reduces));
    }

    @Override
    public void run() {
      try {
        while (!closing && ended < most) {
          long begunNanos = System.nanoTime();
          Job job = submit(name + "-traffic-" + ended, "ben", 3, 3);
          while (!job.isComplete() && !closing) {
            Thread.sleep(100);
          }
          if (!job.isComplete()) {
            job.killJob();
          } else {
            CLUSTER.assertSucceeds(job);
          }
          ended++;
          // One shuffle fills the links for a period. Four would, so that a slow one leaves none
          // without; more would only keep processors busy.
          while (!closing && ended < most
              && System.nanoTime() - begunNanos < PERIOD_MS / 4 * 1_000_000L) {
            Thread.sleep(100);
          }
        }
      } catch (Throwable e) {
        failure = e;
      }
    }

    void awaitJob() throws Exception {
      Await.until(
          "a job has shuffled", ClusterRule.JOB_SECONDS, () -> ended > 0 || failure != null);
      if (failure != null) {
        throw new AssertionError(failure);
      }
    }

    @Override
    public void close() {
      closing = true;
      try {
        join();
      } catch (InterruptedException e) {
        throw new IllegalStateException("interrupted while a job ends", e);
      }
      if (failure != null) {
        throw new AssertionError(failure);
      }
    }
  }
}
