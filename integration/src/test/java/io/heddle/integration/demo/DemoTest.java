package io.heddle.integration.demo;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.commons.cli.ParseException;
import org.junit.Test;

/** The demo's arguments and its picture. Starts no cluster: {@code ./x demo} itself does. */
public class DemoTest {
  private static final int COLUMNS = 80;

  private static DemoOptions parse(String... arguments) throws ParseException {
    return DemoOptions.parse(arguments);
  }

  private static String refusal(String... arguments) {
    return assertThrows(ParseException.class, () -> DemoOptions.parse(arguments)).getMessage();
  }

  @Test
  public void policyIsFairUnlessTold() throws Exception {
    assertEquals("{\"policy\": \"fair\"}", parse().engineConfiguration());
    assertEquals("{\"policy\": \"fifo\"}", parse("--policy", "fifo").engineConfiguration());
    assertEquals("{\"policy\": \"fifo\"}", parse("--policy=fifo").engineConfiguration());
  }

  @Test
  public void policyMayNameStages() throws Exception {
    String json = "{\"policy\": {\"share\": \"fair\", \"place\": \"delay\"}}";
    assertEquals(json, parse("--policy", "share=fair,place=delay").engineConfiguration());
    assertEquals(json, parse("--policy=share=fair, place=delay").engineConfiguration());
  }

  @Test
  public void wrongArgumentsAreRefusedWithWhatWasExpected() {
    assertTrue(refusal("--policy", "size=small"), refusal("--policy", "size=small")
        .contains("expected share=NAME, order=NAME or place=NAME"));
    assertTrue(refusal("--policy", "share=").contains("'share='"));
    assertTrue(refusal("fifo").contains("'fifo'"));
    assertTrue(refusal("--polciy", "fifo").contains("--polciy"));
    assertTrue(refusal("--policy").contains("Missing argument"));
  }

  @Test
  public void aNameWithQuotesStaysOneName() throws Exception {
    assertEquals("{\"policy\": \"a\\\"b\\\\\"}", parse("--policy", "a\"b\\").engineConfiguration());
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
    DemoJob job = new DemoJob("carol", "medium count 2", 0, () -> null);
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
    assertFits(Picture.table(599_000, jobs, new int[] {1234}, new int[][] {{1000, 200, 30}}));
  }

  private static void assertFits(List<String> lines) {
    assertFalse(lines.isEmpty());
    for (String line : lines) {
      assertTrue(line.length() + ": " + line, line.length() <= COLUMNS);
    }
  }

  @Test
  public void utilisationIsAMeanOverTime() {
    Utilisation utilisation = new Utilisation();
    Snapshot.Queue waiting = new Snapshot.Queue("root.alice");
    waiting.pending = 3;
    // A quarter of the time full with somebody waiting, three quarters at a fifth.
    utilisation.add(0, new Snapshot(Collections.singletonList(waiting), 1));
    utilisation.add(10_000, new Snapshot(Collections.<Snapshot.Queue>emptyList(), 0.2));
    utilisation.add(40_000, new Snapshot(Collections.<Snapshot.Queue>emptyList(), 0.9));
    String text = utilisation.describe();
    assertTrue(text, text.contains("40% used over 40 s"));
    assertTrue(text, text.contains("100% in the 10 s"));
  }
}
