/*
 * A YARN cluster of which every daemon is a process, as in an installation: a ResourceManager and
 * the four NodeManagers of Topology. Files are this machine's own; there is no HDFS and no history
 * server.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.yarn.FileSystemBasedConfigurationProvider;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * A running cluster; {@link #close} stops it and removes its files. Only the user of this process
 * can submit jobs: MapReduce demands that users own their files, and here all are that user's.
 */
public final class Daemons implements AutoCloseable {
  private final File folder;
  private final YarnConfiguration conf;
  private final List<Node> nodes = new ArrayList<>();
  private SubCluster manager;

  private Daemons(File folder, Map<String, String> properties) throws IOException {
    this.folder = folder;
    conf = ClusterConfiguration.create(folder, MiniCluster.HEDDLE);
    conf.set(FileSystem.FS_DEFAULT_NAME_KEY, "file:///");
    conf.set(MRJobConfig.MR_AM_STAGING_DIR, new File(folder, "staging").getPath());
    // A mini cluster's tasks have this class path without being told.
    conf.set(MRJobConfig.MAPREDUCE_APPLICATION_CLASSPATH, System.getProperty("java.class.path"));
    // As a mini cluster's: a jar on the class path has a capacity-scheduler.xml.
    conf.set(YarnConfiguration.RM_CONFIGURATION_PROVIDER_CLASS,
        FileSystemBasedConfigurationProvider.class.getName());
    conf.set(YarnConfiguration.FS_BASED_RM_CONF_STORE, folder.toURI().toString());
    FreePort.addresses().forEach(conf::set);
    properties.forEach(conf::set);
  }

  /** Starts one with these Hadoop properties; returns once all its nodes are usable. */
  public static Daemons start(String name, Map<String, String> properties) throws Exception {
    Daemons daemons =
        new Daemons(Files.createTempDirectory("heddle-" + name + "-").toFile(), properties);
    try {
      daemons.begin();
      return daemons;
    } catch (Exception | Error e) {
      daemons.close();
      throw e;
    }
  }

  private void begin() throws Exception {
    manager = new SubCluster(conf, folder);
    for (int host = 0; host < Topology.HOSTS.size(); host++) {
      Node node = new Node(host, new File(folder, "node" + (host + 1)), true);
      nodes.add(node);
      node.start(conf);
    }
    Await.until(nodes.size() + " nodes running", Await.SECONDS,
        () -> manager.room()[1] == nodes.size());
  }

  /** Returns a copy of the configuration for clients. */
  public Configuration configuration() {
    return new YarnConfiguration(conf);
  }

  /** Returns the folder that holds all files of the cluster. */
  public File workFolder() {
    return folder;
  }

  /** Returns whether any job of this user waits; see {@link Applications#anyWaits}. */
  public boolean anyWaits(String user) {
    return manager.anyWaits(user);
  }

  @Override
  public void close() {
    nodes.parallelStream().forEach(Node::stopOrTell);
    if (manager != null) {
      BoundedStop.runOrTell("the ResourceManager", BoundedStop.SECONDS, manager::stop);
    }
    if (Boolean.getBoolean(MiniCluster.KEEP_PROPERTY)) {
      System.out.println("kept: " + folder);
    } else {
      FileUtil.fullyDelete(folder);
    }
  }
}
