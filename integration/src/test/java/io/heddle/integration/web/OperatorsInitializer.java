package io.heddle.integration.web;

import java.io.IOException;
import java.util.Collections;
import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.FilterContainer;
import org.apache.hadoop.http.FilterInitializer;

/** A filter that an operator has configured: it marks every answer. */
public final class OperatorsInitializer extends FilterInitializer {
  static final String HEADER = "X-Operator";

  @Override
  public void initFilter(FilterContainer container, Configuration conf) {
    container.addFilter(
        "operator", Mark.class.getName(), Collections.<String, String>emptyMap());
  }

  /** The web server makes it by name. */
  public static final class Mark implements Filter {
    @Override
    public void init(FilterConfig config) {
      // Nothing to read.
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain)
        throws IOException, ServletException {
      ((HttpServletResponse) response).setHeader(HEADER, "was here");
      chain.doFilter(request, response);
    }

    @Override
    public void destroy() {
      // Nothing to free.
    }
  }
}
