package io.heddle.yarn;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.net.DNSToSwitchMapping;

/** Maps a host to the rack of its first letter: {@code a1} to {@code /a}. For tests. */
public final class LetterRacks implements DNSToSwitchMapping {
  /** Makes a mapping; Hadoop calls it by reflection. */
  public LetterRacks() {}

  @Override
  public List<String> resolve(List<String> hosts) {
    List<String> racks = new ArrayList<>();
    for (String host : hosts) {
      racks.add(rack(host));
    }
    return racks;
  }

  static String rack(String host) {
    return "/" + host.charAt(0);
  }

  @Override
  public void reloadCachedMappings() {}

  @Override
  public void reloadCachedMappings(List<String> hosts) {}
}
