package io.heddle.yarn.compat;

import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import io.heddle.yarn.HeddleScheduler;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.ZipEntry;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;

/** Tests class paths with more than one Heddle jar. */
public class JarCheckTest {
  @Rule
  public final TemporaryFolder folder = new TemporaryFolder();

  private Path jar(String name, String version) throws IOException {
    Path path = folder.getRoot().toPath().resolve(name);
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.IMPLEMENTATION_VERSION, version);
    try (OutputStream out = Files.newOutputStream(path);
        JarOutputStream jar = new JarOutputStream(out, manifest)) {
      jar.putNextEntry(new ZipEntry("io/heddle/yarn/HeddleScheduler.class"));
      jar.write(1);
      jar.closeEntry();
    }
    return path;
  }

  private static void check(Path... jars) throws IOException {
    URL[] urls = new URL[jars.length];
    for (int i = 0; i < jars.length; i++) {
      urls[i] = jars[i].toUri().toURL();
    }
    try (URLClassLoader loader = new URLClassLoader(urls, null)) {
      JarCheck.run(loader, HeddleScheduler.class);
    }
  }

  @Test
  public void differentJarsAreRefusedByName() throws IOException {
    Path old = jar("heddle-old.jar", "0.9.0");
    Path young = jar("heddle-new.jar", "1.0.0");
    String message =
        assertThrows(YarnRuntimeException.class, () -> check(old, young)).getMessage();
    assertTrue(message, message.contains(old + " (Heddle 0.9.0) and " + young + " (Heddle 1.0.0)"));
  }

  @Test
  public void oneJarMayBeThereTwice() throws IOException {
    Path jar = jar("heddle.jar", "1.0.0");
    Path copy = Files.copy(jar, folder.getRoot().toPath().resolve("copy.jar"));
    check(jar);
    check(jar, copy);
  }
}
