package io.heddle.integration;

import static org.junit.Assert.assertEquals;

import io.heddle.integration.bench.RmHarness;
import io.heddle.yarn.engine.Journal;
import io.heddle.yarn.engine.NativeLibrary;
import io.heddle.yarn.recording.RecordingCapacityScheduler;
import io.heddle.yarn.recording.RecordingFairScheduler;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.MockNodes;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.NodeAddedSchedulerEvent;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.Test;

/**
 * The stock schedulers go on when Heddle's library cannot be loaded. In a JVM of its own: one that
 * has the library never loads it again.
 */
public class RecordingLibraryTest {
  private final List<String> errors = new ArrayList<>();

  @Test
  public void theStockSchedulersGoOnWithoutTheLibrary() throws Exception {
    File file = File.createTempFile("libheddle", ".so");
    Files.write(file.toPath(), "no library".getBytes(StandardCharsets.UTF_8));
    AppenderSkeleton appender = new AppenderSkeleton() {
      @Override
      protected void append(LoggingEvent event) {
        if (event.getLevel().isGreaterOrEqual(Level.ERROR)) {
          errors.add(event.getRenderedMessage());
        }
      }

      @Override
      public void close() {}

      @Override
      public boolean requiresLayout() {
        return false;
      }
    };
    Logger logger = Logger.getLogger("io.heddle");
    logger.addAppender(appender);
    try {
      goesOn(file, RecordingFairScheduler.class.getName(), "FairScheduler");
      goesOn(file, RecordingCapacityScheduler.class.getName(), "CapacityScheduler");
    } finally {
      logger.removeAppender(appender);
    }
  }

  private void goesOn(File library, String scheduler, String name) throws Exception {
    errors.clear();
    Configuration conf = new YarnConfiguration();
    conf.set("yarn.scheduler.capacity.root.queues", "default");
    conf.set("yarn.scheduler.capacity.root.default.capacity", "100");
    conf.set(NativeLibrary.PATH_PROPERTY, library.getPath());
    conf.set(Journal.PATH_PROPERTY, library.getPath() + ".journal");
    try (RmHarness harness = new RmHarness(scheduler, conf)) {
      for (int nodes = 1; nodes <= 2; nodes++) {
        harness.scheduler.handle(new NodeAddedSchedulerEvent(
            MockNodes.newNodeInfo(1, Resource.newInstance(4096, 4), nodes)));
        assertEquals(nodes, harness.scheduler.getNumClusterNodes());
      }
      // One line, however many events follow.
      assertEquals(errors.toString(), 1, errors.size());
      assertEquals("The recording has ended, and " + name + " goes on without it", errors.get(0));
    }
  }
}
