/*
 * Hadoop's site files of a cluster, for a process of its own.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/** Writes them into a folder, which the process has on its class path. */
public final class SiteFiles {
  private SiteFiles() {}

  /** Writes what is set. The defaults are left out: another Hadoop in the process has its own. */
  public static void write(Configuration conf, Path folder) throws IOException {
    Configuration set = new Configuration(false);
    for (Map.Entry<String, String> property : conf) {
      String[] sources = conf.getPropertySources(property.getKey());
      if (sources == null || !sources[sources.length - 1].endsWith("-default.xml")) {
        set.set(property.getKey(), property.getValue());
      }
    }
    Files.createDirectories(folder);
    // Each site file is read after some defaults, and overrides only those.
    for (String part : new String[] {"core", "hdfs", "yarn", "mapred"}) {
      try (OutputStream out = Files.newOutputStream(folder.resolve(part + "-site.xml"))) {
        set.writeXml(out);
      }
    }
  }
}
