/*
 * The API over HTTP on a port of the loopback address, for one scheduler of the bench. It uses the
 * ResourceManager's web server (Jetty) and the scheduler's own handler. The filters between the
 * two, which cost a few string comparisons, are left out.
 */
package io.heddle.integration.bench;

import io.heddle.yarn.HeddleScheduler;
import io.heddle.yarn.web.WebHandler;
import java.io.IOException;
import java.net.InetAddress;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** A running web server. */
final class ApiServer implements AutoCloseable {
  private final Server server = new Server();
  /** The server's base address. */
  final String address;

  ApiServer(HeddleScheduler scheduler) throws Exception {
    ServerConnector connector = new ServerConnector(server);
    connector.setHost(InetAddress.getLoopbackAddress().getHostAddress());
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new Answers(scheduler.webHandler())), "/*");
    server.setHandler(context);
    server.start();
    address = "http://" + connector.getHost() + ":" + connector.getLocalPort();
  }

  /** Passes every request to the scheduler. */
  private static final class Answers extends HttpServlet {
    private static final long serialVersionUID = 1;
    private final transient WebHandler handler;

    Answers(WebHandler handler) {
      this.handler = handler;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
        throws IOException {
      handler.handle(request, response);
    }
  }

  @Override
  public void close() throws IOException {
    try {
      server.stop();
    } catch (Exception e) {
      throw new IOException("the web server did not stop", e);
    }
  }
}
