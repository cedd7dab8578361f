package io.heddle.yarn.facts;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;

import io.heddle.yarn.engine.SetupJson;
import org.junit.Test;

/** Addresses of ApplicationMasters, and what follows from their answers. */
public class AmPollerTest {
  @Test
  public void onlyTheNameOfAContainerIsOne() {
    assertEquals("container_1_0001_01_000005", AmPoller.containerOf(
        SetupJson.read("\"container_1_0001_01_000005\"")).toString());
    for (String none : new String[] {"\"x\"", "null", "7", "[]"}) {
      assertNull(none, AmPoller.containerOf(SetupJson.read(none)));
    }
  }

  @Test
  public void onlyTheNodeOfTheMasterIsAsked() {
    assertEquals("http://n1:40000/ws/v1/mapreduce/",
        AmPoller.base("http://n1:40000", "n1").toString());
    assertEquals("whatever else it says is not used", "http://n1:40000/ws/v1/mapreduce/",
        AmPoller.base("http://u:p@N1:40000/admin?kill=1#x", "n1").toString());
    for (String address : new String[] {null, "", "N/A", "n1:40000", "http://n2:40000",
        "http://n1", "https://n1:40000", "ftp://n1:40000", "http://n1:40000@n2:80",
        "http://n1.evil:40000", "file:///etc/passwd", "http://[", "http://n1:x"}) {
      assertNull(address, AmPoller.base(address, "n1"));
    }
    assertEquals("http://n1:8042/jmx?qry=Hadoop:service=NodeManager,name=ShuffleMetrics",
        NodePoller.metrics("n1:8042", "n1").toString());
    assertNull(NodePoller.metrics("n2:8042", "n1"));
    assertNull(NodePoller.metrics(null, "n1"));
  }
}
