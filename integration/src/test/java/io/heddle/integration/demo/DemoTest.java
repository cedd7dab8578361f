package io.heddle.integration.demo;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.heddle.integration.Policies;
import io.heddle.integration.cluster.MiniCluster;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.commons.cli.ParseException;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/**
 * The demo's arguments, workloads, figures and pictures. Starts no cluster, as the demo does.
 * Newest Hadoop only: the demo runs on that unless told.
 */
public class DemoTest {
  private static final int COLUMNS = 80;

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private static DemoOptions parse(String... arguments) throws ParseException {
    return DemoOptions.parse(arguments);
  }

  private static String refusal(String... arguments) {
    return assertThrows(ParseException.class, () -> DemoOptions.parse(arguments)).getMessage();
  }

  /** Reads the policy from the candidate's heddle.json. */
  private static JsonNode policy(String... arguments) throws Exception {
    DemoOptions options = parse(arguments);
    String json = options.candidate().engineConfiguration(options.workload().settings());
    return new ObjectMapper().readTree(json).get("policy");
  }

  @Test
  public void policyIsFairUnlessTold() throws Exception {
    assertEquals("fair", policy().asText());
    assertEquals("fifo", policy("--policy", "fifo").asText());
    assertEquals("fifo", policy("--policy=fifo").asText());
  }

  @Test
  public void policyMayNameStages() throws Exception {
    JsonNode json = new ObjectMapper().readTree("{\"share\": \"fair\", \"place\": \"delay\"}");
    assertEquals(json, policy("--policy", "share=fair,place=delay"));
    assertEquals(json, policy("--policy=share=fair, place=delay"));
  }

  @Test
  public void comparesWithFifoUnlessToldOrFifoItself() throws Exception {
    assertEquals("fifo", parse("--policy", "hfsp").opponent().get().name());
    assertEquals("Capacity", parse("--policy", "hfsp", "--stock").opponent().get().name());
    assertFalse(parse("--policy", "hfsp", "--no-comparison").opponent().isPresent());
    assertFalse(parse("--policy", "fifo").opponent().isPresent());
  }

  @Test
  public void wrongArgumentsAreRefusedWithWhatWasExpected() {
    assertTrue(refusal("--policy", "size=small"), refusal("--policy", "size=small")
        .contains("expected share=NAME, order=NAME or place=NAME"));
    assertTrue(refusal("--policy", "share=").contains("'share='"));
    assertTrue(refusal("fifo").contains("'fifo'"));
    assertTrue(refusal("--polciy", "fifo").contains("--polciy"));
    assertTrue(refusal("--policy").contains("Missing argument"));
    assertTrue(refusal("--stock", "--no-comparison").contains("one of the two"));
  }

  private String file(String text) throws IOException {
    Path file = folder.newFile().toPath();
    Files.write(file, text.getBytes(StandardCharsets.UTF_8));
    return file.toString();
  }

  @Test
  public void aStockFileIsRunByHeddleAndByItsOwnScheduler() throws Exception {
    String fair = file("<?xml version='1.0'?>\n<allocations><queue name='a'/></allocations>");
    DemoOptions options = parse("--stock-file", fair, "--queues", "root.a,root.b");
    Contender heddle = options.candidate();
    assertEquals(MiniCluster.HEDDLE, heddle.schedulerClass());
    assertEquals("the file alone", "{}",
        heddle.engineConfiguration(options.workload().settings()));
    assertTrue(options.opponent().get().schedulerClass().endsWith(".fair.FairScheduler"));
    DemoOptions hfsp = parse("--stock-file", fair, "--policy", "hfsp", "--no-comparison");
    assertEquals("{\"policy\":\"hfsp\"}",
        hfsp.candidate().engineConfiguration(hfsp.workload().settings()));
    assertFalse(hfsp.opponent().isPresent());
    String capacity = file("<configuration>\n</configuration>");
    assertEquals("Capacity", parse("--stock-file", capacity).opponent().get().name());
  }

