package io.heddle.integration.jobs;

import static org.junit.Assert.assertEquals;

import java.util.Map;
import java.util.TreeMap;
import org.junit.Test;

/**
 * The arithmetic of the shuffle between racks, which the demo applies to real jobs. Newest Hadoop
 * only.
 */
public class ShuffleTrafficTest {
  private static Map<String, Double> racks(double first, double second) {
    Map<String, Double> bytes = new TreeMap<>();
    bytes.put("/rack1", first);
    bytes.put("/rack2", second);
    return bytes;
  }

  @Test
  public void whatCrossesIsWhatTheOtherRacksMapsPutOut() {
    // Rack 1 has three quarters of the output. Its reduces fetch 60, of which a quarter (15)
    // crosses; those of rack 2 fetch 20, of which three quarters (15) do.
    ShuffleTraffic traffic = new ShuffleTraffic(racks(30, 10), racks(60, 20));
    assertEquals(80, traffic.bytes(), 1e-9);
    assertEquals(30, traffic.crossRackBytes(), 1e-9);
  }

  @Test
  public void onOneRackNothingCrosses() {
    assertEquals(0, new ShuffleTraffic(racks(40, 0), racks(40, 0)).crossRackBytes(), 1e-9);
    assertEquals(40, new ShuffleTraffic(racks(40, 0), racks(0, 40)).crossRackBytes(), 1e-9);
    assertEquals(0, new ShuffleTraffic(racks(0, 0), racks(0, 0)).crossRackBytes(), 1e-9);
  }

  @Test
  public void hostsAreReadWithAndWithoutAScheme() {
    assertEquals("127.0.1.11", ShuffleTraffic.host("http://127.0.1.11:8042"));
    assertEquals("127.0.1.11", ShuffleTraffic.host("127.0.1.11:8042"));
    assertEquals("node.example", ShuffleTraffic.host("https://node.example:8044/"));
  }
}
