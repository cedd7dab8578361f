package io.heddle.yarn.config;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** The files of a shadow's candidate as they were read, without the scheduler's lock. */
final class ShadowFiles {
  /** The name of the file, for messages. */
  final String name;
  /** The candidate's configuration; null if it cannot be read. */
  final ConfigFile config;
  /** The file of pools that it names, if any, and its text. */
  final FollowedFile pools;
  final String poolsText;
  /** Why there can be no shadow; null if the files could be read. */
  final String wrong;

  private ShadowFiles(
      String name, ConfigFile config, FollowedFile pools, String poolsText, String wrong) {
    this.name = name;
    this.config = config;
    this.pools = pools;
    this.poolsText = poolsText;
    this.wrong = wrong;
  }

  /** Reads the files of the candidate that yarn-site.xml names; null if it names none. */
  static ShadowFiles read(Configuration conf) {
    String path = conf.getTrimmed(ConfigFile.SHADOW_PROPERTY, "");
    if (path.isEmpty()) {
      return null;
    }
    try {
      ConfigFile config = ConfigFile.shadow(path);
      FollowedFile pools = config.allocations();
      return new ShadowFiles(
          config.source(), config, pools, pools == null ? null : pools.read(), null);
    } catch (IOException | RuntimeException e) {
      return new ShadowFiles(path, null, null, null, String.valueOf(e.getMessage()));
    }
  }
}
