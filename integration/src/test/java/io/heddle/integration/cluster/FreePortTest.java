package io.heddle.integration.cluster;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;
import org.junit.Test;

/**
 * Each port is handed out once, even while it is closed. Newest Hadoop only: nothing here depends
 * on it.
 */
public class FreePortTest {
  /** Of 12,000 ports. Random draws would repeat one in all but one of some thousand runs. */
  private static final int PORTS = 450;

  @Test
  public void noPortIsHandedOutTwice() throws Exception {
    Set<Integer> ports = new HashSet<>();
    for (int i = 0; i < PORTS; i++) {
      int port = FreePort.next();
      assertTrue("port " + port + " for the second time, as number " + i, ports.add(port));
    }
    int last = ports.iterator().next();
    try (ServerSocket server = new ServerSocket(last, 1, InetAddress.getLoopbackAddress())) {
      assertEquals("a server opens what was handed out", last, server.getLocalPort());
    }
  }
}