  @Test
  public void whatIsNoStockFileIsRefused() throws Exception {
    String json = file("{}");
    assertTrue(refusal("--stock-file", json).contains("expected <allocations>"));
    assertTrue(refusal("--stock-file", "/no/such").contains("cannot read /no/such"));
    assertTrue(refusal("--queues", "root.a").contains("expected --stock-file"));
  }

  @Test
  public void aNameWithQuotesStaysOneName() throws Exception {
    assertEquals("a\"b\\", policy("--policy", "a\"b\\").asText());
  }

  @Test
  public void helpFitsTheTerminal() {
    StringWriter text = new StringWriter();
    DemoOptions.printHelp(new PrintWriter(text));
    assertTrue(text.toString(), text.toString().contains("--policy <POLICY>"));
    assertFits(Arrays.asList(text.toString().split("\n")));
  }

  @Test
  public void pictureFitsTheTerminal() throws Exception {
    DemoJob job = new DemoJob(JobPlan.of("carol", "count"), "shuffling 12345", 0, () -> null);
    job.begin(0);
    Snapshot.Queue queue = new Snapshot.Queue("root.somebody-with-a-long-name");
    queue.used = 1;
    queue.entitled = 1;
    queue.running = 123;
    queue.pending = 567;
    queue.localities[0] = 1000;
    queue.localities[1] = 200;
    queue.localities[2] = 30;
    Snapshot now = new Snapshot(Collections.singletonList(queue), 1);
    List<DemoJob> jobs = Collections.singletonList(job);
    String title = "Heddle, policy share=fair,order=fifo,place=local-first, Hadoop 3.5.0";
    List<String> picture = Picture.live(title, 599_000, now, jobs);
    assertFits(picture);
    assertTrue(String.join("\n", picture).contains("1000/200/30"));
    assertTrue(picture.get(0), picture.get(0).endsWith("9:59"));
  }

  private static void assertFits(List<String> lines) {
    assertFalse(lines.isEmpty());
    for (String line : lines) {
      assertTrue(line.length() + ": " + line, line.length() <= COLUMNS);
    }
  }

  /** Lists every workload: those of the presets and of compositions. */
  private static List<Workload> workloads() {
    List<Workload> all = new ArrayList<>();
    Policies.presets().forEach(name -> all.add(Workload.forPreset(name)));
    all.add(Workload.forStages("dynamic-priority", "hfsp", "shuffle-watcher"));
    all.add(Workload.forStages("fair", "reverse-adaptive", "delay"));
    return all;
  }

  @Test
  public void everyPresetOfTheEngineHasAWorkload() {
    for (String preset : Policies.presets()) {
      String workload = Policies.workload(preset);
      assertTrue(preset + ": " + workload, Workload.names().contains(workload));
    }
  }

  @Test
  public void aCompositionIsShownByWhatItsStagesAreAbout() {
    assertEquals(0, Workload.forStages("single", "fifo", "local-first").figures().size());
    List<Figure> figures =
        Workload.forStages("fair", "reverse-adaptive", "shuffle-watcher").figures();
    assertEquals(Figure.Waiting.class, figures.get(0).getClass());
    assertEquals(Figure.GoalsMet.class, figures.get(1).getClass());
    assertEquals(Figure.CrossRack.class, figures.get(2).getClass());
  }

  @Test
  public void workloadsAreShortAndFitTheTable() {
    for (Workload workload : workloads()) {
      assertFits(Arrays.asList(workload.story().split("\n")));
      assertFalse(workload.story(), workload.figures().isEmpty());
      int containers = 0;
      Set<String> names = new TreeSet<>();
      for (JobPlan job : workload.jobs()) {
        containers += 1 + job.tasks();
        String title = job.name() + (job.hasGoal() ? " in 100 s" : "");
        assertTrue(title + " is longer than its column", title.length() <= 17);
        assertTrue(job.name() + " is there twice", names.add(job.name()));
      }
      assertTrue("each container costs seconds: " + containers, containers <= 36);
    }
  }

