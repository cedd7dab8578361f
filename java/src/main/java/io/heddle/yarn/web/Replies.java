package io.heddle.yarn.web;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** Sends whole answers: what is sent was complete before its first byte left. */
final class Replies {
  private static final String READS = "GET, HEAD, OPTIONS";

  private Replies() {}

  /** Whether a request only reads; any other is answered here. */
  static boolean isRead(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    String method = request.getMethod();
    if ("GET".equals(method) || "HEAD".equals(method)) {
      return true;
    }
    response.setHeader("Allow", READS);
    if ("OPTIONS".equals(method)) {
      send(response, HttpServletResponse.SC_OK, "text/plain;charset=utf-8", new byte[0]);
    } else {
      sentence(response, HttpServletResponse.SC_METHOD_NOT_ALLOWED,
          "This address can only be read: " + READS + ".");
    }
    return false;
  }

  /** Sends a sentence for people, in ASCII. */
  static void sentence(HttpServletResponse response, int status, String text)
      throws IOException {
    byte[] line = (text + "\n").getBytes(StandardCharsets.US_ASCII);
    try {
      send(response, status, "text/plain;charset=utf-8", line);
    } catch (IllegalStateException e) {
      // A handler that failed had taken the writer; there is no giving it back.
      response.getWriter().print(text + "\n");
    }
  }

  /** Says that there is nothing to tell yet. */
  static void notYet(HttpServletResponse response) throws IOException {
    response.setHeader("Retry-After", "1");
    sentence(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE,
        "The scheduler is starting and knows no queue yet. Ask again in a moment.");
  }

  /** Sends an answer; of HEAD the server keeps the body back. */
  static void send(HttpServletResponse response, int status, String contentType, byte[] body)
      throws IOException {
    response.setStatus(status);
    response.setContentType(contentType);
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }
}
