package io.heddle.yarn.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.ByteArrayInputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.ConfigurationProvider;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.MutableCSConfigurationProvider;
import org.apache.hadoop.yarn.webapp.dao.QueueConfigInfo;
import org.apache.hadoop.yarn.webapp.dao.SchedConfUpdateInfo;

/**
 * The source of the Capacity Scheduler's properties: capacity-scheduler.xml, or one of YARN's
 * stores, whose content the REST API about the scheduler's configuration changes. A store takes the
 * file over once, when it is empty.
 */
public final class CapacitySource implements Closeable {
  private static final String STORE = YarnConfiguration.SCHEDULER_CONFIGURATION_STORE_CLASS;

  private final ConfigurationProvider files;
  private final MutableCSConfigurationProvider store;
  // The properties to check, read instead of the store; null to read the store.
  private final Configuration changed;
  private final String name;

  private CapacitySource(ConfigurationProvider files, MutableCSConfigurationProvider store,
      Configuration changed, String name) {
    this.files = files;
    this.store = store;
    this.changed = changed;
    this.name = name;
  }

  /**
   * Returns capacity-scheduler.xml.
   *
   * @param files the ResourceManager's provider, which finds it
   */
  static CapacitySource file(ConfigurationProvider files) {
    return new CapacitySource(files, null, null, null);
  }

  /**
   * Opens the store that yarn-site.xml names, if queues come from the Capacity Scheduler.
   *
   * @throws IOException if the store cannot be opened
   */
  public static CapacitySource open(Configuration conf, RMContext context) throws IOException {
    String named = conf.get(STORE, YarnConfiguration.DEFAULT_CONFIGURATION_STORE);
    switch (StockSource.isCapacity(conf) ? named : YarnConfiguration.FILE_CONFIGURATION_STORE) {
      case YarnConfiguration.FILE_CONFIGURATION_STORE:
        return file(context.getConfigurationProvider());
      case YarnConfiguration.MEMORY_CONFIGURATION_STORE:
      case YarnConfiguration.LEVELDB_CONFIGURATION_STORE:
      case YarnConfiguration.ZK_CONFIGURATION_STORE:
      case YarnConfiguration.FS_CONFIGURATION_STORE:
        MutableCSConfigurationProvider store = new MutableCSConfigurationProvider(context);
        store.init(conf);
        return new CapacitySource(
            null, store, null, named + " (" + STORE + " in yarn-site.xml)");
      default:
        throw new IOException(STORE + " in yarn-site.xml is " + named
            + "; expected file, memory, leveldb, zk or fs");
    }
  }

  /** Returns the store; null with a file. */
  public MutableCSConfigurationProvider store() {
    return store;
  }

  /** Returns the store with other properties. */
  public CapacitySource with(Configuration properties) {
    return new CapacitySource(files, store, properties, name);
  }

  /**
   * Returns the properties that the store would have after a change. Does not make the change.
   *
   * @param change as the library read it
   * @throws IOException if YARN refuses the change
   */
  public Configuration changed(JsonNode change) throws IOException {
    SchedConfUpdateInfo update = new SchedConfUpdateInfo();
    change.path("remove").forEach(queue -> update.getRemoveQueueInfo().add(queue.asText()));
    change.path("add").forEach(queue -> update.getAddQueueInfo().add(queue(queue)));
    change.path("update").forEach(queue -> update.getUpdateQueueInfo().add(queue(queue)));
    update.getGlobalParams().putAll(settings(change.path("global")));
    try {
      return store.applyChanges(store.getConfiguration(), update);
    } catch (RuntimeException e) {
      // YARN's own code expects paths with a parent.
      throw new IOException("the change is not understood: " + e, e);
    }
  }

  private static QueueConfigInfo queue(JsonNode queue) {
    return new QueueConfigInfo(queue.path(0).asText(), settings(queue.path(1)));
  }

  private static Map<String, String> settings(JsonNode named) {
    Map<String, String> settings = new HashMap<>();
    named.fields().forEachRemaining(
        setting -> settings.put(setting.getKey(), setting.getValue().textValue()));
    return settings;
  }

  /** Returns the name of the store for messages; null with a file. */
  String name() {
    return name;
  }

  /**
   * Returns a configuration with the scheduler's properties.
   *
   * @param read gets the name and the text of the file, so that messages can name lines
   */
  Configuration over(Configuration conf, ArrayNode read) throws IOException {
    Configuration all = over(conf);
    if (store == null) {
      addFile(all, read);
    }
    return all;
  }

  /** Adds the properties of the store. As with the stock scheduler, those of yarn-site.xml win. */
  public Configuration over(Configuration conf) {
    return store == null ? new Configuration(conf)
        : over(conf, changed == null ? store.getConfiguration() : changed);
  }

  private static Configuration over(Configuration conf, Configuration stored) {
    Configuration all = new Configuration(conf);
    for (Map.Entry<String, String> property : stored) {
      if (all.getRaw(property.getKey()) == null) {
        all.set(property.getKey(), property.getValue());
      }
    }
    return all;
  }

  /** Adds capacity-scheduler.xml, as the Capacity Scheduler's provider does. */
  private void addFile(Configuration all, ArrayNode read) throws IOException {
    String file = YarnConfiguration.CS_CONFIGURATION_FILE;
    InputStream stream;
    try {
      stream = files.getConfigurationInputStream(all, file);
    } catch (YarnException e) {
      throw new IOException(file + ": " + e.getMessage(), e);
    }
    byte[] text = StockSource.addFile(file, stream, read);
    if (text != null) {
      all.addResource(new ByteArrayInputStream(text), file);
    } else {
      all.addResource(file);
    }
  }

  @Override
  public void close() throws IOException {
    if (store != null) {
      store.close();
    }
  }
}
