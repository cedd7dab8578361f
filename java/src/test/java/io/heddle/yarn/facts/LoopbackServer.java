package io.heddle.yarn.facts;

import com.sun.net.httpserver.HttpServer;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/** A web server on a free loopback port with the answers of a test, which records requests. */
final class LoopbackServer implements Closeable {
  private final HttpServer server;
  private final Map<String, String> answers = new ConcurrentHashMap<>();
  final List<String> asked = new CopyOnWriteArrayList<>();
  volatile int status = 200;
  volatile long delayMs;
  volatile String location;

  LoopbackServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("localhost"), 0), 0);
    server.setExecutor(Executors.newCachedThreadPool(work -> {
      Thread thread = new Thread(work, "loopback-server");
      thread.setDaemon(true);
      return thread;
    }));
    server.createContext("/", exchange -> {
      asked.add(exchange.getRequestURI().toString());
      pause();
      String answer = answers.get(exchange.getRequestURI().toString());
      byte[] body = (answer == null ? "{}" : answer).getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "application/json;charset=utf-8");
      if (location != null) {
        exchange.getResponseHeaders().add("Location", location);
      }
      exchange.sendResponseHeaders(answer == null && status == 200 ? 404 : status, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }

  private void pause() {
    try {
      Thread.sleep(delayMs);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  LoopbackServer answer(String path, String json) {
    answers.put(path, json);
    return this;
  }

  int port() {
    return server.getAddress().getPort();
  }

  String url() {
    return "http://localhost:" + port();
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
