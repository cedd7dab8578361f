/*
 * Where the embedded cluster's four nodes are: two racks of two, each node with an address of its
 * own in the loopback network. Starts nothing.
 */
package io.heddle.integration.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The hosts and racks of the embedded cluster.
 *
 * <p>Hadoop's own mini cluster puts every NodeManager on {@code localhost}, and then either every
 * node is local to every block or, with ports in the node names, none is. Linux answers on all of
 * 127.0.0.0/8, so each node here has an address of its own that is also its host name: HDFS reports
 * blocks on it, the ApplicationMaster asks for it, and the scheduler can be local or remote as on a
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

  /** The rack of the host with this index. */
  public static String rackOf(int host) {
    return RACKS.get(host * RACKS.size() / HOSTS.size());
  }

  /**
   * The rack of a host.
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
   * The mapping as {@code org.apache.hadoop.net.StaticMapping} reads it: {@code host=rack,...}. It
   * goes into every job's configuration too, since an ApplicationMaster resolves racks itself.
   */
  static String staticMapping() {
    List<String> pairs = new ArrayList<>();
    for (int host = 0; host < HOSTS.size(); host++) {
      pairs.add(HOSTS.get(host) + "=" + rackOf(host));
    }
    return String.join(",", pairs);
  }
}