  private static JobResult result(String name, long waitedMs, long goalMs) {
    JobResult result = new JobResult("alice", name, name);
    result.state = DemoJob.State.SUCCEEDED;
    result.waitedMs = waitedMs;
    result.tookMs = 2 * waitedMs;
    result.goalMs = goalMs;
    return result;
  }

  private static String compare(Figure figure, List<JobResult> here, List<JobResult> there) {
    return figure.compare("hfsp", here, "fifo", there);
  }

  @Test
  public void waitingIsTheMeanOfTheJobsItIsAbout() {
    List<JobResult> here = Arrays.asList(result("large", 90_000, 0), result("a", 10_000, 0),
        result("b", 18_000, 0));
    List<JobResult> there = Arrays.asList(result("large", 80_000, 0), result("a", 70_000, 0),
        result("b", 72_000, 0));
    Figure small = new Figure.Waiting("the small jobs", "a", "b");
    // (10 + 18) / 2 = 14 and (70 + 72) / 2 = 71; 71 / 14 = 5.07.
    assertEquals("the small jobs waited 14 s under hfsp, 71 s under fifo: 5.1 times shorter",
        compare(small, here, there));
    // 90 / 80 = 1.125.
    assertEquals("the large job waited 90 s under hfsp, 80 s under fifo: 1.1 times longer",
        compare(new Figure.Waiting("the large job", "large"), here, there));
  }

  @Test
  public void noWaitIsNotSoManyTimesShorter() {
    Figure figure = new Figure.Waiting("the small jobs", "a");
    List<JobResult> none = Arrays.asList(result("a", 0, 0));
    List<JobResult> some = Arrays.asList(result("a", 30_000, 0));
    assertEquals("the small jobs waited 0 s under hfsp, 30 s under fifo: no wait at all",
        compare(figure, none, some));
    assertEquals("the small jobs waited 30 s under hfsp, 0 s under fifo: longer",
        compare(figure, some, none));
    assertEquals("the small jobs waited 0 s under hfsp, 0 s under fifo: no wait under either",
        compare(figure, none, none));
  }

  @Test
  public void goalsAreMetByJobsThatSucceededInTime() {
    JobResult failed = result("c", 10, 1000);
    failed.state = DemoJob.State.FAILED;
    List<JobResult> here = Arrays.asList(result("a", 500, 1000), result("b", 5, 10), failed,
        result("no goal", 1, 0));
    List<JobResult> there = Arrays.asList(result("a", 501, 1000), result("b", 5, 10), failed);
    assertEquals("2 of 3 completion goals were met under hfsp, 1 of 3 under fifo",
        compare(new Figure.GoalsMet(), here, there));
  }

  @Test
  public void crossRackTrafficIsAPartOfAllThatWasShuffled() {
    JobResult one = result("a", 1, 0);
    one.shuffledBytes = 300;
    one.crossRackBytes = 0;
    JobResult two = result("b", 1, 0);
    two.shuffledBytes = 100;
    two.crossRackBytes = 40;
    JobResult half = result("a", 1, 0);
    half.shuffledBytes = 400;
    half.crossRackBytes = 200;
    // 40 of 400 against 200 of 400: a tenth against a half.
    assertEquals(
        "10% of the shuffle crossed racks under hfsp, 50% under fifo: 80% less",
        compare(new Figure.CrossRack(), Arrays.asList(one, two), Arrays.asList(half)));
    assertEquals(
        "50% of the shuffle crossed racks under hfsp, 10% under fifo: no less",
        compare(new Figure.CrossRack(), Arrays.asList(half), Arrays.asList(one, two)));
  }

  @Test
  public void localMapsAreThoseOnTheHostThatWasAskedFor() {
    JobResult here = result("a", 1, 0);
    here.localities = new int[] {3, 1, 0};
    JobResult there = result("a", 1, 0);
    there.localities = new int[] {1, 2, 1};
    assertEquals(
        "75% of the maps ran where their data is under hfsp, 25% under fifo",
        compare(new Figure.NodeLocal(), Arrays.asList(here), Arrays.asList(there)));
  }

