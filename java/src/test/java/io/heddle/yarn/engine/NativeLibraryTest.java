package io.heddle.yarn.engine;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.junit.Test;

/** Tests how the native library is found, and the errors for a wrong one. */
public class NativeLibraryTest {
  @Test
  public void everyPlatformHasOnePath() {
    assertEquals("/native/linux-x86_64/libheddle.so",
        NativeLibrary.resourcePath("Linux", "amd64", false));
    assertEquals("/native/linux-x86_64/libheddle.so",
        NativeLibrary.resourcePath("linux", "x86_64", false));
    assertEquals("/native/linux-musl-x86_64/libheddle.so",
        NativeLibrary.resourcePath("Linux", "amd64", true));
    assertEquals("/native/linux-aarch64/libheddle.so",
        NativeLibrary.resourcePath("Linux", "aarch64", false));
    assertEquals("/native/macos-aarch64/libheddle.dylib",
        NativeLibrary.resourcePath("Mac OS X", "arm64", false));
    assertEquals("/native/windows11-x86_64/libheddle.so",
        NativeLibrary.resourcePath("Windows 11", "amd64", false));
  }

  @Test
  public void aLibraryOfAnotherBuildIsRefusedWithBothVersions() {
    NativeLibrary.checkVersions("lib", FrameLayout.ABI_VERSION, FrameLayout.BUILD_VERSION);
    Object[][] cases = {
        {FrameLayout.ABI_VERSION + 1, FrameLayout.BUILD_VERSION},
        {FrameLayout.ABI_VERSION, "0.0.9"}, {FrameLayout.ABI_VERSION, null},
    };
    for (Object[] each : cases) {
      try {
        NativeLibrary.checkVersions("/opt/libheddle.so", (int) each[0], (String) each[1]);
        fail("accepted " + each[0] + " " + each[1]);
      } catch (YarnRuntimeException e) {
        String text = e.getMessage();
        assertTrue(text, text.contains("/opt/libheddle.so"));
        assertTrue(text, text.contains(String.valueOf(each[1])));
        assertTrue(text, text.contains(FrameLayout.BUILD_VERSION));
        assertTrue("what to do: " + text, text.contains(NativeLibrary.PATH_PROPERTY));
      }
    }
  }

  /** Loads in a separate JVM, because this one may already have the right library. */
  public static final class Loader {
    private Loader() {}

    /** Loads the library and prints the result. */
    public static void main(String[] arguments) {
      try {
        NativeLibrary.load(arguments.length > 0 ? arguments[0] : null);
        System.out.println("loaded " + Native.version());
      } catch (YarnRuntimeException e) {
        System.out.println(e.getMessage());
      }
    }
  }

  private static String load(String... arguments) throws Exception {
    java.util.List<String> command = new java.util.ArrayList<>(java.util.Arrays.asList(
        System.getProperty("java.home") + "/bin/java", "-cp",
        System.getProperty("java.class.path"), Loader.class.getName()));
    command.addAll(java.util.Arrays.asList(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    java.io.ByteArrayOutputStream text = new java.io.ByteArrayOutputStream();
    byte[] chunk = new byte[4096];
    for (int n = process.getInputStream().read(chunk); n >= 0;
        n = process.getInputStream().read(chunk)) {
      text.write(chunk, 0, n);
    }
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return text.toString("UTF-8");
  }

  @Test
  public void aMissingFileIsNamed() throws Exception {
    String text = load("/no/such/libheddle.so");
    assertTrue(text, text.contains("/no/such/libheddle.so"));
    assertTrue(text, text.contains("missing"));
    assertTrue(text, text.contains(NativeLibrary.PATH_PROPERTY));
  }

  @Test
  public void aFileThatIsNoLibraryIsNamed() throws Exception {
    File file = File.createTempFile("libheddle", ".so");
    try {
      Files.write(file.toPath(), "not a library".getBytes("UTF-8"));
      String text = load(file.getPath());
      assertTrue(text, text.contains(file.getPath()));
      assertTrue(text, text.contains(FrameLayout.BUILD_VERSION));
    } finally {
      Files.delete(file.toPath());
    }
  }

  @Test
  public void aLibraryWithoutOurNativesIsRefused() throws Exception {
    // Any other library; a copy, because the JVM has the original loaded.
    File copy = File.createTempFile("libother", ".so");
    try {
      Files.copy(new File(System.getProperty("sun.boot.library.path"), "libzip.so").toPath(),
          copy.toPath(), java.nio.file.StandardCopyOption.REPLACE_EXISTING);
      String text = load(copy.getPath());
      assertTrue(text, text.contains(copy.getPath()));
      assertTrue(text, text.contains("not a Heddle library"));
    } finally {
      Files.delete(copy.toPath());
    }
  }
}
