/*
 * A job of Apache Tez: OrderedWordCount of its own examples, a graph of three vertices. Its client
 * is a process with the jars that an environment variable names.
 */
package io.heddle.integration.jobs;

import io.heddle.integration.cluster.ContainerLogs;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/** Submits and awaits it. */
public final class TezJob {
  /** Names Tez's jars. */
  public static final String JARS_VARIABLE = "HEDDLE_TEZ";

  private static final String EXAMPLE = "org.apache.tez.examples.OrderedWordCount";
  private static final int SORT_MB = 16;

  private final Configuration cluster;
  private final File workFolder;
  private final String user;
  private final Map<String, Object> more = new LinkedHashMap<>();
  private int containerMb = 512;

  /** Makes one for a cluster with files in this folder; all nodes are this machine. */
  public TezJob(Configuration cluster, File workFolder, String user) {
    this.cluster = cluster;
    this.workFolder = workFolder;
    this.user = user;
  }

  /** Names its queue, and sets the size of all its containers. */
  public TezJob in(String queue, int containerMb) {
    more.put("tez.queue.name", queue);
    this.containerMb = containerMb;
    return this;
  }

  /** Runs it until its client knows its end; fails unless it succeeded. */
  public ApplicationId run(Path input, Path output) throws Exception {
    String jars = System.getenv(JARS_VARIABLE);
    if (jars == null) {
      throw new IllegalStateException(JARS_VARIABLE + " names no jars; ./x sets it");
    }
    String path = System.getProperty("java.class.path") + File.pathSeparator + jars.trim();
    ClientFiles files = new ClientFiles(cluster, workFolder, "tez");
    List<String> command = new ArrayList<>(Arrays.asList(
        System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC", "-cp", files.conf() + File.pathSeparator + path, EXAMPLE));
    settings(path).forEach((key, value) -> command.add("-D" + key + "=" + value));
    command.addAll(Arrays.asList(input.toString(), output.toString(), "2"));
    ApplicationId id = files.run(new ProcessBuilder(command), user);
    if (!files.said().contains("DAG completed. FinalState=SUCCEEDED")) {
      throw new AssertionError(files.said() + "\n" + ContainerLogs.tail(workFolder, id));
    }
    return id;
  }

  private Map<String, Object> settings(String path) {
    // Without the class archive: its options have MapReduce's class path.
    String jvm = cluster.get(MRJobConfig.MAP_JAVA_OPTS).replaceAll("@\\S+", "");
    Map<String, Object> settings = new LinkedHashMap<>(more);
    // The jars are on every node, and need not be uploaded.
    settings.put("tez.ignore.lib.uris", true);
    settings.put("tez.cluster.additional.classpath.prefix", path);
    settings.put("tez.staging-dir", cluster.get(MRJobConfig.MR_AM_STAGING_DIR) + "/tez");
    // Its pages need an older version of Hadoop's web server.
    settings.put("tez.am.tez-ui.webservice.enable", false);
    for (String part : new String[] {"am", "task"}) {
      settings.put("tez." + part + ".resource.memory.mb", containerMb);
      settings.put("tez." + part + ".launch.cmd-opts", jvm);
    }
    settings.put("tez.runtime.io.sort.mb", SORT_MB);
    settings.put("tez.runtime.unordered.output.buffer.size-mb", SORT_MB);
    return settings;
  }
}
