package io.heddle.yarn.engine;

import java.nio.ByteBuffer;

/**
 * The functions of libheddle.so, as exported by rust/bridge. Declares only; the library is loaded
 * by {@link NativeLibrary}, and every call but the first two is made by {@link Engine}.
 *
 * <p>All of them throw {@link HeddleException} on errors.
 */
public final class Native {
  private Native() {}

  /** Returns the version of the frame layout; must equal {@link FrameLayout#ABI_VERSION}. */
  static native int abiVersion();

  /** Returns the version of the library; must equal {@link FrameLayout#BUILD_VERSION}. */
  static native String version();

  /**
   * Makes an engine.
   *
   * @param setupJson what {@link SetupJson} writes
   * @return a handle: a generation, not a pointer, so a stale one is refused
   */
  static native long open(String setupJson);

  /**
   * Hands over a frame of events and takes back a frame of decisions.
   *
   * @param in direct buffer, read from its start
   * @param inLength bytes of it that are the frame
   * @param out direct buffer, written from its start
   * @return bytes written
   */
  static native int step(long handle, ByteBuffer in, int inLength, ByteBuffer out);

  /** The control plane: JSON in, JSON out. */
  static native String request(long handle, long nowMs, String json);

  /** Ends an engine; closing twice throws. */
  static native void close(long handle);

  /**
   * Makes what runs beside an engine: its books and its answers over HTTP. Checks the settings;
   * touches no store before {@link #activateService}.
   *
   * @param settingsJson sections {@code api} and {@code store} of heddle.json, and
   *     {@code started_ms}
   */
  public static native long openService(String settingsJson);

  /** This ResourceManager is the active one: the store is its own from now on. Does not wait. */
  public static native void activateService(long service, String owner, long nowMs);

  /**
   * Does what is due, about once a second; never on the scheduling thread, as it may wait.
   *
   * @param engineMs the engine's clock
   * @param nowMs milliseconds since 1970
   * @return the state of the books, JSON
   */
  public static native String pumpService(long service, long engine, long engineMs, long nowMs);

  /**
   * Answers a request over HTTP; never on the scheduling thread.
   *
   * @param head JSON: method, path, query, authorization, address, user, signed_only, accept,
   *     host, jobs
   * @param body null for none
   * @return a line of JSON with status, content_type and headers, then the body
   */
  public static native byte[] serve(
      long service, long engine, long engineMs, long nowMs, String head, byte[] body);

  /**
   * Says whether a job is taken, and what it may spend; for the scheduling thread, it waits for no
   * disk.
   *
   * @param submitted JSON: user, queue, name, environment, recovering
   * @return JSON: {@code refused} with the reason, or {@code bounds}, which may be null
   */
  public static native String submit(long service, long engineMs, long nowMs, String submitted);

  /**
   * Reads what a MapReduce ApplicationMaster or a NodeManager answered; rust/service/src/replies.rs
   * says what comes of which path.
   *
   * @param path that was asked
   * @return JSON
   */
  public static native String reply(String path, byte[] text);

  /** Ends a service after a short wait for pending writes; returns the books' last state. */
  public static native String closeService(long service, long nowMs);
}
