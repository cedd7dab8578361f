/*
 * What the processes of the embedded cluster do: they run one of Hadoop's services until their
 * parent closes their input, and answer questions. The parent's side is ChildJvm.
 */
package io.heddle.integration.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BiFunction;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Questions are lines of the input. Each answer is one line of the output. */
final class ChildMain {
  /** Begins an answer. */
  static final String ANSWER = "answer ";

  /** Begins the reason why there is none. */
  static final String ERROR = "error ";

  /** Takes the place of the end of a line within an answer. */
  static final String LINE = " | ";

  /** Time limit of an orderly stop, from the end of the input. */
  static final long STOP_MS = 30_000;

  private ChildMain() {}

  /** Runs a service without questions. */
  static void run(Callable<Service> maker) {
    run(maker, (service, question) -> {
      throw new IllegalArgumentException("no question is known");
    });
  }

  /** Runs a service until the end of the input, and then ends this JVM. Fails with exit code 1. */
  static <S extends Service> void run(
      Callable<S> maker, BiFunction<S, String, String> answer) {
    PrintStream answers = System.out;
    // Only answers may be in the output.
    System.setOut(System.err);
    int code = 1;
    try {
      BlockingQueue<Optional<String>> questions = new LinkedBlockingQueue<>();
      daemon(() -> read(questions));
      S service = maker.call();
      service.init(new YarnConfiguration());
      service.start();
      // Empty at the end of the input.
      Optional<String> line = questions.take();
      while (line.isPresent()) {
        answers.println(answer(service, answer, line.get()).replaceAll("\\R", LINE));
        answers.flush();
        line = questions.take();
      }
      service.stop();
      code = 0;
    } catch (Throwable e) {
      // Its own threads may go on, and keep this JVM.
      e.printStackTrace();
      daemon(ChildMain::haltLater);
    }
    System.exit(code);
  }

  private static <S> String answer(S service, BiFunction<S, String, String> answer, String line) {
    try {
      return ANSWER + answer.apply(service, line);
    } catch (RuntimeException e) {
      e.printStackTrace();
      return ERROR + e;
    }
  }

  /** Reads beside the service, which may hang: it must still end with its parent. */
  private static void read(BlockingQueue<Optional<String>> questions) {
    try {
      BufferedReader in =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        questions.add(Optional.of(line));
      }
    } catch (IOException e) {
      e.printStackTrace();
    }
    questions.add(Optional.empty());
    // Without a ResourceManager a NodeManager would try for minutes to tell it of its end.
    haltLater();
  }

  private static void haltLater() {
    try {
      Thread.sleep(STOP_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Runtime.getRuntime().halt(1);
  }

  private static void daemon(Runnable work) {
    Thread thread = new Thread(work);
    thread.setDaemon(true);
    thread.start();
  }
}
