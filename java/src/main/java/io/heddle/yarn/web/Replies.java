package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;
import javax.servlet.http.HttpServletResponse;

/** Sends whole answers: each is complete before its first byte leaves. */
final class Replies {
  private static final ObjectMapper JSON = new ObjectMapper();

  private Replies() {}

  /** Sends a sentence for people, in ASCII. */
  static void sentence(HttpServletResponse response, int status, String text)
      throws IOException {
    byte[] line = (text + "\n").getBytes(StandardCharsets.US_ASCII);
    response.setStatus(status);
    response.setContentType("text/plain;charset=utf-8");
    response.setContentLength(line.length);
    try {
      response.getOutputStream().write(line);
    } catch (IllegalStateException e) {
      // A handler that failed had taken the writer, so the stream is no longer available.
      response.getWriter().print(text + "\n");
    }
  }

  /** Returns the line of JSON before the body of an answer. */
  static JsonNode head(byte[] answer) throws IOException {
    return JSON.readTree(Arrays.copyOf(answer, end(answer)));
  }

  private static int end(byte[] answer) {
    int end = 0;
    while (answer[end] != '\n') {
      end++;
    }
    return end;
  }

  /**
   * Sends an answer of the library; to HEAD the server sends no body.
   *
   * @param answer a line of JSON with status, content_type and headers, then the body
   * @param first gets that line before anything is sent
   */
  static void send(HttpServletResponse response, byte[] answer, Consumer<JsonNode> first)
      throws IOException {
    int end = end(answer);
    JsonNode head = head(answer);
    first.accept(head);
    response.setStatus(head.path("status").asInt());
    response.setContentType(head.path("content_type").asText());
    for (JsonNode header : head.path("headers")) {
      response.setHeader(header.path(0).asText(), header.path(1).asText());
    }
    response.setContentLength(answer.length - end - 1);
    response.getOutputStream().write(answer, end + 1, answer.length - end - 1);
  }
}
