package io.heddle.integration.stock;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeys;
import org.apache.hadoop.security.Groups;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;

/** The stock schedulers, and how each is set up; Heddle reads the same files. */
enum Kind {
  /** FairScheduler with fair-scheduler.xml. */
  FAIR("org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler") {
    @Override
    Scenario scenario(long seed) {
      return FairScenario.of(seed);
    }

    @Override
    void write(Scenario scenario, Configuration conf, Path folder) throws IOException {
      Path file = folder.resolve("fair-scheduler.xml");
      Files.write(file, ("<?xml version=\"1.0\"?>\n" + scenario.file)
          .getBytes(StandardCharsets.UTF_8));
      conf.set("yarn.scheduler.fair.allocation.file", file.toString());
      // The player calls update() in the place of the thread.
      conf.setInt("yarn.scheduler.fair.update-interval-ms", Integer.MAX_VALUE);
    }
  },

  /** CapacityScheduler with capacity-scheduler.xml. */
  CAPACITY("org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler") {
    @Override
    Scenario scenario(long seed) {
      return CapacityScenario.of(seed);
    }

    @Override
    void write(Scenario scenario, Configuration conf, Path folder) {
      // Threads of its own would allocate at any moment.
      conf.setBoolean("yarn.scheduler.capacity.schedule-asynchronously.enable", false);
      // Stock takes them from yarn-site.xml as well, and this needs no class path.
      for (Element property : scenario.file.children) {
        conf.set(property.children.get(0).text, property.children.get(1).text);
      }
    }
  };

  static final String HEDDLE = "io.heddle.yarn.HeddleScheduler";
  private static final Configuration COMMON = load();
  final String stock;

  Kind(String stock) {
    this.stock = stock;
  }

  /** Returns the scenario of a seed. */
  abstract Scenario scenario(long seed);

  /** Writes the stock file into the folder, or into the configuration. */
  abstract void write(Scenario scenario, Configuration conf, Path folder) throws IOException;

  /** Returns whether the scheduler divides what a queue has among its users. */
  boolean sharesByUser() {
    return this != FAIR;
  }

  /** Returns the picture of the stock scheduler. */
  Picture stock(Scenario scenario, Path folder, long heartbeats) throws IOException {
    return Player.play(scenario, stock, configuration(scenario, folder), heartbeats);
  }

  /** Returns Heddle's picture, reading the same files. */
  Picture heddle(Scenario scenario, Path folder, long heartbeats) throws IOException {
    Configuration conf = configuration(scenario, folder);
    conf.set("heddle.queues.from", name().toLowerCase(Locale.ROOT));
    conf.setInt("heddle.tick-ms", Integer.MAX_VALUE);
    return Player.play(scenario, HEDDLE, conf, heartbeats);
  }

  /** Returns why Heddle does not start with these files; null if it does. */
  String refusal(Scenario scenario, Path folder) throws IOException {
    Scenario start = new Scenario(scenario.seed, scenario.site, scenario.file,
        Collections.emptyList(), Collections.emptyList());
    return heddle(start, folder, 0).failure;
  }

  private Configuration configuration(Scenario scenario, Path folder) throws IOException {
    Configuration conf = common();
    scenario.site.forEach(conf::set);
    write(scenario, conf, folder);
    return conf;
  }

  /** Returns a configuration of its own with what all schedulers have in common. */
  static Configuration common() {
    return new YarnConfiguration(COMMON);
  }

  private static Configuration load() {
    // Both schedulers log every container.
    Logger.getRootLogger().setLevel(Level.OFF);
    Configuration conf = new YarnConfiguration();
    conf.set(CommonConfigurationKeys.HADOOP_USER_GROUP_STATIC_OVERRIDES, People.MAPPING);
    conf.setBoolean(YarnConfiguration.RM_WORK_PRESERVING_RECOVERY_ENABLED, false);
    Groups.getUserToGroupsMappingServiceWithLoadedConfiguration(conf);
    UserGroupInformation.setConfiguration(conf);
    return conf;
  }
}
