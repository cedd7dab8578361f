package io.heddle.integration;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.ContainerLogs;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.api.records.ApplicationId;

/**
 * A job of Apache Tez: {@code OrderedWordCount} of its own examples, a graph of three vertices. Its
 * client is a process with the jars that {@value #JARS_VARIABLE} names.
 */
final class TezJob {
  private static final String JARS_VARIABLE = "HEDDLE_TEZ";
  private static final String EXAMPLE = "org.apache.tez.examples.OrderedWordCount";
  private static final int CONTAINER_MB = 512;
  private static final int SORT_MB = 16;
  private static final Pattern SUBMITTED =
      Pattern.compile("Submitted application application_(\\d+)_(\\d+)");

  private TezJob() {}

  /** Runs it to its end; fails unless it succeeded. */
  static ApplicationId run(ClusterRule cluster, String user, Path input, Path output)
      throws Exception {
    String jars = System.getenv(JARS_VARIABLE);
    if (jars == null) {
      throw new IllegalStateException(JARS_VARIABLE + " names no jars; ./x test sets it");
    }
    String path = System.getProperty("java.class.path") + File.pathSeparator + jars.trim();
    ClientFiles files = new ClientFiles(cluster, "tez");
    // Without the class archive: its options have MapReduce's class path.
    String jvm = cluster.configuration().get(MRJobConfig.MAP_JAVA_OPTS).replaceAll("@\\S+", "");
    List<String> command = new ArrayList<>(Arrays.asList(
        System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC", "-cp", files.conf() + File.pathSeparator + path, EXAMPLE));
    settings(path, jvm).forEach((key, value) -> command.add("-D" + key + "=" + value));
    command.addAll(Arrays.asList(input.toString(), output.toString(), "2"));
    ProcessBuilder client = new ProcessBuilder(command);
    client.environment().put("HADOOP_USER_NAME", user);
    String said = files.run(client);
    Matcher submitted = SUBMITTED.matcher(said);
    if (!submitted.find()) {
      throw new AssertionError("Tez submitted nothing: " + said);
    }
    ApplicationId id = ApplicationId.newInstance(
        Long.parseLong(submitted.group(1)), Integer.parseInt(submitted.group(2)));
    if (!said.contains("DAG completed. FinalState=SUCCEEDED")) {
      throw new AssertionError(said + "\n" + ContainerLogs.tail(cluster.cluster(), id));
    }
    // Its ApplicationMaster outlives it.
    Await.until(
        "Tez ends", ClusterRule.JOB_SECONDS,
        () -> cluster.applications().find(id).getFinishTime() > 0);
    return id;
  }

  private static Map<String, Object> settings(String path, String jvm) {
    Map<String, Object> settings = new LinkedHashMap<>();
    // All nodes are this machine: the jars are here, and need not be uploaded.
    settings.put("tez.ignore.lib.uris", true);
    settings.put("tez.cluster.additional.classpath.prefix", path);
    settings.put("tez.staging-dir", "/staging/tez");
    // Its pages need an older version of Hadoop's web server.
    settings.put("tez.am.tez-ui.webservice.enable", false);
    for (String part : new String[] {"am", "task"}) {
      settings.put("tez." + part + ".resource.memory.mb", CONTAINER_MB);
      settings.put("tez." + part + ".launch.cmd-opts", jvm);
    }
    settings.put("tez.runtime.io.sort.mb", SORT_MB);
    settings.put("tez.runtime.unordered.output.buffer.size-mb", SORT_MB);
    return settings;
  }
}
