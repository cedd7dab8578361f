/*
 * Hadoop's local file system, which sets permissions by a system call. Without its native library,
 * which is in no jar, Hadoop runs chmod instead: some thirty times for a container, a tenth of all
 * processor time of a cluster here.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;

/** Takes the place of {@code file:} in a JVM; Hadoop makes the objects. */
public final class LocalFiles extends LocalFileSystem {
  /** Called by Hadoop. */
  public LocalFiles() {
    super(new Raw());
  }

  /**
   * Makes it the default of this JVM's clusters, and of their tasks. A default, because parts of a
   * NodeManager read no configuration except those.
   */
  static void use() {
    Configuration.addDefaultResource("local-files-default.xml");
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      Files.setAttribute(pathToFile(path).toPath(), "unix:mode", (int) permission.toShort());
    }
  }

  /** The same for {@link org.apache.hadoop.fs.FileContext}. */
  public static final class Context extends ChecksumFs {
    /** Called by Hadoop. */
    public Context(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(new RawContext(uri, conf));
    }
  }

  private static final class RawContext extends DelegateToFileSystem {
    RawContext(URI uri, Configuration conf) throws IOException, URISyntaxException {
      super(uri, new Raw(), conf, uri.getScheme(), false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    @Override
    public FsServerDefaults getServerDefaults(Path path) throws IOException {
      return LocalConfigKeys.getServerDefaults();
    }

    /** Any name is valid in the local file system. */
    @Override
    public boolean isValidName(String name) {
      return true;
    }
  }
}
