package io.heddle.yarn.compat;

import java.io.IOException;
import java.io.InputStream;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.jar.Attributes;
import java.util.jar.Manifest;
import org.apache.hadoop.yarn.exceptions.YarnRuntimeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Refuses a class path with two different Heddle jars: a class that only one of them has would run
 * with classes of the other. The same jar twice does no harm.
 */
final class JarCheck {
  private static final Logger LOG = LoggerFactory.getLogger(JarCheck.class);
  private static final int BUFFER_BYTES = 1 << 16;

  private JarCheck() {}

  /**
   * Looks for a class wherever the class path has it.
   *
   * @throws YarnRuntimeException naming the jars and their versions
   */
  static void run(ClassLoader loader, Class<?> ours) {
    Map<ByteBuffer, String> places = new LinkedHashMap<>();
    try {
      for (URL url : Collections.list(
          loader.getResources(ours.getName().replace('.', '/') + ".class"))) {
        URLConnection found = url.openConnection();
        // A cached jar would stay open.
        found.setUseCaches(false);
        String place = url.toString();
        URL content = url;
        if (found instanceof JarURLConnection) {
          content = ((JarURLConnection) found).getJarFileURL();
          place = content.getPath() + " (Heddle " + version((JarURLConnection) found) + ")";
        }
        places.putIfAbsent(digest(content), place);
      }
    } catch (IOException e) {
      LOG.warn("Cannot check whether the class path has two Heddle jars", e);
      return;
    }
    if (places.size() > 1) {
      throw new YarnRuntimeException("The class path has different Heddle jars: "
          + String.join(" and ", places.values())
          + ". Remove all but one, then restart the ResourceManager");
    }
  }

  private static String version(JarURLConnection jar) throws IOException {
    Manifest manifest = jar.getManifest();
    String version = manifest == null ? null
        : manifest.getMainAttributes().getValue(Attributes.Name.IMPLEMENTATION_VERSION);
    return version == null ? "of unknown version" : version;
  }

  private static ByteBuffer digest(URL content) throws IOException {
    MessageDigest digest;
    try {
      digest = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
    byte[] buffer = new byte[BUFFER_BYTES];
    try (InputStream in = content.openStream()) {
      for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
        digest.update(buffer, 0, read);
      }
    }
    return ByteBuffer.wrap(digest.digest());
  }
}
