/*
 * Logs of an embedded cluster: all lines go into a file of its work folder, and Heddle's own
 * warnings also into memory, so that a test can assert that there were none.
 */
package io.heddle.integration.cluster;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.FileAppender;
import org.apache.log4j.Level;
import org.apache.log4j.LogManager;
import org.apache.log4j.Logger;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.spi.LoggingEvent;

/**
 * Takes over log4j, which Hadoop uses, for the life of one cluster. Configures it in code, because
 * Hadoop's test jars contain a log4j.properties that floods the terminal.
 */
public final class ClusterLog implements AutoCloseable {
  private static final String PATTERN = "%d{HH:mm:ss,SSS} %-5p [%t] %c{2}: %m%n";

  private final File file;
  private final Appender heddle = new Appender();
  private final FileAppender appender;

  private ClusterLog(File file) throws IOException {
    this.file = file;
    this.appender = new FileAppender(new PatternLayout(PATTERN), file.getPath());
  }

  /** Sends all further log lines into this file. */
  static ClusterLog open(File file) throws IOException {
    quiet();
    ClusterLog log = new ClusterLog(file);
    Logger root = LogManager.getRootLogger();
    root.addAppender(log.appender);
    root.setLevel(Level.INFO);
    LogManager.getLogger("io.heddle").addAppender(log.heddle);
    return log;
  }

  /** Removes all loggers that configuration files set up; nothing is logged any more. */
  public static void quiet() {
    // Jersey and Guice in Hadoop's web servers use the JDK's logging.
    java.util.logging.LogManager.getLogManager().reset();
    LogManager.resetConfiguration();
    LogManager.getRootLogger().setLevel(Level.OFF);
  }

  /** Returns the file with all lines. */
  public File file() {
    return file;
  }

  /** Returns Heddle's own messages of level warning and above, oldest first. */
  public List<String> heddleWarnings() {
    return heddle.messages();
  }

  @Override
  public void close() {
    LogManager.getLogger("io.heddle").removeAppender(heddle);
    LogManager.getRootLogger().removeAppender(appender);
    appender.close();
  }

  /** Keeps at most {@link #MESSAGES_MAX} warnings: a fault may repeat at every heartbeat. */
  private static final class Appender extends AppenderSkeleton {
    private static final int MESSAGES_MAX = 1000;
    private static final int CAUSE_LINES = 12;
    private final List<String> messages = new ArrayList<>();

    @Override
    protected synchronized void append(LoggingEvent event) {
      if (event.getLevel().isGreaterOrEqual(Level.WARN) && messages.size() < MESSAGES_MAX) {
        messages.add(event.getLevel() + " " + event.getRenderedMessage() + cause(event));
      }
    }

    /** Returns the first lines of what was thrown: the log is gone when a test has failed. */
    private static String cause(LoggingEvent event) {
      String[] lines = event.getThrowableStrRep();
      return lines == null ? "" : Arrays.stream(lines).limit(CAUSE_LINES)
          .collect(Collectors.joining("\n", "\n", ""));
    }

    synchronized List<String> messages() {
      return new ArrayList<>(messages);
    }

    @Override
    public boolean requiresLayout() {
      return false;
    }

    @Override
    public void close() {
      // Holds no resources.
    }
  }
}
