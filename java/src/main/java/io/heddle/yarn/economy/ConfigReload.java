package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.config.ConfigControl;
import io.heddle.yarn.web.ApiHandler;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.protocolrecords.RefreshQueuesRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;

/**
 * Reloads the configuration by YARN's own administration, as the ResourceManager's user. So only
 * the active ResourceManager reloads, the same provider reads yarn-site.xml, and YARN's audit has a
 * line.
 */
public final class ConfigReload implements ApiHandler.ConfigurationFile {
  private final ConfigControl config;
  private final RMContext context;

  public ConfigReload(ConfigControl config, RMContext context) {
    this.config = config;
    this.context = context;
  }

  @Override
  public String name() {
    return config.json();
  }

  @Override
  public ObjectNode below() {
    return config.below();
  }

  @Override
  public void reload() throws IOException {
    PrivilegedExceptionAction<Object> refresh =
        () -> context.getRMAdminService().refreshQueues(RefreshQueuesRequest.newInstance());
    try {
      UserGroupInformation.getLoginUser().doAs(refresh);
    } catch (IOException e) {
      throw e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted; read the file again with -refreshQueues", e);
    } catch (Exception e) {
      // doAs wraps what is not an IOException; AdminService wraps the scheduler's IOException.
      Throwable cause = e;
      while (cause.getCause() != null && !(cause instanceof YarnException)) {
        cause = cause.getCause();
      }
      while (cause instanceof YarnException && cause.getCause() != null) {
        cause = cause.getCause();
      }
      throw new IOException(cause.getMessage(), e);
    }
  }
}
