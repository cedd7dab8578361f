package io.heddle.yarn.web;

import io.heddle.yarn.engine.Native;
import io.heddle.yarn.engine.SetupJson;
import io.heddle.yarn.queues.QueueReports;
import java.io.EOFException;
import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.atomic.AtomicLong;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.ha.HAServiceProtocol.HAServiceState;
import org.apache.hadoop.util.Time;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ResourceScheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers some paths of the ResourceManager's web server for the scheduler. Passes everything else
 * on, untouched, so that other pages work however broken this is.
 *
 * <p>A standby answers nothing here: its own filter, further down the chain, redirects to the
 * active one.
 *
 * <p>Where something like Kerberos guards the web server, a second filter of this class stands
 * before that. It answers requests that claim a signature, at the paths that take signatures. Such
 * a request needs no other login, and has no room for one, because both come in the header
 * {@code Authorization}. The second filter opens nothing else: it names no user to the filters
 * after it. It proves the signature and answers completely, or passes the request on untouched.
 */
public final class HeddleFilter implements Filter {
  /** The stock REST answer about the scheduler. */
  static final String INFO_PATH = "/ws/v1/cluster/scheduler";
  /** The stock page about the scheduler. */
  static final String PAGE_PATH = "/cluster/scheduler";

  static final String SIGNED_ONLY_PARAMETER = "heddle.web.signed-only";

  /** The ResourceManager's name for its web application. */
  private static final String APPLICATION = "cluster";
  /** A page that polls must not fill the log. */
  private static final long LOG_INTERVAL_MS = 60_000;

  private static final Logger LOG = LoggerFactory.getLogger(HeddleFilter.class);

  private final AtomicLong nextLogMs = new AtomicLong(Long.MIN_VALUE);
  private volatile ResourceManager resourceManager;
  /** Whether this is the one before authentication. */
  private volatile boolean signedOnly;

  @Override
  public void init(FilterConfig config) {
    signedOnly = Boolean.parseBoolean(config.getInitParameter(SIGNED_ONLY_PARAMETER));
    resourceManager = FilterSetup.find(config.getInitParameter(FilterSetup.NUMBER_PROPERTY));
  }

  @Override
  public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
      throws IOException, ServletException {
    if (!(request instanceof HttpServletRequest) || !(response instanceof HttpServletResponse)
        || !answers((HttpServletRequest) request, (HttpServletResponse) response)) {
      chain.doFilter(request, response);
    }
  }

  @Override
  public void destroy() {
    resourceManager = null;
  }

  /** Answers a request if it is for the scheduler; false if it must be passed on. */
  private boolean answers(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    String path;
    WebScheduler scheduler;
    try {
      path = pathOf(request);
      boolean ours = signedOnly ? takesSignatures(path) : isOurs(path);
      scheduler = ours && isManagers(request) ? activeScheduler() : null;
    } catch (Throwable e) {
      complain(e);
      return false;
    }
    if (scheduler == null || path.equals(ValidateRequest.PATH)
        && !ValidateRequest.isOurs(request, scheduler)) {
      return false;
    }
    try {
      if (signedOnly) {
        WebHandler handler = scheduler.webHandler();
        return handler != null && handler.handleSigned(request, response);
      }
      answer(scheduler, path, request, response);
    } catch (EOFException e) {
      // The client has closed the connection: no error, and the web server ends the request.
      throw e;
    } catch (Throwable e) {
      complain(e);
      if (response.isCommitted()) {
        // Too late for a status: the client must not take the part for the whole.
        throw new IOException("the answer could not be completed", e);
      }
      response.resetBuffer();
      Replies.sentence(response, HttpServletResponse.SC_INTERNAL_SERVER_ERROR,
          "The scheduler could not answer; the ResourceManager's log says why.");
    }
    return true;
  }

  /** The path without parameters, decoded, and without a slash at its end. */
  private static String pathOf(HttpServletRequest request) {
    String servlet = request.getServletPath();
    String rest = request.getPathInfo();
    String path = (servlet == null ? "" : servlet) + (rest == null ? "" : rest);
    return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }

  /**
   * Whether this came to the ResourceManager's pages: in a mini cluster the web servers of other
   * daemons may get a copy of the configuration. Only a request can tell, because Hadoop makes one
   * filter for several contexts.
   */
  private static boolean isManagers(HttpServletRequest request) {
    return APPLICATION.equals(request.getServletContext().getServletContextName());
  }

  private static boolean isOurs(String path) {
    return path.equals(INFO_PATH) || path.equals(PAGE_PATH) || isHandlers(path)
        || path.equals(ValidateRequest.PATH);
  }

  /** Leaves out the console's own files: all callers get the same, and no client signs for them. */
  private static boolean takesSignatures(String path) {
    return path.startsWith("/heddle/v1/") || path.equals("/scheduler");
  }

  private static boolean isHandlers(String path) {
    return path.equals("/heddle") || path.startsWith("/heddle/")
        || path.equals("/scheduler") || path.startsWith("/scheduler/");
  }

  /** Returns the current scheduler; null on a standby, or if there is none that answers. */
  private WebScheduler activeScheduler() {
    ResourceManager owner = resourceManager;
    RMContext context = owner == null ? null : owner.getRMContext();
    if (context == null || context.getHAServiceState() == HAServiceState.STANDBY) {
      return null;
    }
    ResourceScheduler scheduler = context.getScheduler();
    return scheduler instanceof WebScheduler ? (WebScheduler) scheduler : null;
  }

  private void answer(WebScheduler scheduler, String path, HttpServletRequest request,
      HttpServletResponse response) throws IOException {
    if (path.equals(ValidateRequest.PATH)) {
      ValidateRequest.answer(resourceManager, scheduler.configurationCheck(), request, response);
    } else if (isHandlers(path)) {
      WebHandler handler = scheduler.webHandler();
      if (handler == null) {
        Replies.sentence(response, HttpServletResponse.SC_NOT_FOUND,
            "This scheduler serves nothing at this address.");
      } else {
        handler.handle(request, response);
      }
    } else {
      // A client may send the header in several parts.
      String accept = String.join(",", Collections.list(request.getHeaders("Accept")));
      QueueReports reports = scheduler.queueReports();
      boolean page = path.equals(PAGE_PATH);
      byte[] answer = Native.ask(SetupJson.request("page", "method", request.getMethod(),
          "accept", accept, "page", page, "query", request.getQueryString(),
          "user", request.getRemoteUser(),
          "applications", page ? ApplicationRows.of(resourceManager, request) : null,
          "queues", reports == null ? null : reports.describe()));
      Replies.send(response, answer, head -> { });
    }
  }

  /** Logs what went wrong, at most once in a while. */
  private void complain(Throwable problem) {
    long now = Time.monotonicNow();
    long next = nextLogMs.get();
    if (now >= next && nextLogMs.compareAndSet(next, now + LOG_INTERVAL_MS)) {
      LOG.error("A web request to the scheduler failed; more such errors of the next {} s are"
          + " not logged", LOG_INTERVAL_MS / 1000, problem);
    }
  }
}
