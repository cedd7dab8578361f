package io.heddle.yarn.web;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.engine.HeddleException;
import io.heddle.yarn.engine.SetupJson;
import java.io.EOFException;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;

/**
 * Hands requests to the library and its answers back: path and query as they were sent, since
 * signatures cover them, and a body of bounded length. Decides nothing.
 */
public final class ApiHandler implements WebHandler {
  /** One byte more than the library's limit for a body, so that it can refuse a longer one. */
  private static final int BODY_BYTES_READ = (1 << 20) + 1;
  /** Below it are the routes that change the configuration. */
  private static final String CONFIGURATION = "/heddle/v1/configuration/";
  private static final String PLAN = "/heddle/v1/plan";
  private static final String IN_FORCE = "/heddle/v1/configuration";
  private static final String HEALTH = "/heddle/v1/health";
  private static final String CONSOLE = "/heddle/";
  private static final String NAMES_LATER = "names_later";
  private static final String NODES_MARK = "nodes_mark";
  private static final String AUTHORIZATION = "Authorization";

  private final Library library;
  private final Names names;
  private final ConfigurationFile configuration;
  /** Held from the writing of a configuration to the end of its reload. */
  private final Lock changing = new ReentrantLock();

  /** Answers requests. */
  public interface Library {
    /**
     * Answers one request.
     *
     * @param head JSON: method, path, query, authorization, address, user, signed_only, accept,
     *     host, config_file, warnings, managers, below, names_later, jobs, viewed, nodes,
     *     nodes_mark
     * @return a line of JSON with status, content_type, headers and log, then the body;
     *     {@code reload} has a change of the configuration that is written and not reloaded yet;
     *     {@code names_wanted} and {@code nodes_wanted} say that nothing was done: the sender is
     *     somebody, and names were left for later, or it has no nodes of that mark
     * @throws HeddleException while there is no engine to answer
     */
    byte[] serve(String head, byte[] body);

    /**
     * Answers a change that was written to the configuration and then reloaded. Takes it back if
     * there is a problem.
     *
     * @param written as the first answer's head had it
     * @param problem why it was refused, or null
     * @return as {@link #serve}
     */
    byte[] reloaded(JsonNode written, String problem);

    /** Logs the lines in {@code log} of an answer's head. */
    void log(JsonNode head);
  }

  /** Knows the names of jobs and nodes. */
  public interface Names {
    /** Returns whether a request is about jobs or nodes. */
    boolean concern(String path);

    /**
     * Returns the names of the jobs that a request may be about: lists of number, application,
     * user and name.
     */
    ArrayNode of(String path);

    /**
     * Returns the numbers of those of the jobs that YARN's access control lets the web server's
     * user view; null while that is off, because then it lets everybody view all.
     */
    ArrayNode viewed(ArrayNode jobs, HttpServletRequest request);

    /** Returns all nodes: number, name, time of that number, rack, label and why it is aside. */
    ArrayNode nodes();

    /** Returns a text that almost surely differs whenever {@link #nodes} does. */
    String nodesMark();
  }

  /** The configuration in force. */
  public interface ConfigurationFile {
    /** Returns the name of heddle.json; null if there is none, or none that is a file. */
    String name();

    /** Returns the warnings about it. */
    List<String> warnings();

    /** Returns the web servers of all ResourceManagers; none without high availability. */
    List<String> managers();

    /** Returns the stock scheduler's file that heddle.json lies over, as it was read; else null. */
    ObjectNode below();

    /**
     * Reads the configuration again, as {@code yarn rmadmin -refreshQueues} does.
     *
     * @throws IOException if it is refused; then the one in force stays
     */
    void reload() throws IOException;
  }

  public ApiHandler(Library library, Names names, ConfigurationFile configuration) {
    this.library = library;
    this.names = names;
    this.configuration = configuration;
  }

  @Override
  public void handle(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    answer(request, response, false);
  }

  @Override
  public boolean handleSigned(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    // Only chooses which side refuses: the library judges a request that looks signed, the other
    // filters judge the rest.
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
      answer = serve(request, signedOnly, body);
    } catch (HeddleException e) {
      Replies.sentence(response, HttpServletResponse.SC_SERVICE_UNAVAILABLE,
          "The scheduler cannot answer at this moment; try again in a few seconds.");
      return;
    }
    // Logs first: the process may be killed at any moment, and a sender must not hear of a change
    // that no log has.
    Replies.send(response, answer, library::log);
  }

  private byte[] serve(HttpServletRequest request, boolean signedOnly, byte[] body)
      throws IOException {
    ObjectNode head = head(request, signedOnly);
    if (!request.getRequestURI().startsWith(CONFIGURATION)) {
      byte[] answer = library.serve(head.toString(), body);
      if (head.has(NAMES_LATER) && Replies.head(answer).has("names_wanted")) {
        head.remove(NAMES_LATER);
        addNames(head, request);
        answer = library.serve(head.toString(), body);
      }
      if (!head.has(NODES_MARK) || !Replies.head(answer).has("nodes_wanted")) {
        return answer;
      }
      head.set("nodes", names.nodes());
      if (!names.nodesMark().equals(head.path(NODES_MARK).asText())) {
        // They changed meanwhile, so the library must not keep them under that mark.
        head.remove(NODES_MARK);
      }
      return library.serve(head.toString(), body);
    }
    changing.lock();
    try {
      byte[] answer = library.serve(head.toString(), body);
      JsonNode written = Replies.head(answer).path("reload");
      return written.isMissingNode() ? answer : library.reloaded(written, problem());
    } finally {
      changing.unlock();
    }
  }

  /** Reloads the configuration; returns what is wrong with it, or null. */
  private String problem() {
    try {
      configuration.reload();
      return null;
    } catch (IOException | RuntimeException e) {
      return String.valueOf(e.getMessage());
    } catch (Error e) {
      // The written file must be taken back after an Error too.
      return e.toString();
    }
  }

  private ObjectNode head(HttpServletRequest request, boolean signedOnly) {
    ObjectNode head = SetupJson.object();
    head.put("method", request.getMethod());
    head.put("path", request.getRequestURI());
    head.put("query", request.getQueryString());
    head.put("authorization", request.getHeader(AUTHORIZATION));
    head.put("address", request.getRemoteAddr());
    head.put("user", request.getRemoteUser());
    head.put("signed_only", signedOnly);
    head.put("accept", request.getHeader("Accept"));
    head.put("host", request.getServerName());
    head.put("config_file", configuration.name());
    String path = request.getRequestURI();
    if (path.equals(HEALTH) || path.equals(IN_FORCE)) {
      configuration.warnings().forEach(head.putArray("warnings")::add);
    }
    if (path.equals(HEALTH) || path.equals(CONSOLE)) {
      configuration.managers().forEach(head.putArray("managers")::add);
    }
    // Only these need the file below, which may be long; pages poll the others.
    if (!"GET".equals(request.getMethod())
        && (path.startsWith(CONFIGURATION) || path.startsWith(PLAN))) {
      head.set("below", configuration.below());
    }
    if (names.concern(path)) {
      // Jobs and rights are looked up once the library has checked the signature.
      head.put(NAMES_LATER, true);
    }
    return head;
  }

  private void addNames(ObjectNode head, HttpServletRequest request) {
    ArrayNode jobs = names.of(request.getRequestURI());
    head.set("jobs", jobs);
    ArrayNode viewed = names.viewed(jobs, request);
    if (viewed != null) {
      head.set("viewed", viewed);
    }
    // An answer about jobs may name any node, so the library gets all nodes, once per mark.
    head.put(NODES_MARK, names.nodesMark());
  }
}
