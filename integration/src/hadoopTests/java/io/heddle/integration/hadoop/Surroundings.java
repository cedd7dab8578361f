package io.heddle.integration.hadoop;

import java.io.IOException;
import java.io.InputStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;

/** What Hadoop's tests expect of the machine: ports, names of hosts, a user, a Kerberos realm. */
final class Surroundings {
  /** Hosts that tests name; a container's token needs an address for them. */
  private static final String HOSTS = "localhost h1 h2 h3 h4 h5 host_0 host_1 foo.bar.org";
  private static final int PORTS = 5;

  private Surroundings() {}

  /** Makes the files in the working folder; called before anything looks up a host. */
  static void prepare() throws IOException {
    Path hosts = Paths.get("hosts").toAbsolutePath();
    String own = new String(Files.readAllBytes(Paths.get("/proc/sys/kernel/hostname")),
        StandardCharsets.UTF_8);
    Files.write(hosts, ("127.0.0.1 " + HOSTS + " " + own).getBytes(StandardCharsets.UTF_8));
    System.setProperty("jdk.net.hosts.file", hosts.toString());
    Path realm = Paths.get("krb5.conf").toAbsolutePath();
    try (InputStream in = Surroundings.class.getResourceAsStream("/krb5.conf")) {
      Files.copy(in, realm, StandardCopyOption.REPLACE_EXISTING);
    }
    System.setProperty("java.security.krb5.conf", realm.toString());
    findPorts();
  }

  /** Sets the properties of yarn-site.xml to free ports; all are held until the last is found. */
  private static void findPorts() throws IOException {
    List<ServerSocket> held = new ArrayList<>();
    for (int port = 1; port <= PORTS; port++) {
      ServerSocket socket = new ServerSocket(0);
      held.add(socket);
      System.setProperty("heddle.hadoop-tests.port-" + port, "" + socket.getLocalPort());
    }
    for (ServerSocket socket : held) {
      socket.close();
    }
  }

  /** Submits as an ordinary user: the Fair Scheduler has no queue for a user called root. */
  static void logIn() {
    UserGroupInformation.setLoginUser(UserGroupInformation.createRemoteUser("tester"));
  }
}
