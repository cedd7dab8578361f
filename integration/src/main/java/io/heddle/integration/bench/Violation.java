/*
 * A fault of a scheduler that the bench found while driving it. Bad options or a broken set-up are
 * ordinary exceptions.
 */
package io.heddle.integration.bench;

/** Thrown when a scheduler breaks a rule; the message says which, and where. */
final class Violation extends RuntimeException {
  private static final long serialVersionUID = 1L;

  Violation(String what) {
    super(what);
  }

  Violation(String what, Throwable cause) {
    super(what, cause);
  }
}
