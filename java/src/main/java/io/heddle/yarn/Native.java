package io.heddle.yarn;

import java.nio.ByteBuffer;

/**
 * The functions of libheddle.so, as exported by rust/bridge. Declares only; the library is loaded
 * by {@link NativeLibrary}, and every call but the first two is made by {@link Engine}.
 *
 * <p>All of them throw {@link HeddleException} on errors.
 */
final class Native {
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
}
