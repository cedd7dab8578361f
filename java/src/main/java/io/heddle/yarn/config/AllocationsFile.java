package io.heddle.yarn.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;

/**
 * The allocations file of the original Fair Scheduler: where it is, and whether it has changed and
 * settled since it was last read. The engine reads its content.
 *
 * <p>Used by one thread at a time.
 */
final class AllocationsFile {
  /** Key of heddle.json with the path; goes before the property. */
  static final String KEY = "allocations_file";
  /** The property that named the file to the original scheduler. */
  static final String PROPERTY = "mapred.fairscheduler.allocation.file";
  /** A file that changed more lately than this may be half written. */
  static final long SETTLING_MS = 5_000;

  /** One more than the engine accepts, so that it can say that there is more. */
  private static final int BYTES_MAX = (1 << 20) + 1;

  private final Path path;
  private Stamp read;
  private Stamp seen;

  AllocationsFile(Path path) {
    this.path = path;
  }

  /**
   * Returns the file that a configuration names, or null; it need not be there.
   *
   * @throws IOException if what is named can be no file
   */
  static AllocationsFile named(ConfigFile config, Configuration conf) throws IOException {
    String key = config.content().path(KEY).asText("");
    String name = key.isEmpty() ? conf.getTrimmed(PROPERTY, "") : key;
    try {
      return name.isEmpty() ? null : new AllocationsFile(config.resolve(name));
    } catch (InvalidPathException e) {
      String where = key.isEmpty() ? PROPERTY : config.source() + ": key `" + KEY + "`";
      throw new IOException(where + ": expected a path, found " + name, e);
    }
  }

  Path path() {
    return path;
  }

  /**
   * Returns the text, settled or not.
   *
   * @throws IOException if there is no such file or it cannot be read
   */
  String read() throws IOException {
    read = Stamp.of(path);
    return text();
  }

  /**
   * Returns the text if it has changed since it was last read and is not being changed, else null.
   *
   * @param nowMs wall clock
   * @throws IOException as {@link #read}
   */
  String readIfChanged(long nowMs) throws IOException {
    Stamp stamp = Stamp.of(path);
    boolean still = stamp.equals(seen);
    seen = stamp;
    if (stamp.equals(read)) {
      return null;
    }
    long ageMs = nowMs - stamp.modifiedMs;
    // A date in the future comes from another machine's clock: then the file has settled if it
    // was the same at the last look.
    boolean settled = ageMs < 0 ? still : ageMs > SETTLING_MS;
    if (!settled) {
      return null;
    }
    String text = text();
    if (!stamp.equals(Stamp.of(path))) {
      return null;
    }
    read = stamp;
    return text;
  }

  /** The text that was read last was not used: it counts as changed. */
  void again() {
    read = null;
  }

  /** Bytes that are not UTF-8 become a character that the engine refuses, with its line. */
  private String text() throws IOException {
    try (InputStream in = Files.newInputStream(path)) {
      return new String(ByteStreams.toByteArray(ByteStreams.limit(in, BYTES_MAX)),
          StandardCharsets.UTF_8);
    } catch (AccessDeniedException e) {
      throw new IOException("this user may not read it", e);
    }
  }

  /** Tells one content from the next, as far as the file system does. */
  private static final class Stamp {
    private final long modifiedMs;
    private final long bytes;
    private final Object key;

    private Stamp(BasicFileAttributes attributes) {
      modifiedMs = attributes.lastModifiedTime().toMillis();
      bytes = attributes.size();
      key = attributes.fileKey();
    }

    static Stamp of(Path path) throws IOException {
      BasicFileAttributes attributes;
      try {
        attributes = Files.readAttributes(path, BasicFileAttributes.class);
      } catch (NoSuchFileException e) {
        throw new IOException("there is no such file", e);
      }
      // Reading a pipe, or a device, might never end.
      if (!attributes.isRegularFile()) {
        throw new IOException("expected a file, found a folder or a device");
      }
      return new Stamp(attributes);
    }

    @Override
    public boolean equals(Object other) {
      if (!(other instanceof Stamp)) {
        return false;
      }
      Stamp that = (Stamp) other;
      return modifiedMs == that.modifiedMs && bytes == that.bytes && Objects.equals(key, that.key);
    }

    @Override
    public int hashCode() {
      return Objects.hash(modifiedMs, bytes, key);
    }
  }
}
