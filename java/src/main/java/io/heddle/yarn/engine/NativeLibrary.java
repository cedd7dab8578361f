package io.heddle.yarn.engine;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.stream.Stream;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Finds libheddle.so, loads it once per JVM and refuses one of another build than this jar.
 *
 * <p>Loads the file that {@code heddle.native.path} names, else the resource of the jar. Ignores
 * {@code java.library.path}: an old copy there would shadow the one in the jar.
 *
 * <p>The schedulers of one JVM share only the loaded library; each has its engine's handle.
 */
public final class NativeLibrary {
  /** Property (yarn-site.xml or JVM) with the path of the library. */
  public static final String PATH_PROPERTY = "heddle.native.path";

  private static final Logger LOG = LoggerFactory.getLogger(NativeLibrary.class);
  private static String loadedFrom;

  private NativeLibrary() {}

  /**
   * Loads the library unless this JVM has it already.
   *
   * @param configuredPath value of {@link #PATH_PROPERTY}, null or empty if there is none
   * @throws YarnRuntimeException naming the file, the versions, and what to do
   */
  public static synchronized void load(String configuredPath) {
    if (loadedFrom != null) {
      // A ResourceManager that becomes standby makes a second scheduler in the same JVM.
      return;
    }
    String path = configuredPath != null ? configuredPath.trim() : "";
    String source = path.isEmpty() ? loadBundled() : loadFile(path);
    try {
      checkVersions(source, Native.abiVersion(), Native.version());
    } catch (UnsatisfiedLinkError e) {
      throw new YarnRuntimeException(
          source + " is not a Heddle library: " + e.getMessage() + ". Name libheddle.so of Heddle "
              + FrameLayout.BUILD_VERSION + " in " + PATH_PROPERTY
              + ", or remove the property to use the library inside the jar", e);
    }
    loadedFrom = source;
    LOG.info("Loaded {}, version {}", source, FrameLayout.BUILD_VERSION);
  }

  /**
   * Returns the path in the jar of the library for a platform.
   *
   * @param osName as in {@code os.name}
   * @param osArch as in {@code os.arch}
   * @param musl whether the C library is musl
   */
  static String resourcePath(String osName, String osArch, boolean musl) {
    String os = osName.toLowerCase(Locale.ROOT);
    String arch = osArch.toLowerCase(Locale.ROOT);
    if (os.startsWith("linux")) {
      os = musl ? "linux-musl" : "linux";
    } else if (os.startsWith("mac")) {
      os = "macos";
    } else {
      os = os.replaceAll("[^a-z0-9]+", "");
    }
    if (arch.equals("amd64") || arch.equals("x86-64")) {
      arch = "x86_64";
    } else if (arch.equals("arm64")) {
      arch = "aarch64";
    }
    String file = os.equals("macos") ? "libheddle.dylib" : "libheddle.so";
    return "/native/" + os + "-" + arch + "/" + file;
  }

  /**
   * Refuses a library of another build.
   *
   * @param source the file, for the message
   * @param abi its frame layout
   * @param version its version
   * @throws YarnRuntimeException when either differs from what this jar was generated from
   */
  static void checkVersions(String source, int abi, String version) {
    if (abi == FrameLayout.ABI_VERSION && FrameLayout.BUILD_VERSION.equals(version)) {
      return;
    }
    throw new YarnRuntimeException(
        "The native library " + source + " is Heddle " + version + " (frame layout " + abi
            + ") but the jar is Heddle " + FrameLayout.BUILD_VERSION + " (frame layout "
            + FrameLayout.ABI_VERSION + "). Take both from the same build: remove "
            + PATH_PROPERTY + " to use the library inside the jar, or point it to the right file,"
            + " then restart the ResourceManager");
  }

  private static String loadFile(String path) {
    File file = new File(path);
    if (!file.isFile() || !file.canRead()) {
      throw new YarnRuntimeException(
          PATH_PROPERTY + " names " + file.getAbsolutePath() + ", which is "
              + (file.exists() ? "not a readable file" : "missing")
              + ". Correct the path, or remove the property to use the library inside the jar");
    }
    String absolute = file.getAbsolutePath();
    try {
      System.load(absolute);
    } catch (UnsatisfiedLinkError e) {
      throw new YarnRuntimeException(
          "The native library " + absolute + " named by " + PATH_PROPERTY + " cannot be loaded: "
              + e.getMessage() + ". It must be libheddle.so of Heddle "
              + FrameLayout.BUILD_VERSION + " for " + platform(), e);
    }
    return absolute;
  }

  private static String loadBundled() {
    String resource = resourcePath(
        System.getProperty("os.name"), System.getProperty("os.arch"), hasMusl());
    Path copy;
    try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new YarnRuntimeException(
            "The Heddle jar has no native library for " + platform() + " (" + resource
                + " is missing). Use a jar built for this platform, or build libheddle.so here"
                + " and name it in " + PATH_PROPERTY);
      }
      // A unique name: another class loader of this JVM may have a copy loaded.
      copy = Files.createTempFile("libheddle-", ".so");
      Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new YarnRuntimeException(
          "Cannot unpack the native library to " + System.getProperty("java.io.tmpdir") + ": " + e
              + ". Make room there, or set java.io.tmpdir or " + PATH_PROPERTY, e);
    }
    try {
      System.load(copy.toAbsolutePath().toString());
    } catch (UnsatisfiedLinkError e) {
      throw new YarnRuntimeException(
          "The native library of the Heddle jar, unpacked to " + copy + ", cannot be loaded: "
              + e.getMessage() + ". If that folder is mounted noexec, set java.io.tmpdir to"
              + " another, or unpack libheddle.so elsewhere and name it in " + PATH_PROPERTY, e);
    } finally {
      // The mapping stays. Deleting now leaves no file behind, even after kill -9.
      deleteQuietly(copy);
    }
    return resource + " of " + jarName();
  }

  private static void deleteQuietly(Path file) {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      LOG.warn("Cannot delete the temporary copy {}: {}", file, e.toString());
    }
  }

  private static String jarName() {
    try {
      return Paths.get(
          NativeLibrary.class.getProtectionDomain().getCodeSource().getLocation().toURI())
          .toString();
    } catch (Exception e) {
      return "the Heddle jar";
    }
  }

  private static String platform() {
    return System.getProperty("os.name") + " on " + System.getProperty("os.arch")
        + (hasMusl() ? ", with musl" : "");
  }

  /** Returns whether this JVM runs on musl, which is mapped under one of two names. */
  private static boolean hasMusl() {
    // ISO 8859-1 because a path may be any bytes.
    try (Stream<String> maps =
        Files.lines(Paths.get("/proc/self/maps"), StandardCharsets.ISO_8859_1)) {
      return maps.anyMatch(line -> line.contains("/ld-musl-") || line.endsWith("/libc.so"));
    } catch (IOException | UncheckedIOException e) {
      return false;
    }
  }
}
