package io.heddle.integration.web;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One HTTP request, byte by byte as it is given: no client of a library that would tidy a path up,
 * drop a second header or log in by itself. HTTP/1.0, so that an answer ends with its connection.
 */
final class Wire {
  final int status;
  final String body;
  private final List<String> headers = new ArrayList<>();

  private Wire(String answer) {
    int end = answer.indexOf("\r\n\r\n");
    if (end < 0) {
      throw new AssertionError("no answer of HTTP: " + answer);
    }
    for (String line : answer.substring(0, end).split("\r\n")) {
      headers.add(line);
    }
    status = Integer.parseInt(headers.get(0).split(" ")[1]);
    body = answer.substring(end + 4);
  }

  /** Sends it; headers are whole lines. */
  static Wire send(String address, String method, String target, String body, String... headers)
      throws Exception {
    URI server = URI.create(address);
    try (Socket socket = new Socket(server.getHost(), server.getPort())) {
      socket.setSoTimeout(MiniManager.TIMEOUT_MS);
      StringBuilder request = new StringBuilder(method + " " + target + " HTTP/1.0\r\nHost: "
          + server.getAuthority() + "\r\n");
      for (String header : headers) {
        request.append(header).append("\r\n");
      }
      byte[] sent = body == null ? new byte[0] : body.getBytes(StandardCharsets.UTF_8);
      if (body != null) {
        request.append("Content-Type: application/json\r\nContent-Length: ").append(sent.length)
            .append("\r\n");
      }
      request.append("\r\n");
      socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
      socket.getOutputStream().write(sent);
      ByteArrayOutputStream answer = new ByteArrayOutputStream();
      InputStream in = socket.getInputStream();
      in.transferTo(answer);
      return new Wire(answer.toString("UTF-8"));
    }
  }

  /** The values of a header, one a line; empty if it is not there. */
  String header(String name) {
    StringBuilder values = new StringBuilder();
    for (String line : headers) {
      if (line.toLowerCase(Locale.ROOT).startsWith(name.toLowerCase(Locale.ROOT) + ":")) {
        values.append(line.substring(name.length() + 1).trim()).append('\n');
      }
    }
    return values.toString();
  }

  @Override
  public String toString() {
    return String.join("\n", headers) + "\n\n" + body;
  }
}
