/*
 * A NodeManager in a JVM of its own, as on a real cluster: only then are its metrics its own.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** Ends with its parent. */
public final class NodeProcess {
  private final ChildJvm jvm;

  /** Starts one with its site files and its log in this folder. */
  NodeProcess(Configuration conf, File folder) throws IOException {
    jvm = new ChildJvm(NodeProcess.class, "nodemanager", System.getProperty("java.class.path"),
        conf, folder, false);
  }

  /** Stops it in an orderly way, and waits for its end. */
  void stop() {
    jvm.stop();
  }

  /** Runs the NodeManager until the end of the input. */
  public static void main(String[] arguments) {
    LocalFiles.use();
    ChildMain.run(NodeManager::new);
  }
}
