package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.SetupJson;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;

/**
 * A followed file, such as the allocations file: its place, and its state when the library read it
 * last. The library tells whether it has changed and settled, and reads it if it is on this
 * machine.
 *
 * <p>Its monitor is held while the file is read.
 */
final class FollowedFile {
  private final String name;
  private final boolean stock;
  // On one of Hadoop's file systems; null if on this machine.
  private final Path remote;
  private final FileSystem system;
  // The state of the file when the library read it last; null before.
  private JsonNode state;
  private String complaint = "";

  private FollowedFile(String name, boolean stock, Path remote, FileSystem system) {
    this.name = name;
    this.stock = stock;
    this.remote = remote;
    this.system = system;
  }

  /** Returns the original Fair Scheduler's file of allocations. */
  static FollowedFile allocations(String path) {
    return new FollowedFile(path, false, null, null);
  }

  /** Returns a stock scheduler's file on this machine. */
  static FollowedFile stock(String path) {
    return new FollowedFile(path, true, null, null);
  }

  /**
   * Returns a stock scheduler's file on one of Hadoop's file systems.
   *
   * @throws IOException if there is no such file system
   */
  static FollowedFile stock(String uri, Configuration conf) throws IOException {
    try {
      Path path = new Path(uri);
      return new FollowedFile(uri, true, path, path.getFileSystem(conf));
    } catch (IllegalArgumentException e) {
      throw new IOException(uri + ": " + e.getMessage(), e);
    }
  }

  /** Returns where it is, for messages. */
  String name() {
    return name;
  }

  /**
   * Returns the text, settled or not.
   *
   * @throws IOException with its name, if there is no such file or it cannot be read
   */
  String read() throws IOException {
    return look(null);
  }

  /**
   * Returns the text if it has changed since it was last read and is not being changed, else null.
   *
   * @param nowMs wall clock
   * @throws IOException as {@link #read}
   */
  String readIfChanged(long nowMs) throws IOException {
    return look(nowMs);
  }

  private synchronized String look(Long nowMs) throws IOException {
    try {
      return remote == null ? lookHere(nowMs) : lookElsewhere(nowMs);
    } catch (IOException e) {
      throw new IOException(name + ": " + e.getMessage(), e);
    }
  }

  private String lookHere(Long nowMs) throws IOException {
    JsonNode answer = SetupJson.ask(
        "file", "path", name, "stock", stock, "now_ms", nowMs, "state", state);
    state = answer.path("state");
    if (answer.has("wrong")) {
      throw new IOException(answer.path("wrong").asText());
    }
    return answer.path("text").textValue();
  }

  private String lookElsewhere(Long nowMs) throws IOException {
    FileStatus status;
    try {
      status = system.getFileStatus(remote);
    } catch (FileNotFoundException e) {
      throw new IOException("there is no such file", e);
    }
    JsonNode answer = SetupJson.ask("file", "modified_ms", status.getModificationTime(),
        "bytes", status.getLen(), "stock", stock, "now_ms", nowMs, "state", state);
    state = answer.path("state");
    if (!answer.path("bytes").isNumber()) {
      return null;
    }
    try (InputStream in = system.open(remote)) {
      byte[] bytes = ByteStreams.toByteArray(
          ByteStreams.limit(in, answer.path("bytes").asLong()));
      JsonNode text = SetupJson.ask(
          "decode", SetupJson.object().put("stock", stock).put("bytes", bytes));
      if (text.has("wrong")) {
        throw new IOException(text.path("wrong").asText());
      }
      return text.path("text").textValue();
    } catch (IOException e) {
      again();
      throw e;
    }
  }

  /** Makes the text that was read last count as changed, because it was not used. */
  synchronized void again() {
    ((ObjectNode) state).remove("read");
  }

  /** Returns whether a complaint differs from the last about the file; empty for none. */
  synchronized boolean isNews(String complaintNow) {
    boolean news = !complaintNow.equals(complaint);
    complaint = complaintNow;
    return news;
  }
}
