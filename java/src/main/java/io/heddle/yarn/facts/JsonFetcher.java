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
 * Gets JSON by HTTP from an untrusted server: users' code answers for ApplicationMasters.
 * Follows no redirect, sends no credential, keeps no cookie and no connection, and ends each call
 * in bounded time and memory whatever the server does. Whom to ask is the caller's to decide.
 *
 * <p>Thread-safe. Blocks: never to be called by a thread of the ResourceManager's own.
 */
final class JsonFetcher implements Closeable {
  /** To connect, and for each piece of an answer. */
  static final int TIMEOUT_MS = 2_000;
  /** For the whole of a call: one byte in a while would keep each piece in time. */
  static final int CALL_MS = 4_000;
  /** A job's report has 2 KB; the list of its reduces may have some hundred. */
  static final int BYTES_MAX = 1 << 20;

  private static final int HEADERS_MAX = 64;
  private static final int HEADER_LINE_MAX = 8_192;

  private final ScheduledExecutorService watchdog;
  private final CloseableHttpClient client;

  /**
   * Makes a client.
   *
   * @param watchdog ends calls that take too long
   * @param inFlight most calls at once
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
   * Gets one answer, as the library reads it.
   *
   * @throws IOException if there is none within the bounds, or it is no JSON
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
        // Closing in peace would read the rest, which may have no end.
        request.abort();
      }
    } catch (RuntimeException e) {
      // The library's word for an address or an answer that it cannot make sense of.
      throw new IOException(e.toString(), e);
    } finally {
      alarm.cancel(false);
    }
  }

  private static byte[] read(HttpEntity entity) throws IOException {
    String type = entity == null || entity.getContentType() == null
        ? "" : entity.getContentType().getValue();
    if (!type.startsWith("application/json")) {
      throw new IOException("no JSON but " + type);
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
