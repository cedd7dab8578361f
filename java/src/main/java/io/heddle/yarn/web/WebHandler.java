package io.heddle.yarn.web;

import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/**
 * Answers requests at or below {@code /heddle} and {@code /scheduler}, on the web threads of the
 * active ResourceManager.
 *
 * <p>Before {@link #handle} the filters that the operator configured have run:
 * {@code getRemoteUser()} is the sender that they found; without security, the one that the request
 * claims. Hadoop's filter against forged cross-site requests comes later in the chain and has
 * <em>not</em> run, so a handler that changes anything checks for itself that a request was meant.
 * Parameters arrive with the special characters of HTML quoted, as Hadoop does it for every page;
 * the query string as it was sent.
 *
 * <p>Whatever is thrown is logged and answered with status 500, unless the answer has begun.
 */
public interface WebHandler {
  /** Answers one request, whatever its method. */
  void handle(HttpServletRequest request, HttpServletResponse response) throws IOException;

  /**
   * Answers a request that no filter has authenticated, if it claims to be signed. A wrong
   * signature gets status 401 here.
   *
   * @return false if it says no such thing: nothing was read or written, and it goes on, untouched,
   *     to whatever the operator has configured
   */
  default boolean handleSigned(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    return false;
  }
}
