package io.heddle.yarn.facts;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.Native;
import io.heddle.yarn.engine.SetupJson;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.thirdparty.com.google.common.io.ByteStreams;
import org.apache.http.HttpEntity;
import org.apache.http.HttpStatus;
import org.apache.http.client.config.CookieSpecs;
import org.apache.http.client.config.RequestConfig;
import org.apache.http.client.methods.CloseableHttpResponse;
import org.apache.http.client.methods.HttpGet;
import org.apache.http.config.ConnectionConfig;
import org.apache.http.config.MessageConstraints;
import org.apache.http.impl.NoConnectionReuseStrategy;
import org.apache.http.impl.client.CloseableHttpClient;
import org.apache.http.impl.client.HttpClients;

/**
 * Gets JSON over HTTP from untrusted servers, because users' code answers for ApplicationMasters.
 * Follows no redirect, sends no credential, and keeps no cookie and no connection. Each call ends
 * in bounded time and memory, whatever the server does. Callers choose the server.
 *
 * <p>Thread-safe. Blocks, so the ResourceManager's own threads must not call it.
 */
final class JsonFetcher implements Closeable {
  /** Time limit to connect, and for each piece of an answer. */
  static final int TIMEOUT_MS = 2_000;
  /** Time limit for a whole call, for servers that send single bytes within {@link #TIMEOUT_MS}. */
  static final int CALL_MS = 4_000;
  /** Largest answer. A job's report has 2 KB; the list of 3,000 tasks less than 1 MB. */
  static final int BYTES_MAX = 1 << 20;

  private static final int HEADERS_MAX = 64;
  private static final int HEADER_LINE_MAX = 8_192;

  private final ScheduledExecutorService watchdog;
  private final CloseableHttpClient client;

  /**
   * Makes a client.
   *
   * @param watchdog ends calls that take too long
   * @param inFlight largest number of concurrent calls
   */
  JsonFetcher(ScheduledExecutorService watchdog, int inFlight) {
    this.watchdog = watchdog;
    RequestConfig limits = RequestConfig.custom().setConnectTimeout(TIMEOUT_MS)
        .setSocketTimeout(TIMEOUT_MS).setConnectionRequestTimeout(TIMEOUT_MS)
        .setRedirectsEnabled(false).setAuthenticationEnabled(false)
        .setContentCompressionEnabled(false).setCookieSpec(CookieSpecs.IGNORE_COOKIES).build();
    MessageConstraints headers = MessageConstraints.custom().setMaxHeaderCount(HEADERS_MAX)
        .setMaxLineLength(HEADER_LINE_MAX).build();
    client = HttpClients.custom().setDefaultRequestConfig(limits)
        .setDefaultConnectionConfig(
            ConnectionConfig.custom().setMessageConstraints(headers).build())
        .setConnectionReuseStrategy(NoConnectionReuseStrategy.INSTANCE)
        .setMaxConnTotal(inFlight).setMaxConnPerRoute(inFlight)
        .disableRedirectHandling().disableAutomaticRetries().disableCookieManagement()
        .disableAuthCaching().disableContentCompression().setUserAgent("Heddle").build();
  }

  /**
   * Gets one answer, which the library reads.
   *
   * @throws IOException if there is none within the bounds, or it is not JSON
   */
  JsonNode get(URI address) throws IOException {
    HttpGet request = new HttpGet(address);
    request.setHeader("Accept", "application/json");
    Future<?> alarm = watchdog.schedule(request::abort, CALL_MS, TimeUnit.MILLISECONDS);
    try (CloseableHttpResponse response = client.execute(request)) {
      try {
        int status = response.getStatusLine().getStatusCode();
        if (status != HttpStatus.SC_OK) {
          throw new IOException("status " + status);
        }
        return SetupJson.read(Native.reply(address.getPath(), read(response.getEntity())));
      } finally {
        // An orderly close would read the rest, which may be endless.
        request.abort();
      }
    } catch (RuntimeException e) {
      // The library throws for an address or an answer that it cannot read.
      throw new IOException(e.toString(), e);
    } finally {
      alarm.cancel(false);
    }
  }

  private static byte[] read(HttpEntity entity) throws IOException {
    String type = entity == null || entity.getContentType() == null
        ? "" : entity.getContentType().getValue();
    if (!type.startsWith("application/json")) {
      throw new IOException("expected JSON, found " + (type.isEmpty() ? "no content type" : type));
    }
    byte[] text;
    try (InputStream in = entity.getContent()) {
      text = ByteStreams.toByteArray(ByteStreams.limit(in, BYTES_MAX + 1));
    }
    if (text.length > BYTES_MAX) {
      throw new IOException("more than " + BYTES_MAX + " bytes");
    }
    return text;
  }

  @Override
  public void close() throws IOException {
    client.close();
  }
}
