package io.heddle.integration.cluster;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.service.AbstractService;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Tests what a parent learns of its child, with a service of its own. Newest Hadoop only. */
public class ChildJvmTest {
  private static final String BREAK = "heddle.test.break";

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  /** The child's service. */
  private static final class Hanging extends AbstractService {
    private Hanging() {
      super("hanging");
    }

    @Override
    protected void serviceStart() throws Exception {
      // Its own threads go on when it fails.
      new Thread(Child::hang).start();
      if (getConfig().getBoolean(BREAK, false)) {
        throw new IllegalStateException("cannot start");
      }
    }
  }

  /** The child. Not the service itself, whose logger would take the output before main does. */
  public static final class Child {
    private Child() {}

    /** Runs it. */
    public static void main(String[] arguments) {
      ChildMain.run(Hanging::new, (child, question) -> answer(question));
    }

    private static String answer(String question) {
      switch (question) {
        case "fail":
          throw new IllegalArgumentException("no\nanswer");
        case "halt":
          Runtime.getRuntime().halt(3);
          return null;
        case "hang":
          hang();
          return null;
        default:
          System.out.println("a line of Hadoop's");
          return question + "\nagain";
      }
    }

    private static void hang() {
      try {
        Thread.sleep(Long.MAX_VALUE);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private ChildJvm start(Configuration conf) throws Exception {
    return new ChildJvm(Child.class, "child", System.getProperty("java.class.path"), conf,
        folder.getRoot(), true);
  }

  private static void assertNoAnswer(ChildJvm child, String question, String reason) {
    String said;
    try {
      said = child.ask(question);
    } catch (IllegalStateException e) {
      assertTrue(e.getMessage(), e.getMessage().contains(reason));
      assertTrue(e.getMessage(), e.getMessage().contains(child.log().getPath()));
      return;
    }
    fail(said);
  }

  private static String text(File log) throws Exception {
    return new String(Files.readAllBytes(log.toPath()), StandardCharsets.UTF_8);
  }

  @Test
  public void anErrorIsNoAnswer() throws Exception {
    ChildJvm child = start(new Configuration(false));
    try {
      assertEquals("one | again", child.ask("one"));
      assertNoAnswer(child, "fail", "IllegalArgumentException: no | answer");
      assertEquals("two | again", child.ask("two"));
      assertTrue(text(child.log()).contains("a line of Hadoop's"));
      assertTrue(text(child.log()).contains("ChildJvmTest$Child.answer("));
      assertNoAnswer(child, "halt", "has ended");
      assertNoAnswer(child, "one", "has ended");
    } finally {
      child.stop();
    }
  }

  @Test
  public void aChildThatCannotStartEnds() throws Exception {
    Configuration conf = new Configuration(false);
    conf.setBoolean(BREAK, true);
    ChildJvm child = start(conf);
    try {
      assertNoAnswer(child, "one", "has ended");
      assertTrue(text(child.log()), text(child.log()).contains("cannot start"));
    } finally {
      child.stop();
    }
  }
}
