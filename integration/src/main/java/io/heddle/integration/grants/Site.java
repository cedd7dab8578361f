/*
 * A running cluster to measure on, in this process or with daemons in processes of their own.
 */
package io.heddle.integration.grants;

import io.heddle.integration.cluster.Applications;
import io.heddle.integration.cluster.Daemons;
import io.heddle.integration.cluster.MiniCluster;
import java.io.File;
import java.io.IOException;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** What jobs need of it; {@link #close} stops it. */
final class Site implements AutoCloseable {
  /** The folder of the cluster's own files. */
  final File workFolder;
  /** Of jobs. */
  final FileSystem files;
  /** The folder of the jobs' files. */
  final Path root;
  private final Supplier<Configuration> conf;
  private final Predicate<String> waits;
  private final Runnable stop;

  private Site(MiniCluster cluster) {
    stop = cluster::close;
    conf = cluster::configuration;
    workFolder = cluster.workFolder();
    files = cluster.fileSystem();
    root = new Path("/");
    waits = new Applications(cluster)::anyWaits;
  }

  private Site(Daemons cluster) throws IOException {
    stop = cluster::close;
    conf = cluster::configuration;
    workFolder = cluster.workFolder();
    files = FileSystem.getLocal(cluster.configuration());
    root = new Path(new File(workFolder, "files").toURI());
    waits = cluster::anyWaits;
  }

  static Site inProcess(String name, Map<String, String> properties) throws Exception {
    MiniCluster.Builder builder = MiniCluster.named(name);
    properties.forEach(builder::set);
    return new Site(builder.start());
  }

  static Site ofDaemons(String name, Map<String, String> properties) throws Exception {
    Daemons cluster = Daemons.start(name, properties);
    try {
      return new Site(cluster);
    } catch (Exception | Error e) {
      cluster.close();
      throw e;
    }
  }

  /** Returns a copy of the clients' configuration. */
  Configuration configuration() {
    return conf.get();
  }

  /** Returns whether a job of this user waits for a container. */
  boolean waits(String user) {
    return waits.test(user);
  }

  @Override
  public void close() {
    stop.run();
  }
}
