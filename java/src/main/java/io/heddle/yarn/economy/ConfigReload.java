package io.heddle.yarn.economy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.heddle.yarn.config.ConfigControl;
import io.heddle.yarn.web.ApiHandler;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.HAUtil;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.protocolrecords.RefreshQueuesRequest;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.util.RMHAUtils;
import org.apache.hadoop.yarn.webapp.util.WebAppUtils;

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
  public List<String> warnings() {
    return config.warnings();
  }

  @Override
  public List<String> managers() {
    YarnConfiguration conf = new YarnConfiguration(context.getYarnConfiguration());
    String scheme = WebAppUtils.getHttpSchemePrefix(conf);
    List<String> addresses = new ArrayList<>();
    if (HAUtil.isHAEnabled(conf)) {
      for (String address : RMHAUtils.getRMHAWebappAddresses(conf)) {
        addresses.add(scheme + address);
      }
    }
    return addresses;
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
