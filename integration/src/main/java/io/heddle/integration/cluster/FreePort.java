/*
 * Finds TCP ports for servers that must be told theirs before they open it.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Hands out TCP ports of the loopback address that nobody listens on, each of them once. */
public final class FreePort {
  /**
   * Below the range from which Linux takes the ports of outgoing connections (32768 and above): a
   * port that stays closed for a while, as a standby's does, would else be taken by a connection.
   */
  private static final int FIRST = 20_000;

  private static final int LAST = 32_000;
  private static final int TRIES = 200;

  /**
   * The UDP port of the same number, which no server here uses, says to this JVM and to others that
   * a port has been handed out: nobody can see that of one that is not open yet. The system closes
   * them with the process.
   */
  private static final List<DatagramSocket> HANDED_OUT = new ArrayList<>();

  private FreePort() {}

  /** Returns a port that was free a moment ago, and that no other call returned. */
  public static synchronized int next() throws IOException {
    for (int attempt = 0; attempt < TRIES; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
      InetAddress loopback = InetAddress.getLoopbackAddress();
      try (ServerSocket socket = new ServerSocket(port, 1, loopback)) {
        HANDED_OUT.add(new DatagramSocket(port, loopback));
        return socket.getLocalPort();
      } catch (IOException taken) {
        // Try another.
      }
    }
    throw new IOException("no free port between " + FIRST + " and " + LAST);
  }
}
