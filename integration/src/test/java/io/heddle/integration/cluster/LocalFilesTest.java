package io.heddle.integration.cluster;

import static org.junit.Assert.assertEquals;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Both of Hadoop's interfaces to local files set permissions as asked. */
public class LocalFilesTest {
  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  @Test
  public void bothInterfacesSetPermissions() throws Exception {
    LocalFiles.use();
    FileSystem files = FileSystem.getLocal(new Configuration());
    assertEquals(LocalFiles.class, files.getClass());
    Path one = new Path(folder.getRoot().getPath(), "one");
    FileSystem.mkdirs(files, one, permission(01770));
    assertEquals("rwxrwx---", permissions(one));
    assertEquals(01770, files.getFileStatus(one).getPermission().toShort());

    FileContext context = FileContext.getLocalFSFileContext();
    assertEquals(LocalFiles.Context.class, context.getDefaultFileSystem().getClass());
    Path two = new Path(one, "two");
    context.mkdir(two, permission(0777), false);
    context.setPermission(two, permission(0510));
    assertEquals("r-x--x---", permissions(two));
  }

  private static FsPermission permission(int mode) {
    return new FsPermission((short) mode);
  }

  private static String permissions(Path path) throws Exception {
    return PosixFilePermissions.toString(
        Files.getPosixFilePermissions(Paths.get(path.toUri().getPath())));
  }
}
