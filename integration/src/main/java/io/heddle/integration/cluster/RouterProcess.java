/*
 * YARN Federation's Router in a JVM of its own. Its jar is of another Hadoop than the
 * cluster's, so it has a class path of its own, as if it were another installation.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.service.Service;

/** Ends with its parent. */
public final class RouterProcess {
  private static final String JARS_VARIABLE = "HEDDLE_ROUTER";
  private static final String ROUTER = "org.apache.hadoop.yarn.server.router.Router";

  private final ChildJvm jvm;

  /** Starts one with its site files and its log in this folder. */
  RouterProcess(Configuration conf, File folder) throws IOException {
    jvm = new ChildJvm(RouterProcess.class, "router", jars() + File.pathSeparator + ownClasses(),
        conf, folder, false);
  }

  private static String jars() {
    String jars = System.getenv(JARS_VARIABLE);
    if (jars == null) {
      throw new IllegalStateException(JARS_VARIABLE + " names no jars; ./x test sets it");
    }
    return jars.trim();
  }

  private static String ownClasses() {
    try {
      return new File(RouterProcess.class.getProtectionDomain().getCodeSource().getLocation()
          .toURI()).getPath();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Returns the file with all that it logs. */
  File log() {
    return jvm.log();
  }

  /** Fails if it has ended. */
  void assertRuns() {
    jvm.assertRuns();
  }

  /** Stops it in an orderly way, and waits for its end. */
  void stop() {
    jvm.stop();
  }

  /** Runs the Router until the end of the input. */
  public static void main(String[] arguments) {
    ChildMain.run(() -> (Service) Class.forName(ROUTER).getConstructor().newInstance());
  }
}
