/*
 * A fault that the bench found in a scheduler while it was driving it.
 * Not for bad options or a broken set-up: those are ordinary exceptions.
 */
package io.heddle.integration.bench;

/** A scheduler did what no scheduler may do; the text says what, and where. */
final class Violation extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Violation(String what) {
    super(what);
  }

  Violation(String what, Throwable cause) {
    super(what, cause);
  }
}
