package io.heddle.yarn;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import com.fasterxml.jackson.databind.JsonNode;
import io.heddle.yarn.engine.SetupJson;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import javax.servlet.ReadListener;
import javax.servlet.ServletInputStream;
import javax.servlet.ServletOutputStream;
import javax.servlet.WriteListener;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.hadoop.yarn.server.resourcemanager.MockAM;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.junit.Test;

/** Tests answers about jobs from the real library: they have names instead of numbers. */
public class JobAnswersTest {
  /** Answers a GET of a user whom the web server authenticated. */
  private static JsonNode get(TestCluster cluster, String user, String path) throws Exception {
    HttpServletRequest request = mock(HttpServletRequest.class);
    when(request.getMethod()).thenReturn("GET");
    when(request.getRequestURI()).thenReturn(path);
    when(request.getRemoteAddr()).thenReturn("127.0.0.1");
    when(request.getRemoteUser()).thenReturn(user);
    when(request.getServerName()).thenReturn("rm");
    when(request.getInputStream()).thenReturn(nothing());
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    HttpServletResponse response = mock(HttpServletResponse.class);
    when(response.getOutputStream()).thenReturn(into(body));
    cluster.scheduler.webHandler().handle(request, response);
    verify(response).setContentLength(anyInt());
    return SetupJson.read(new String(body.toByteArray(), StandardCharsets.UTF_8));
  }

  private static ServletInputStream nothing() {
    ByteArrayInputStream none = new ByteArrayInputStream(new byte[0]);
    return new ServletInputStream() {
      @Override
      public int read() {
        return none.read();
      }

      @Override
      public boolean isFinished() {
        return true;
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void setReadListener(ReadListener listener) {}
    };
  }

  private static ServletOutputStream into(ByteArrayOutputStream body) {
    return new ServletOutputStream() {
      @Override
      public void write(int b) throws IOException {
        body.write(b);
      }

      @Override
      public boolean isReady() {
        return true;
      }

      @Override
      public void setWriteListener(WriteListener listener) {}
    };
  }

  @Test
  public void hostsAndApplicationsAreNamedInEverySentence() throws Exception {
    String config = "{\"heartbeat_fill\": 1.0, \"api\": {\"trust_web_user\": true}}";
    try (TestCluster cluster = new TestCluster(TestCluster.conf(config))) {
      MockNM node = cluster.node("a1", 4 * TestCluster.GB);
      MockNM gone = cluster.node("a2", 4 * TestCluster.GB);
      RMApp app = cluster.submit("alice", null);
      MockAM am = cluster.launch(app, node);
      cluster.forget(gone);
      // A container on the second node, which then leaves; another node gets its number.
      TestCluster.ask(am, TestCluster.any(1, 4 * TestCluster.GB, 1));
      cluster.heartbeat(gone);
      assertEquals(0, cluster.freeMb(gone));
      cluster.rm.sendNodeLost(gone);
      cluster.rm.drainEvents();
      cluster.tick();
      Thread.sleep(2);
      MockNM heir = cluster.node("a3", 2 * TestCluster.GB);
      TestCluster.ask(am, TestCluster.any(1, 3 * TestCluster.GB, 2));
      cluster.heartbeat(node);
      cluster.tick();
      TestCluster.fetch(am);

      JsonNode job = get(cluster, "alice", "/heddle/v1/jobs").get("jobs").get(0);
      assertEquals(app.getApplicationId().toString(), job.get("application").asText());
      String waits = job.get("waits_for").asText();
      assertTrue(waits, waits.contains("a1:1234 has 0 MB free"));

      JsonNode explained = get(cluster, "alice",
          "/heddle/v1/explain/" + app.getApplicationId());
      assertTrue(explained.toString(),
          explained.get("waits").get(0).get("sentence").asText().contains("a1:1234 has"));
      JsonNode trace = explained.get("trace");
      assertFalse(trace.toString(), trace.toString().contains("node#"));
      JsonNode master = null;
      JsonNode there = null;
      for (JsonNode entry : trace) {
        master = entry.path("am").asBoolean() ? entry : master;
        there = entry.path("node").asInt(-1) == 1 ? entry : there;
      }
      assertTrue(trace.toString(), master.get("sentence").asText().contains("on a1:1234"));
      assertEquals("a1:1234", master.get("host").asText());
      assertTrue(trace.toString(),
          there.get("sentence").asText().contains("on a node that has left"));
      assertTrue(there.toString(), there.get("host").isNull());
      assertFalse(trace.toString(), trace.toString().contains("a3:1234"));
      cluster.forget(heir);
    }
  }
}
