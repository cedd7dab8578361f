package io.heddle.yarn.queues;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertNull;

import io.heddle.yarn.engine.SetupJson;
import org.junit.Test;

/** Tests how names of queues are resolved. */
public class QueueSnapshotTest {
  @Test
  public void queuesAreFoundByWhatPeopleCallThem() {
    QueueSnapshot queues = QueueSnapshot.read(SetupJson.read(
        "{\"queues\": [{\"id\": 0, \"path\": \"root\"}, {\"id\": 1, \"path\": \"root.a\"},"
            + " {\"id\": 2, \"path\": \"root.a.x\", \"leaf\": true},"
            + " {\"id\": 3, \"path\": \"root.b\"},"
            + " {\"id\": 4, \"path\": \"root.b.x\", \"leaf\": true},"
            + " {\"id\": 5, \"path\": \"root.b.y\", \"leaf\": true,"
            + " \"max_share\": {\"memory-mb\": 9223372036854775807}}]}"));
    assertEquals(2, queues.find("root.a.x").id);
    assertEquals(2, queues.find("a.x").id);
    assertEquals(5, queues.find("y").id);
    assertNull("two of that name", queues.find("x"));
    assertNull(queues.find(null));
    assertEquals("root.b.gone.far", queues.pathOf("root.b.gone.far"));
    assertEquals("root.b.gone", queues.pathOf("b.gone"));
    assertEquals("root.b.y.gone", queues.pathOf("y.gone"));
    assertEquals("root.nowhere", queues.pathOf("nowhere"));
    assertEquals(2, queues.get("root.b").children().size());
    assertNotNull(queues.find("root.b.y").maxShare);
  }
}
