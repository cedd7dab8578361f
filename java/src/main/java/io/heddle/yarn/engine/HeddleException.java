package io.heddle.yarn.engine;

/**
 * An error of the native library: a code of {@link FrameLayout} and a message. The bridge makes it
 * through this constructor; in Java only {@link Engine} throws it, without an engine to ask.
 */
public final class HeddleException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int code;

  /**
   * Called from the native library.
   *
   * @param code one of the negative codes of {@link FrameLayout}
   * @param message what went wrong, where, and what was expected
   */
  public HeddleException(int code, String message) {
    super(message);
    this.code = code;
  }

  /** Returns one of the negative codes of {@link FrameLayout}. */
  public int code() {
    return code;
  }

  /** Returns whether the engine behind the handle is lost and must be replaced. */
  boolean engineLost() {
    return code == FrameLayout.ENGINE_FAILED
        || code == FrameLayout.PANIC
        || code == FrameLayout.BAD_HANDLE;
  }
}
