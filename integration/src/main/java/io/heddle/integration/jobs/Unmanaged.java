/*
 * An application of some user whose ApplicationMaster runs in this JVM: submitted, with the token
 * by which the ResourceManager accepts its master.
 */
package io.heddle.integration.jobs;

import java.io.Closeable;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.client.api.YarnClient;

/** {@link #close} stops the client, not the application. */
final class Unmanaged implements Closeable {
  final YarnClient yarn = YarnClient.createYarnClient();
  final ApplicationId id;
  private final UserGroupInformation user;

  Unmanaged(Configuration conf, String name, String queue) throws Exception {
    user = UserGroupInformation.createRemoteUser(name);
    yarn.init(conf);
    id = as(() -> {
      yarn.start();
      return new ShellApplication(conf, name, queue).submit(yarn);
    });
  }

  /** Does something as the user. */
  <T> T as(PrivilegedExceptionAction<T> action) throws Exception {
    return user.doAs(action);
  }

  @Override
  public void close() {
    yarn.stop();
  }
}
