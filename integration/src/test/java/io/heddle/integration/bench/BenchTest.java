package io.heddle.integration.bench;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.commons.cli.ParseException;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * The bench's choice of a policy, its clients of the API, its large clusters. Does not test what a
 * policy or a request costs. Newest Hadoop only: the bench runs on that unless told.
 */
public class BenchTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private static Level before;

  /** As the bench itself does: a line for each container would cost more than the scheduler. */
  @BeforeClass
  public static void logWarningsAlone() {
    before = Logger.getRootLogger().getLevel();
    Logger.getRootLogger().setLevel(Level.WARN);
  }

  @AfterClass
  public static void logAsBefore() {
    Logger.getRootLogger().setLevel(before);
  }

  private static BenchOptions parse(String... arguments) throws ParseException {
    return BenchOptions.parse(arguments);
  }

  private static String refusal(String... arguments) {
    return assertThrows(ParseException.class, () -> BenchOptions.parse(arguments)).getMessage();
  }

  private static boolean limits(BenchOptions options) {
    return options.workloads.stream().anyMatch(workload -> workload.shape().isLimited());
  }

  @Test
  public void thePolicyIsWhatTheGoalsWereSetForUnlessTold() throws Exception {
    assertEquals("fair-fifo", parse().policy.label);
    assertEquals("hfsp", parse("--policy", "hfsp").policy.label);
    assertEquals("fair", parse("--policy=fair").policy.label);
  }

  @Test
  public void anUnknownPolicyIsRefusedWithTheKnownOnes() {
    String said = refusal("--policy", "fare");
    assertTrue(said, said.contains("--policy") && said.contains("'fare'"));
    for (HeddlePolicy policy : HeddlePolicy.all()) {
      assertTrue(said, said.contains(policy.label));
    }
  }

  @Test
  public void limitsOfQueuesAreMeasuredOnlyWithQueues() throws Exception {
    assertTrue(limits(parse("--policy", "dynamic-priority")));
    assertFalse(limits(parse("--policy", "hfsp")));
    String said = refusal("--policy", "hfsp", "--workloads", "full,limited-10");
    assertTrue(said, said.contains("limited-10") && said.contains("hfsp"));
    assertTrue("stock schedulers have queues", limits(parse("--policy", "hfsp", "--schedulers",
        "fair,capacity", "--workloads", "limited-10")));
  }

  @Test
  public void helpNamesThePolicies() {
    StringWriter text = new StringWriter();
    BenchOptions.printHelp(new PrintWriter(text));
    String words = text.toString().replaceAll("\\s+", " ");
    assertTrue(words, words.contains(HeddlePolicy.labels()));
  }

  @Test
  public void everyPolicyRunsJobsAndLimitsAsItSays() throws Exception {
    for (HeddlePolicy policy : HeddlePolicy.all()) {
      Measurement measurement = run(policy, new ChurnWorkload(60, 16));
      assertTrue(policy.label, measurement.containers > 60);
      if (policy.keepsQueues) {
        // The run throws a violation if more jobs run than the limits allow.
        run(policy, new WaitingWorkload(WaitingWorkload.Room.LIMITED, 10, 0));
      }
    }
  }

  @Test
  public void resultsNameThePolicy() throws Exception {
    BenchOptions options = parse("--policy", "fifo", "--schedulers", "heddle");
    Workload workload = new ChurnWorkload(10, 4);
    Results results = new Results();
    results.add(workload, SchedulerKind.HEDDLE, run(options.policy, workload));
    ZonedDateTime now = ZonedDateTime.now(ZoneOffset.UTC);
    Path json = new RawResults(options, results, Collections.emptyList(), now, 1)
        .write(folder.getRoot().toPath(), now);
    String text = new String(Files.readAllBytes(json), "UTF-8");
    assertTrue(text, text.contains("\"policy\" : \"fifo\""));
    Path csv = json.resolveSibling(json.getFileName().toString().replace(".json", ".csv"));
    List<String> lines = Files.readAllLines(csv);
    assertTrue(lines.get(0), lines.get(0).startsWith("workload,scheduler,policy,round,"));
    assertTrue(lines.get(1), lines.get(1).startsWith("churn,heddle,fifo,1,"));
  }

  @Test
  public void loadOnTheApiIsMeasuredWithHeddleAlone() throws Exception {
    BenchOptions options = parse("--api-load", "3");
    assertEquals(3, options.apiClients);
    assertEquals(Collections.singletonList(SchedulerKind.HEDDLE_API), options.schedulers);
    assertEquals("dynamic-priority", options.policy.label);
    assertEquals("steady-300", options.workloads.get(0).name());
    assertEquals("full-10", parse("--api-load", "1", "--workloads", "full-10").workloads.get(0)
        .name());
    assertEquals("the usual bench has none", 0, parse().apiClients);
    assertTrue(refusal("--api-load", "0").contains("--api-load"));
    assertTrue(refusal("--api-load", "many").contains("'many'"));
    assertEquals(0, options.apiRate);
    assertEquals(50, parse("--api-load", "1", "--api-rate", "50").apiRate);
    assertTrue(refusal("--api-rate", "50").contains("--api-load"));
    assertTrue(refusal("--api-load", "2", "--schedulers", "fair").contains("--schedulers"));
  }

  @Test
  public void aRateOfRequestsIsKept() throws Exception {
    Workload workload = new SteadyWorkload(20, 20_000);
    ApiLoad load = new ApiLoad(parse("--api-load", "2", "--api-rate", "20"), System.out);
    ApiClients clients = load.measure(workload, false, 2).clients;
    // Each client makes one request at once and none before its turn.
    int most = 2 + (int) Math.ceil(20 * clients.seconds());
    int made = clients.latencies(null).length;
    assertTrue(made + " in " + clients.seconds() + " s", made <= most && made > 0);
  }

  @Test
  public void clientsAreAnsweredWhileTheSchedulerWorks() throws Exception {
    Path out = folder.getRoot().toPath();
    BenchOptions options = parse("--api-load", "2", "--quick", "--rounds", "2", "--workloads",
        "steady-100", "--out", out.toString());
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    assertEquals(0, new ApiLoad(options, new PrintStream(said)).run());
    assertTrue(said.toString(), said.toString().contains("requests/s"));
    String[] raw = out.toFile().list((in, name) -> name.matches("api-.*\\.json"));
    assertEquals(1, raw.length);
    JsonNode root = new ObjectMapper().readTree(out.resolve(raw[0]).toFile());
    assertTrue(root.path("command").asText().startsWith("./x bench --api-load 2 "));
    int[] clients = {0, 2, 2, 0};
    for (int r = 0; r < clients.length; r++) {
      JsonNode run = root.path("runs").path(r);
      assertEquals(run.toString(), clients[r], run.path("clients").asInt(-1));
      assertEquals(run.toString(), clients[r] > 0, run.path("requests").asInt() > 0);
      assertTrue(run.toString(), run.path("heartbeat_p99_us").asDouble()
          >= run.path("heartbeat_p50_us").asDouble());
      assertTrue(run.toString(), run.path("request_p99_us").asDouble()
          >= run.path("request_p50_us").asDouble());
    }
  }

  @Test
  public void sizesAreNumbersOfNodesAndHeddleAloneIsMeasured() throws Exception {
    assertEquals(Arrays.asList(100, 10_000), parse("--scale", "100, 10000").scale);
    assertEquals(HeddlePolicy.all().size(), parse("--scale", "10").policies.size());
    assertEquals(1, parse("--scale", "10", "--policy", "hfsp").policies.size());
    assertEquals("the usual bench has none", 0, parse().scale.size());
    for (String wrong : new String[] {"9", "many", "", "100,"}) {
      assertTrue(refusal("--scale", wrong).contains("--scale must be a whole number"));
    }
    assertTrue(refusal("--scale", "10", "--workloads", "churn").contains("--workloads"));
  }

  @Test
  public void everyPolicyIsMeasuredOnAWholeCluster() throws Exception {
    for (HeddlePolicy policy : HeddlePolicy.all()) {
      ObjectNode row = JsonNodeFactory.instance.objectNode();
      new ScaleRun(10, policy, parse("--scale", "10", "--quick"), row).run();
      assertEquals(20, row.path("applications").asInt());
      assertTrue(row.toString(), row.path("containers").asInt() > 0);
      assertTrue(row.toString(), row.path("heartbeat_p99_us").asDouble()
          >= row.path("heartbeat_p50_us").asDouble());
      for (String call : new String[] {"queue_report", "nodes_answer", "refresh", "tick_max",
          "submit_max", "audit", "http_jobs_p50", "http_explain_max", "heartbeat_max_asked"}) {
        assertTrue(call + " in " + row, row.path(call + "_us").asDouble() > 0);
      }
      assertEquals(1, row.path("labelled_nodes").asInt());
      assertTrue(row.toString(), row.path("labelled_containers").asInt() > 0);
      assertEquals(2, row.path("users_own_queues").asInt());
    }
  }

  @Test
  public void aFailoverThatFailsNamesItsScheduler() throws Exception {
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    ScaleBench bench = new ScaleBench(parse("--scale", "10"), new PrintStream(said));
    assertFalse("nothing asks", bench.failover(10, 0, JsonNodeFactory.instance.arrayNode()));
    assertTrue(said.toString(), said.toString().startsWith("VIOLATION by fair in a failover"));
  }

  @Test
  public void failoversAreLinesOfTheCsvWithTheirOwnColumns() throws Exception {
    ObjectNode root = JsonNodeFactory.instance.objectNode();
    root.putArray("runs").addObject().put("policy", "fair").put("nodes", 10);
    root.putArray("failover").addObject().put("scheduler", "heddle").put("nodes", 20);
    root.putArray("goals_missed").add("not a run");
    Path json = RawResults.write(
        root, folder.getRoot().toPath(), "scale", ZonedDateTime.now(ZoneOffset.UTC));
    Path csv = json.resolveSibling(json.getFileName().toString().replace(".json", ".csv"));
    assertEquals(Arrays.asList("policy,nodes,scheduler", "fair,10,", ",20,heddle"),
        Files.readAllLines(csv));
  }

  @Test
  public void everySchedulerFailsOverWithItsContainers() throws Exception {
    for (SchedulerKind kind : new SchedulerKind[] {
        SchedulerKind.FAIR, SchedulerKind.CAPACITY, SchedulerKind.HEDDLE}) {
      ObjectNode row = JsonNodeFactory.instance.objectNode();
      // It throws a violation if a container is lost, or if nothing is granted.
      new FailoverRun(kind, parse("--scale", "10"), 20, 50).run(row);
      assertEquals(kind.label, row.path("scheduler").asText());
      assertTrue(row.toString(), row.path("heartbeats").asInt() > 0);
      assertTrue(row.toString(), row.path("total_us").asDouble()
          >= row.path("register_us").asDouble());
    }
  }

  /** What is kept between two readings is the second one's. */
  @Test
  public void memoryIsReadInsideAndOutsideOfTheHeap() throws Exception {
    Memory before = Memory.now();
    byte[] inside = new byte[64 << 20];
    ByteBuffer outside = ByteBuffer.allocateDirect(64 << 20);
    for (int i = 0; i < outside.capacity(); i += 4096) {
      outside.put(i, (byte) 1);
    }
    Memory after = Memory.now();
    assertTrue("heap " + before.heap + " to " + after.heap, after.heap - before.heap > 60 << 20);
    assertTrue("outside " + before.outside + " to " + after.outside,
        after.outside - before.outside > 60 << 20);
    assertEquals(inside.length, outside.capacity());
  }

  private Measurement run(HeddlePolicy policy, Workload workload) throws Exception {
    SchedulerKind kind = SchedulerKind.HEDDLE;
    RmHarness harness =
        new RmHarness(kind, workload.shape(), policy, folder.newFolder().toPath());
    try (Driver driver = new Driver(kind, harness, workload.shape(), 1, false)) {
      return workload.run(driver, false);
    }
  }
}
