/*
 * A ResourceManager in a JVM of its own, as on a real cluster. Of a federation it is the second,
 * beside a MiniCluster whose HDFS it shares: metrics and the client of the federation's store exist
 * once for each JVM.
 */
package io.heddle.integration.cluster;

import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.Inspection;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/** Questions to it fail if it hangs, has ended or cannot answer. */
public final class SubCluster {
  private static final String BOOKS = "books";
  private static final String ROOM = "room";
  private static final String WAITS = "waits ";
  private static final String FIELD = "\t";

  private final ChildJvm jvm;

  /** Starts one with its site files and its log in this folder. */
  SubCluster(Configuration conf, File folder) throws IOException {
    jvm = new ChildJvm(SubCluster.class, "resourcemanager", System.getProperty("java.class.path"),
        conf, folder, true);
  }

  /** What the ResourceManager knows of an application. */
  public static final class App {
    /** The hosts of its running containers, one entry for each. */
    public final List<String> hosts;

    /** How many containers it ever got. */
    public final int allocated;

    /** Whether its ApplicationMaster is in another sub-cluster. */
    public final boolean unmanaged;

    /** Its queue, or empty. */
    public final String queue;

    /** Its final status, or its state while it runs; empty if it is unknown here. */
    public final String status;

    private App(String answer) {
      String[] fields = answer.split(FIELD, -1);
      hosts = fields[0].isEmpty()
          ? new ArrayList<>() : new ArrayList<>(Arrays.asList(fields[0].split(",")));
      allocated = Integer.parseInt(fields[1]);
      unmanaged = Boolean.parseBoolean(fields[2]);
      queue = fields[3];
      status = fields[4];
    }

    @Override
    public String toString() {
      return status + " in " + queue + ", containers on " + hosts + " of " + allocated;
    }
  }

  /** Returns what it knows of an application now. */
  public App app(ApplicationId id) {
    return new App(jvm.ask(id.toString()));
  }

  /** Returns how much memory is in use on its nodes, in MB, and on how many nodes. */
  public int[] room() {
    String[] fields = jvm.ask(ROOM).split(FIELD);
    return new int[] {Integer.parseInt(fields[0]), Integer.parseInt(fields[1])};
  }

  /** Returns whether any job of this user waits; see {@link Applications#anyWaits}. */
  boolean anyWaits(String user) {
    return Boolean.parseBoolean(jvm.ask(WAITS + user));
  }

  /** Returns what is wrong with Heddle's books there, and its warnings; empty if nothing is. */
  public String faults() {
    return jvm.ask(BOOKS);
  }

  /** Returns the file with all that it logs. */
  File log() {
    return new File(jvm.log().getParentFile(), "hadoop.log");
  }

  /** Stops it in an orderly way, and waits for its end. */
  void stop() {
    jvm.stop();
  }

  // ---- In its JVM.

  /** Runs the ResourceManager and answers until the end of the input. */
  public static void main(String[] arguments) throws IOException {
    // First: it takes away loggers that would print among the answers.
    ClusterLog log = ClusterLog.open(new File(arguments[0], "hadoop.log"));
    ChildMain.run(ResourceManager::new, (manager, question) -> answer(manager, log, question));
  }

  private static String answer(ResourceManager manager, ClusterLog log, String line) {
    Applications applications = new Applications(() -> manager);
    if (line.startsWith(WAITS)) {
      return String.valueOf(applications.anyWaits(line.substring(WAITS.length())));
    }
    switch (line) {
      case BOOKS:
        return faults(manager, log);
      case ROOM:
        long nodes = manager.getRMContext().getRMNodes().values().stream()
            .filter(node -> !node.getState().isUnusable()).count();
        return applications.used().getMemorySize() + FIELD + nodes;
      default:
        ApplicationId id = ApplicationId.fromString(line);
        RMApp app = applications.find(id);
        if (app == null) {
          return String.join(FIELD, "", "0", "false", "", "");
        }
        String status = app.getFinishTime() > 0
            ? app.getFinalApplicationStatus().toString() : app.getState().toString();
        return String.join(FIELD, String.join(",", applications.taskHosts(id)),
            String.valueOf(applications.allocated(id)),
            String.valueOf(app.getApplicationSubmissionContext().getUnmanagedAM()),
            app.getQueue(), status);
    }
  }

  private static String faults(ResourceManager manager, ClusterLog log) {
    Inspection inspection = ((HeddleScheduler) manager.getResourceScheduler()).inspection();
    List<String> faults = new ArrayList<>(log.heddleWarnings());
    if (inspection.failures() > 0) {
      faults.add(inspection.failures() + " events failed");
    }
    if (inspection.engineRebuilds() > 0) {
      faults.add(inspection.engineRebuilds() + " rebuilds of the engine");
    }
    String differences = inspection.differences();
    if (differences != null) {
      faults.add(differences);
    }
    return String.join("\n", faults);
  }
}
