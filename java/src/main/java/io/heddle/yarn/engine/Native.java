package io.heddle.yarn.engine;

import java.nio.ByteBuffer;

/**
 * The functions of libheddle.so, as exported by rust/bridge. {@link NativeLibrary} loads the
 * library and checks its version; {@link Engine} and {@link ForeignJournal} call the engine's
 * functions.
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
   * @param setupJson the text of {@link SetupJson#open}
   * @return a handle: a generation, not a pointer, so that a stale one is refused
   */
  static native long open(String setupJson);

  /**
   * Takes a frame of events and returns a frame of decisions.
   *
   * @param in direct buffer, read from its start
   * @param inLength length of the frame in bytes
   * @param out direct buffer, written from its start
   * @return bytes written
   */
  static native int step(long handle, ByteBuffer in, int inLength, ByteBuffer out);

  /** Carries out a request of the control plane: JSON in, JSON out. */
  static native String request(long handle, long nowMs, String json);

  /** Closes an engine; closing twice throws. */
  static native void close(long handle);

  /**
   * Makes the service beside an engine: its books and its answers over HTTP. Checks the settings;
   * opens no store before {@link #activateService}.
   *
   * @param settingsJson sections {@code api} and {@code store} of heddle.json, and
   *     {@code started_ms}
   */
  public static native long openService(String settingsJson);

  /** Makes this ResourceManager the owner of the store, because it is active. Does not wait. */
  public static native void activateService(long service, String owner, long nowMs);

  /**
   * Does due work. Call it about once a second, and not on the scheduling thread: it may wait.
   *
   * @param engineMs the engine's clock
   * @param nowMs milliseconds since 1970
   * @return the state of the books, JSON
   */
  public static native String pumpService(long service, long engine, long engineMs, long nowMs);

  /**
   * Answers an HTTP request. Not for the scheduling thread: it may wait.
   *
   * @param head JSON: method, path, query, authorization, address, user, signed_only, accept,
   *     host; for the configuration also config_file and below; for requests about jobs also
   *     names_later, then jobs and nodes_mark if names are wanted, and nodes if they are
   * @param body null for none
   * @return a line of JSON with status, content_type, headers and log, then the body; or one with
   *     names_wanted or nodes_wanted
   */
  public static native byte[] serve(
      long service, long engine, long engineMs, long nowMs, String head, byte[] body);

  /**
   * Checks a submission and returns what the job may spend. For the scheduling thread: it waits for
   * no disk.
   *
   * @param submitted JSON: user, queue, name, environment, recovering, and hints if wanted
   * @return JSON: {@code refused} with the reason, or {@code bounds}, which may be null, and hints
   */
  public static native String submit(long service, long engineMs, long nowMs, String submitted);

  /**
   * Reads the answer of a MapReduce ApplicationMaster or a NodeManager. The result depends on the
   * path; see rust/host/src/replies.rs.
   *
   * @param path the path of the request
   * @return JSON
   */
  public static native String reply(String path, byte[] text);

  /**
   * Answers a question that needs no engine; rust/host/src/ask.rs lists the questions.
   *
   * @param question JSON with {@code op}
   */
  public static native byte[] ask(String question);

  /**
   * Weighs the load of processes outside YARN in a node's heartbeat, as rust/host/src/foreign.rs
   * describes. Processors are those of the machine; vcores are YARN's.
   *
   * @param told the load that the engine was told last, in thousandths; negative for none
   * @param machineMb 0 if the machine does not say
   * @return the load to tell now, or a negative number for nothing to tell
   */
  public static native int foreignLoad(int told, long nodeMb, float nodeProcessors,
      long containersMb, float containersVcores, long machineMb, int machineProcessors,
      long capacityMb, int capacityVcores);

  /** Closes a service after a short wait for pending writes; returns the books' last state. */
  public static native String closeService(long service, long nowMs);
}
