/*
 * A ZooKeeper server in this JVM, for what several clusters share.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** One server, without authentication, on a free port of the loopback address. */
final class ZooKeeper implements AutoCloseable {
  private static final int TICK_MS = 2000;
  private static final int CONNECTIONS_MAX = 100;

  private final ServerCnxnFactory connections = new NIOServerCnxnFactory();

  /** Starts one with its files in this folder. */
  ZooKeeper(File folder) throws IOException {
    boolean started = false;
    try {
      connections.configure(new InetSocketAddress("127.0.0.1", 0), CONNECTIONS_MAX);
      connections.startup(new ZooKeeperServer(folder, folder, TICK_MS));
      started = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    } finally {
      if (!started) {
        connections.shutdown();
      }
    }
  }

  /** Returns its address as clients are told of it. */
  String address() {
    return "127.0.0.1:" + connections.getLocalPort();
  }

  @Override
  public void close() {
    connections.shutdown();
  }
}
