/*
 * Finds TCP ports for servers that must be told theirs before they open it.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Hands out ports of the loopback address that nobody listens on. */
public final class FreePort {
  /**
   * Below the range from which Linux takes the ports of outgoing connections (32768 and above): a
   * port that stays closed for a while, as a standby's does, would else be taken by a connection.
   */
  private static final int FIRST = 20_000;

  private static final int LAST = 32_000;
  private static final int TRIES = 200;

  private FreePort() {}

  /** Returns a port that was free a moment ago. */
  public static int next() throws IOException {
    for (int attempt = 0; attempt < TRIES; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
      try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return socket.getLocalPort();
      } catch (IOException taken) {
        // Try another.
      }
    }
    throw new IOException("no free port between " + FIRST + " and " + LAST);
  }
}
