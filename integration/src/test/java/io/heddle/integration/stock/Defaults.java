package io.heddle.integration.stock;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;

/** The schedulers as they are without any configuration, and Heddle with other policies. */
enum Defaults {
  /** The Fair Scheduler with an empty allocations file: a queue for each user. */
  FAIR {
    @Override
    void configure(Configuration conf, Path folder) throws IOException {
      Path file = folder.resolve("empty.xml");
      Files.write(file, "<allocations/>".getBytes(StandardCharsets.UTF_8));
      conf.set("yarn.scheduler.fair.allocation.file", file.toString());
      // The player calls update() in the place of the thread.
      conf.setInt("yarn.scheduler.fair.update-interval-ms", Integer.MAX_VALUE);
    }
  },

  /** The Capacity Scheduler with the capacity-scheduler.xml that comes with Hadoop. */
  CAPACITY {
    @Override
    void configure(Configuration conf, Path folder) {
      String prefix = "yarn.scheduler.capacity.";
      conf.set(prefix + "maximum-applications", "10000");
      conf.set(prefix + "maximum-am-resource-percent", "0.1");
      conf.set(prefix + "root.queues", "default");
      conf.set(prefix + "root.default.capacity", "100");
      conf.set(prefix + "root.default.user-limit-factor", "1");
      conf.set(prefix + "root.default.maximum-capacity", "100");
      conf.set(prefix + "node-locality-delay", "40");
      conf.set(prefix + "rack-locality-additional-delay", "-1");
      conf.set(prefix + "per-node-heartbeat.maximum-offswitch-assignments", "1");
      // Threads of its own would allocate at any moment of real time, of which none passes here.
      conf.setBoolean(prefix + "schedule-asynchronously.enable", false);
    }
  },

  /** Heddle without a file. */
  HEDDLE {
    @Override
    void configure(Configuration conf, Path folder) {
      conf.setInt("heddle.tick-ms", Integer.MAX_VALUE);
    }
  },

  /** Heddle whose jobs are ordered by what they are owed. */
  DEFICIT {
    @Override
    void configure(Configuration conf, Path folder) throws IOException {
      compose(conf, folder, "deficit");
    }
  },

  /** Heddle whose jobs are ordered by what they have. */
  BY_QUEUE {
    @Override
    void configure(Configuration conf, Path folder) throws IOException {
      compose(conf, folder, "by-queue");
    }
  };

  abstract void configure(Configuration conf, Path folder) throws IOException;

  private static void compose(Configuration conf, Path folder, String order) throws IOException {
    HEDDLE.configure(conf, folder);
    Path file = folder.resolve(order + ".json");
    Files.write(file, ("{\"policy\": {\"share\": \"fair\", \"order\": \"" + order
        + "\", \"place\": \"delay\"}}").getBytes(StandardCharsets.UTF_8));
    conf.set("heddle.config.file", file.toString());
  }

  private String scheduler() {
    switch (this) {
      case FAIR:
        return Kind.FAIR.stock;
      case CAPACITY:
        return Kind.CAPACITY.stock;
      default:
        return Kind.HEDDLE;
    }
  }

  /** Plays a case. */
  Figures play(SmallCluster cluster, Path folder) throws Exception {
    Configuration conf = Kind.common();
    configure(conf, folder);
    try {
      return Rounds.play(cluster, scheduler(), conf);
    } catch (Exception e) {
      throw new IllegalStateException(this + " fails in " + cluster, e);
    }
  }
}
