package io.heddle.yarn.web;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;
import static org.mockito.Mockito.when;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.heddle.yarn.engine.SetupJson;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.servlet.ServletInputStream;
import javax.servlet.ServletOutputStream;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.junit.Before;
import org.junit.Test;

/** Tests the handling of requests and answers, without a web server and without the library. */
public class ApiHandlerTest {
  private final List<String> done = new ArrayList<>();
  private final HttpServletRequest request = mock(HttpServletRequest.class);
  private final HttpServletResponse response = mock(HttpServletResponse.class);
  private final ServletInputStream body = mock(ServletInputStream.class);
  private final ApiHandler.Names names = mock(ApiHandler.Names.class);
  private final ApiHandler handler =
      new ApiHandler(new Library(), names, mock(ApiHandler.ConfigurationFile.class));
  /** The nodes in each request. */
  private final List<String> nodes = new ArrayList<>();
  /** Whether the library wants nodes, which it does until there are some. */
  private boolean wanted;
  /** Whether the sender of a request is identified. */
  private boolean known = true;

  /** Answers requests and records the calls. */
  private final class Library implements ApiHandler.Library {
    @Override
    public byte[] serve(String head, byte[] sent) {
      done.add("serve");
      if (known && SetupJson.read(head).has("names_later")) {
        return "{\"names_wanted\":true}\n".getBytes(StandardCharsets.UTF_8);
      }
      JsonNode told = SetupJson.read(head).path("nodes");
      nodes.add(told.isMissingNode() ? "-" : told.toString());
      if (wanted && told.isMissingNode()) {
        return "{\"nodes_wanted\":true}\n".getBytes(StandardCharsets.UTF_8);
      }
      wanted = false;
      String answer = "{\"status\":200,\"content_type\":\"text/plain\",\"headers\":[],"
          + "\"log\":[[3,\"heddle.audit {}\"]]}\nyes";
      return answer.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] reloaded(JsonNode written, String problem) {
      throw new AssertionError("nothing was written");
    }

    @Override
    public void log(JsonNode head) {
      done.add("log " + head.path("log").path(0).path(1).asText());
    }
  }

  @Before
  public void aRequest() throws IOException {
    when(request.getMethod()).thenReturn("PUT");
    when(request.getRequestURI()).thenReturn("/heddle/v1/queues/alice/bid");
    when(request.getInputStream()).thenReturn(body);
    when(response.getWriter()).thenReturn(new PrintWriter(new StringWriter()));
    ServletOutputStream out = mock(ServletOutputStream.class);
    when(response.getOutputStream()).thenAnswer(call -> {
      done.add("answer");
      return out;
    });
  }

  /** A large cluster has a megabyte of names of nodes, which seldom change. */
  @Test
  public void nodesAreNamedOnlyWhereTheLibraryWantsThem() throws IOException {
    when(body.read(any(byte[].class), anyInt(), anyInt())).thenReturn(-1);
    when(request.getRequestURI()).thenReturn("/heddle/v1/nodes");
    when(names.concern("/heddle/v1/nodes")).thenReturn(true);
    when(names.of("/heddle/v1/nodes")).thenReturn(JsonNodeFactory.instance.arrayNode());
    when(names.nodes()).thenReturn(JsonNodeFactory.instance.arrayNode().add("a node"));
    when(names.nodesMark()).thenReturn("7");
    wanted = true;
    handler.handle(request, response);
    handler.handle(request, response);
    assertEquals(Arrays.asList("-", "[\"a node\"]", "-"), nodes);
  }

  /** An unsigned request must not list jobs, hash nodes or ask YARN for rights. */
  @Test
  public void nothingIsLookedUpForSendersWhoAreNobody() throws IOException {
    when(body.read(any(byte[].class), anyInt(), anyInt())).thenReturn(-1);
    when(request.getRequestURI()).thenReturn("/heddle/v1/jobs");
    when(names.concern("/heddle/v1/jobs")).thenReturn(true);
    when(names.of("/heddle/v1/jobs")).thenReturn(JsonNodeFactory.instance.arrayNode());
    known = false;
    handler.handle(request, response);
    verify(names, never()).of(anyString());
    verify(names, never()).nodesMark();
    verify(names, never()).nodes();
    verify(names, never()).viewed(any(), any());
    known = true;
    handler.handle(request, response);
    verify(names).of("/heddle/v1/jobs");
    verify(names).viewed(any(), any());
  }

  /** If the process is killed after the answer, the line must exist. */
  @Test
  public void theAuditIsWrittenBeforeTheAnswer() throws IOException {
    when(body.read(any(byte[].class), anyInt(), anyInt())).thenReturn(-1);
    handler.handle(request, response);
    assertEquals(Arrays.asList("serve", "log heddle.audit {}", "answer"), done);
  }

  /** For malformed chunks Jetty's parser throws one or the other, depending on its version. */
  @Test
  public void aBodyThatCannotBeReadIsTheSendersFault() throws IOException {
    for (Throwable broken : new Throwable[] {new IOException("bad chunk"),
        new IllegalStateException("bad chunk")}) {
      ServletInputStream bad = mock(ServletInputStream.class);
      when(bad.read(any(byte[].class), anyInt(), anyInt())).thenThrow(broken);
      when(request.getInputStream()).thenReturn(bad);
      handler.handle(request, response);
    }
    assertTrue("the library is not asked", !done.contains("serve"));
    verify(response, org.mockito.Mockito.times(2)).setStatus(HttpServletResponse.SC_BAD_REQUEST);
  }
}