  /** At 5 s of the demo the engine's clock reads 100 s, so its 130 s are the demo's 35. */
  private static Forecast forecast() throws Exception {
    String end = "{\"earliest_ms\": 110000, \"expected_ms\": 130000, \"latest_ms\": 160000}";
    String answer = "{\"now_ms\": 100000, \"jobs\": [{\"job\": 1, \"end\": " + end + "}]}";
    return Forecast.read(answer, 5_000).orElseThrow(AssertionError::new);
  }

  @Test
  public void forecastsAreOnTheDemosClock() throws Exception {
    Forecast forecast = forecast();
    assertEquals(5_000, forecast.madeMs);
    assertEquals(15_000, forecast.earliestMs);
    assertEquals(35_000, forecast.expectedMs);
    assertEquals(65_000, forecast.latestMs);
    assertTrue(forecast.holds(65_000));
    assertFalse(forecast.holds(65_001) || forecast.holds(14_999));
    assertFalse("of nobody", Forecast.read("{\"jobs\": []}", 0).isPresent());
  }

  /** Expected after 30 s, it ended after 61 s: with a second added, 62 by 31 is a factor of two. */
  @Test
  public void theClosingSaysHowWellEndsWereForeseen() throws Exception {
    JobResult foreseen = new JobResult("ada", "grep", "grep");
    foreseen.state = DemoJob.State.SUCCEEDED;
    foreseen.forecast = forecast();
    foreseen.endedMs = 5_000 + 61_000;
    JobResult silent = new JobResult("ada", "sort", "sort");
    silent.state = DemoJob.State.SUCCEEDED;
    List<Contender> one = Collections.singletonList(parse("--policy=hfsp").candidate());
    Closing closing = new Closing(one, Collections.singletonList(Arrays.asList(foreseen, silent)));
    String line = closing.foresight().orElseThrow(AssertionError::new);
    assertTrue(line, line.startsWith("0 of 1 jobs ended in the band"));
    assertTrue(line, line.endsWith("off by a factor of 2.0 in the median."));
    for (String part : line.split("\\R")) {
      assertTrue(part, part.length() <= COLUMNS);
    }
    closing = new Closing(one, Collections.singletonList(Collections.singletonList(silent)));
    assertFalse(closing.foresight().isPresent());
  }

  @Test
  public void theClosingTableFitsAndComparesOnlyWhatSucceeded() {
    JobResult job = result("shuffling 12345", 300_000, 0);
    job.localities = new int[] {100, 20, 3};
    String composition = "share=dynamic-priority,order=hfsp,place=shuffle-watcher";
    List<Contender> both =
        Arrays.asList(Contender.heddle(composition, null), Contender.simplest());
    List<JobResult> run = Collections.singletonList(job);
    Closing closing = new Closing(both, Arrays.asList(run, run));
    assertFits(closing.table());
    assertEquals(3, closing.table().size());
    assertTrue(closing.table().get(0), closing.table().get(0).contains("under the composition"));
    String row = closing.table().get(2);
    assertTrue(row, row.contains("300.0 s  600.0 s  100/123"));
    List<Figure> figures = Collections.<Figure>singletonList(new Figure.GoalsMet());
    assertEquals(1, closing.comparison(figures).size());
    JobResult failed = new JobResult("alice", "shuffling", "shuffling 12345");
    failed.state = DemoJob.State.FAILED;
    closing = new Closing(both, Arrays.asList(run, Collections.singletonList(failed)));
    assertFits(closing.table());
    assertTrue(closing.table().get(2), closing.table().get(2).endsWith("failed"));
    assertFalse(closing.succeeded());
    assertTrue(closing.comparison(figures).isEmpty());
    closing = new Closing(both.subList(0, 1), Collections.singletonList(run));
    assertTrue(closing.succeeded() && closing.comparison(figures).isEmpty());
  }
}
