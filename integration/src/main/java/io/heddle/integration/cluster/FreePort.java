/*
 * Finds TCP ports for servers whose ports are configured before they open them.
 */
package io.heddle.integration.cluster;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * Hands out unused TCP ports of the loopback address, each of them once. A node may use one on its
 * own address ({@link Topology}): servers of all addresses are in the way on the loopback address,
 * too, and on the nodes' own addresses nothing listens but embedded clusters, on ports from here or
 * on Linux's.
 */
public final class FreePort {
  /**
   * Below Linux's range for outgoing connections (32768 and above): a connection could take a port
   * there that stays closed for a while, as a standby's does.
   */
  private static final int FIRST = 20_000;

  private static final int LAST = 32_000;
  private static final int TRIES = 200;

  /**
   * Marks of handed-out ports for this JVM and others: the UDP sockets of the same numbers, which
   * no server here uses. A TCP port that is not open yet shows nothing. The system closes the
   * sockets with the process.
   */
  private static final List<DatagramSocket> HANDED_OUT = new ArrayList<>();

  private FreePort() {}

  /** Returns addresses with such ports for all services of a ResourceManager. */
  static Map<String, String> addresses() throws IOException {
    Map<String, String> set = new LinkedHashMap<>();
    for (String key : YarnConfiguration.getServiceAddressConfKeys(new YarnConfiguration())) {
      set.put(key, "127.0.0.1:" + next());
    }
    return set;
  }

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
