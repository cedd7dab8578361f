package io.heddle.yarn.engine;

/**
 * An error of the native library: a code of {@link FrameLayout} and a text for people.
 *
 * <p>Made by the bridge through this constructor; nothing in Java throws it.
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

  /** Whether the engine behind the handle is lost, so that only a new one helps. */
  boolean engineLost() {
    return code == FrameLayout.ENGINE_FAILED
        || code == FrameLayout.PANIC
        || code == FrameLayout.BAD_HANDLE;
  }
}
