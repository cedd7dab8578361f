/*
 * The places of the embedded cluster's four nodes: two racks of two, each node with its own address
 * in the loopback network. Starts nothing.
 */
package io.heddle.integration.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The hosts and racks of the embedded cluster.
 *
 * <p>Hadoop's own mini cluster puts every NodeManager on {@code localhost}. Then every node is
 * local to every block or, with ports in the node names, none is. Linux answers on all of
 * 127.0.0.0/8, so each node here has its own address, which is also its host name. HDFS reports
 * blocks on it, the ApplicationMaster asks for it, and placement can be local or remote as on a
 * real cluster.
 */
public final class Topology {
  /** The racks, in order. */
  public static final List<String> RACKS =
      Collections.unmodifiableList(Arrays.asList("/rack1", "/rack2"));

  /** The hosts, in order: the first half is on the first rack. */
  public static final List<String> HOSTS =
      Collections.unmodifiableList(
          Arrays.asList("127.0.1.11", "127.0.1.12", "127.0.2.11", "127.0.2.12"));

  private Topology() {}

  /** Returns the rack of the host with this index. */
  public static String rackOf(int host) {
    return RACKS.get(host * RACKS.size() / HOSTS.size());
  }

  /**
   * Returns the rack of a host.
   *
   * @throws IllegalArgumentException if it is none of {@link #HOSTS}
   */
  public static String rackOf(String host) {
    int index = HOSTS.indexOf(host);
    if (index < 0) {
      throw new IllegalArgumentException(host + " is none of " + HOSTS);
    }
    return rackOf(index);
  }

  /**
   * Returns the mapping for {@code org.apache.hadoop.net.StaticMapping}: {@code host=rack,...}. It
   * is in every job's configuration too, because an ApplicationMaster resolves racks itself.
   */
  static String staticMapping() {
    List<String> pairs = new ArrayList<>();
    for (int host = 0; host < HOSTS.size(); host++) {
      pairs.add(HOSTS.get(host) + "=" + rackOf(host));
    }
    return String.join(",", pairs);
  }
}
