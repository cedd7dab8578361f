package io.heddle.integration.web;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import javax.security.auth.Subject;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.minikdc.MiniKdc;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.Oid;

/**
 * A real Kerberos server (Apache Kerby's) on a free port of this machine, its principals, and their
 * tickets for a browser or curl. The JVM's Kerberos settings point to it until the end.
 */
final class Kerberos implements AutoCloseable {
  private static final Oid SPNEGO = oid("1.3.6.1.5.5.2");
  private static final Oid PRINCIPAL = oid("1.2.840.113554.1.2.2.1");
  private static final String WEB = "HTTP/localhost";

  private final MiniKdc kdc;
  private final Path folder;
  private final File keytab;

  /** Starts it; it knows these users, and a web server and a ResourceManager on localhost. */
  Kerberos(String... users) throws Exception {
    folder = Files.createTempDirectory("kerberos");
    Properties settings = MiniKdc.createConf();
    kdc = new MiniKdc(settings, folder.toFile());
    kdc.start();
    keytab = folder.resolve("keytab").toFile();
    String[] all = new String[users.length + 2];
    System.arraycopy(users, 0, all, 0, users.length);
    all[users.length] = WEB;
    all[users.length + 1] = "rm/localhost";
    kdc.createPrincipal(keytab, all);
  }

  String realm() {
    return kdc.getRealm();
  }

  /** Sets what an operator sets for a web server that demands tickets. */
  void guardTheWeb(org.apache.hadoop.conf.Configuration conf) throws Exception {
    Path secret = folder.resolve("cookies");
    Files.write(secret, "signs the cookies of this test".getBytes("UTF-8"));
    conf.set("hadoop.http.filter.initializers",
        "org.apache.hadoop.security.AuthenticationFilterInitializer");
    String prefix = "hadoop.http.authentication.";
    conf.set(prefix + "type", "kerberos");
    conf.set(prefix + "kerberos.principal", WEB + "@" + realm());
    conf.set(prefix + "kerberos.keytab", keytab.getPath());
    conf.set(prefix + "signature.secret.file", secret.toString());
  }

  /** Also sets what makes all of YARN demand them. */
  void guardTheCluster(org.apache.hadoop.conf.Configuration conf) {
    conf.set("hadoop.security.authentication", "kerberos");
    conf.set("yarn.resourcemanager.principal", "rm/localhost@" + realm());
    conf.set("yarn.resourcemanager.keytab", keytab.getPath());
    conf.set("yarn.resourcemanager.webapp.spnego-principal", WEB + "@" + realm());
    conf.set("yarn.resourcemanager.webapp.spnego-keytab-file", keytab.getPath());
  }

  /** Returns the header with a user's ticket for the web server, good for one request. */
  String negotiate(String user) throws Exception {
    Subject subject = new Subject();
    new LoginContext("test", subject, null, keytabOf(user + "@" + realm())).login();
    byte[] token = doAs(subject, () -> {
      GSSManager manager = GSSManager.getInstance();
      GSSName server = manager.createName(WEB + "@" + realm(), PRINCIPAL);
      GSSContext context =
          manager.createContext(server, SPNEGO, null, GSSContext.DEFAULT_LIFETIME);
      try {
        return context.initSecContext(new byte[0], 0, 0);
      } finally {
        context.dispose();
      }
    });
    return "Negotiate " + Base64.getEncoder().encodeToString(token);
  }

  // Deprecated in Java 18; its replacement is not in 17.
  @SuppressWarnings("removal")
  private static byte[] doAs(Subject subject, PrivilegedExceptionAction<byte[]> action)
      throws Exception {
    return Subject.doAs(subject, action);
  }

  private Configuration keytabOf(String principal) {
    Map<String, String> options = new HashMap<>();
    options.put("principal", principal);
    options.put("keyTab", keytab.getPath());
    for (String on : new String[] {"useKeyTab", "storeKey", "doNotPrompt", "isInitiator"}) {
      options.put(on, "true");
    }
    return new Configuration() {
      @Override
      public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
        return new AppConfigurationEntry[] {
          new AppConfigurationEntry("com.sun.security.auth.module.Krb5LoginModule",
              LoginModuleControlFlag.REQUIRED, options)
        };
      }
    };
  }

  private static Oid oid(String dotted) {
    try {
      return new Oid(dotted);
    } catch (org.ietf.jgss.GSSException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public void close() {
    kdc.stop();
    FileUtil.fullyDelete(folder.toFile());
  }
}
