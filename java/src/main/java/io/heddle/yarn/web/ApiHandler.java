package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.SetupJson;
import java.io.EOFException;
import java.io.IOException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;

/**
 * Hands requests to the library and its answers back: path and query as they were sent, since
 * signatures cover them, and a body of bounded length. Decides nothing.
 */
public final class ApiHandler implements WebHandler {
  /** One byte more than the library takes of a body: then it says that it is too long. */
  private static final int BODY_BYTES_READ = (16 << 10) + 1;
  private static final String AUTHORIZATION = "Authorization";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Library library;
  private final Names names;

  /** Answers requests. */
  public interface Library {
    /**
     * Answers one request.
     *
     * @param head JSON: method, path, query, authorization, address, user, signed_only, accept,
     *     host, jobs, nodes
     * @return a line of JSON with status, content_type, headers and log, then the body
     * @throws HeddleException while there is no engine to answer
     */
    byte[] serve(String head, byte[] body);

    /** Logs the lines in {@code log} of an answer's head. */
    void log(JsonNode head);
  }

  /** Knows the names of jobs and nodes. */
  public interface Names {
    /**
     * Returns the names of the jobs that a request may be about: lists of number, application,
     * user and name; null if it is about none.
     */
    ArrayNode of(String path, String query);

    /** Returns the names of all nodes: lists of number, name and since when it has that number. */
    ArrayNode nodes();
  }

  public ApiHandler(Library library, Names names) {
    this.library = library;
    this.names = names;
  }

  @Override
  public void handle(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    answer(request, response, false);
  }

  @Override
  public boolean handleSigned(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    // Only a choice of who shall refuse: what looks signed is refused by the library, what does not
    // is the other filters' business.
    String authorization = request.getHeader(AUTHORIZATION);
    if (authorization == null
        || !SetupJson.ask("signed", "authorization", authorization).asBoolean()) {
      return false;
    }
    answer(request, response, true);
    return true;
  }

  private void answer(HttpServletRequest request, HttpServletResponse response,
      boolean signedOnly) throws IOException {
    byte[] body;
    try {
      body = ByteStreams.toByteArray(
          ByteStreams.limit(request.getInputStream(), BODY_BYTES_READ));
    } catch (EOFException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      // The web server's own parser of chunks throws either.
      Replies.sentence(response, HttpServletResponse.SC_BAD_REQUEST,
          "The body of the request cannot be read; expected one as its headers say.");
      return;
    }
    byte[] answer;
    try {
      answer = library.serve(head(request, signedOnly), body);
    } catch (HeddleException e) {
      Replies.sentence(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE,
          "The scheduler cannot answer at this moment; try again in a few seconds.");
      return;
    }
    // The log first: a process may be killed at any moment, so before the sender hears of a change.
    Replies.send(response, answer, library::log);
  }

  private String head(HttpServletRequest request, boolean signedOnly) {
    ObjectNode head = JSON.createObjectNode();
    head.put("method", request.getMethod());
    head.put("path", request.getRequestURI());
    head.put("query", request.getQueryString());
    head.put("authorization", request.getHeader(AUTHORIZATION));
    head.put("address", request.getRemoteAddr());
    head.put("user", request.getRemoteUser());
    head.put("signed_only", signedOnly);
    head.put("accept", request.getHeader("Accept"));
    head.put("host", request.getServerName());
    ArrayNode jobs = names.of(request.getRequestURI(), request.getQueryString());
    if (jobs != null) {
      head.set("jobs", jobs);
      // Which of them an answer about jobs speaks of, only the answer tells.
      head.set("nodes", names.nodes());
    }
    return head.toString();
  }
}
