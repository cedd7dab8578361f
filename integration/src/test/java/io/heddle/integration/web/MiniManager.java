package io.heddle.integration.web;

import io.heddle.integration.cluster.Await;
import io.heddle.integration.cluster.FreePort;
import java.io.File;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Scanner;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.FileSystemBasedConfigurationProvider;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.ClusterMetrics;
import org.apache.hadoop.yarn.server.resourcemanager.MockNM;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.QueueMetrics;

/**
 * A real ResourceManager with its web server, and a node of 8 GB and 8 vcores that registers and
 * does nothing else. Without HDFS and without running tasks: the web server's answers need neither.
 */
final class MiniManager implements AutoCloseable {
  static final int NODE_MEMORY_MB = 8192;
  static final int NODE_VCORES = 8;
  static final int TIMEOUT_MS = Await.SECONDS * 1000;

  final ResourceManager manager;
  /** Its node, which reports when a test says so. */
  final MockNM node;
  private final Path folder;
  final String address;

  private MiniManager(ResourceManager manager, MockNM node, Path folder, String address) {
    this.manager = manager;
    this.node = node;
    this.folder = folder;
    this.address = address;
  }

  /** Returns a configuration to complete and start from. */
  static YarnConfiguration configuration(String scheduler, Path folder) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    conf.set(YarnConfiguration.RM_SCHEDULER, scheduler);
    conf.set("yarn.node-attribute.fs-store.root-dir",
        new File(folder.toFile(), "node-attribute").toURI().toString());
    for (String key : YarnConfiguration.getServiceAddressConfKeys(conf)) {
      conf.set(key, "localhost:0");
    }
    conf.set(YarnConfiguration.RM_WEBAPP_ADDRESS, "localhost:" + FreePort.next());
    // Its nodes report when a test says so, and jobs wait until then.
    conf.setBoolean("heddle.immediate-grants.enable", false);
    return conf;
  }

  /** Writes heddle.json and names it in a configuration. */
  static void heddleJson(YarnConfiguration conf, Path folder, String json) throws Exception {
    Path file = folder.resolve("heddle.json");
    Files.write(file, json.getBytes(StandardCharsets.UTF_8));
    conf.set("heddle.config.file", file.toString());
  }

  /**
   * Writes the properties that a test has set to a yarn-site.xml. A ResourceManager reads only that
   * file again, at {@code rmadmin -refreshQueues}; without it they would be lost there.
   */
  static void siteFile(YarnConfiguration conf, Path folder) throws Exception {
    Configuration site = new Configuration(false);
    conf.forEach(property -> {
      String[] sources = conf.getPropertySources(property.getKey());
      if (sources != null && Arrays.asList(sources).contains("programmatically")) {
        site.set(property.getKey(), property.getValue());
      }
    });
    Path store = Files.createDirectory(folder.resolve("conf"));
    try (OutputStream out = Files.newOutputStream(store.resolve("yarn-site.xml"))) {
      site.writeXml(out);
    }
    conf.set(YarnConfiguration.RM_CONFIGURATION_PROVIDER_CLASS,
        FileSystemBasedConfigurationProvider.class.getName());
    conf.set(YarnConfiguration.FS_BASED_RM_CONF_STORE, store.toUri().toString());
  }

  /** Starts it; it deletes {@code folder} at the end. */
  static MiniManager start(YarnConfiguration conf, Path folder) throws Exception {
    resetStatics();
    ResourceManager manager = new ResourceManager();
    manager.init(conf);
    manager.start();
    MockNM node = new MockNM("node1:1234", Resource.newInstance(NODE_MEMORY_MB, NODE_VCORES),
        manager.getResourceTrackerService());
    node.registerNode();
    return new MiniManager(manager, node, folder,
        "http://" + conf.get(YarnConfiguration.RM_WEBAPP_ADDRESS));
  }

  /** Metrics are static in Hadoop, and must not carry over from one scheduler to the next. */
  static void resetStatics() {
    QueueMetrics.clearQueueMetrics();
    DefaultMetricsSystem.setMiniClusterMode(true);
    ClusterMetrics.destroy();
  }

  Reply get(String path) throws Exception {
    return get(path, null);
  }

  /** Sends this Accept header, or Java's own for null. */
  Reply get(String path, String accept) throws Exception {
    return send("GET", path, accept, null);
  }

  Reply send(String method, String path, String accept, String json) throws Exception {
    return send(address, method, path, accept, json);
  }

  /** Sends one request and follows no redirect. */
  static Reply send(String address, String method, String path, String accept, String json)
      throws Exception {
    return send(address, method, path, accept, json, null);
  }

  /** Sends one request with a header {@code Authorization}. */
  static Reply send(String address, String method, String path, String accept, String json,
      String authorization) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) new URL(address + path).openConnection();
    connection.setInstanceFollowRedirects(false);
    connection.setConnectTimeout(TIMEOUT_MS);
    connection.setReadTimeout(TIMEOUT_MS);
    connection.setRequestMethod(method);
    if (accept != null) {
      connection.setRequestProperty("Accept", accept);
    }
    if (authorization != null) {
      connection.setRequestProperty("Authorization", authorization);
    }
    if (json != null) {
      connection.setRequestProperty("Content-Type", "application/json");
      connection.setDoOutput(true);
      try (OutputStream out = connection.getOutputStream()) {
        out.write(json.getBytes(StandardCharsets.UTF_8));
      }
    }
    return new Reply(connection);
  }

  /** What came back. */
  static final class Reply {
    final int status;
    final String type;
    final String body;
    private final HttpURLConnection connection;

    private Reply(HttpURLConnection connection) throws Exception {
      this.connection = connection;
      status = connection.getResponseCode();
      type = connection.getContentType();
      try (Scanner all = new Scanner(
          status < 400 ? connection.getInputStream() : errors(connection), "UTF-8")) {
        body = all.useDelimiter("\\A").hasNext() ? all.next() : "";
      }
    }

    private static java.io.InputStream errors(HttpURLConnection connection) {
      java.io.InputStream errors = connection.getErrorStream();
      return errors != null ? errors : new java.io.ByteArrayInputStream(new byte[0]);
    }

    String header(String name) {
      return connection.getHeaderField(name);
    }

    @Override
    public String toString() {
      return status + " " + type + "\n" + body;
    }
  }

  @Override
  public void close() {
    manager.stop();
    FileUtil.fullyDelete(folder.toFile());
    resetStatics();
  }
}
