package io.heddle.yarn.facts;

import io.heddle.yarn.engine.EngineClock;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;
import java.util.regex.Pattern;
import org.apache.hadoop.util.StringUtils;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;

/**
 * The hints that there are: how each is called, what its value looks like, and what it becomes. A
 * value is checked by its form before anything is worked out with it, since anybody may write it.
 */
enum HintKey {
  MAPS("a whole number of tasks up to 1048576") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      return count(value, hints::setMaps);
    }
  },
  REDUCES("a whole number of tasks up to 1048576") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      return count(value, hints::setReduces);
    }
  },
  INPUT_BYTES("a number of bytes up to 8192t, such as 750000000 or 12g") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      if (!BYTES.matcher(value).matches()) {
        return false;
      }
      long bytes = StringUtils.TraditionalBinaryPrefix.string2long(value);
      if (bytes > BYTES_MAX) {
        return false;
      }
      hints.setInputBytes(bytes);
      return true;
    }
  },
  SHUFFLE_RATIO("bytes shuffled for each byte read, such as 0.35, up to 1000000") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      if (!RATIO.matcher(value).matches() || Double.parseDouble(value) > RATIO_MAX) {
        return false;
      }
      hints.setShufflePerMille((int) Math.round(Double.parseDouble(value) * 1000));
      return true;
    }
  },
  DEADLINE("milliseconds since 1970, a time such as 2026-11-21T18:30:00Z, or a span after"
      + " submission such as +90m (s, m, h, d); not before submission") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      long wallMs = deadline(value, submission.atMs);
      if (wallMs < submission.atMs) {
        return false;
      }
      hints.setDeadlineMs(EngineClock.toMonotonic(wallMs));
      return true;
    }
  },
  MAP_MS("the mean length of a map in whole milliseconds, above 0") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      return length(value, hints::setMapMs);
    }
  },
  REDUCE_MS("the mean length of a reduce in whole milliseconds, above 0") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      return length(value, hints::setReduceMs);
    }
  },
  SIGNATURE("up to 100 letters, digits and any of . _ : + / = % -") {
    @Override
    boolean apply(String value, Submission submission, JobHints hints) {
      if (!NAME.matcher(value).matches()) {
        return false;
      }
      // YARN makes tags lower case, so case cannot tell.
      hints.setSignature(hash(submission.user, lower(value)));
      return true;
    }
  };

  private static final int COUNT_MAX = 1 << 20;
  private static final long BYTES_MAX = 1L << 53;
  private static final int RATIO_MAX = 1_000_000;
  private static final Pattern COUNT = Pattern.compile("\\d{1,7}");
  private static final Pattern LENGTH = Pattern.compile("[1-9]\\d{0,11}");
  private static final Pattern BYTES = Pattern.compile("\\d{1,16}|\\d{1,4}[kmgtKMGT]");
  private static final Pattern RATIO = Pattern.compile("\\d{1,7}(\\.\\d{1,9})?");
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:+/=%-]{1,100}");
  private static final Pattern EPOCH_MS = Pattern.compile("\\d{1,15}");
  private static final Pattern SPAN = Pattern.compile("\\+\\d{1,6}[smhdSMHD]");
  private static final int GUESSED_FROM_MAX = 1000;
  private static final long UNREADABLE = Long.MIN_VALUE;

  private final String expected;

  HintKey(String expected) {
    this.expected = expected;
  }

  /**
   * Takes a value over if it is well-formed.
   *
   * @return whether it is
   */
  abstract boolean apply(String value, Submission submission, JobHints hints);

  /** Describes the form of a value, for people. */
  String expected() {
    return expected;
  }

  /** Its name in tags and properties, such as {@code input-bytes}. */
  String keyName() {
    return lower(name()).replace('_', '-');
  }

  /** Returns the hint of this name, or null. */
  static HintKey of(String name) {
    for (HintKey key : values()) {
      if (key.keyName().equals(name)) {
        return key;
      }
    }
    return null;
  }

  /** All names, for people. */
  static String names() {
    StringBuilder names = new StringBuilder();
    for (HintKey key : values()) {
      names.append(names.length() == 0 ? "" : ", ").append(key.keyName());
    }
    return names.toString();
  }

  /**
   * A MapReduce job that says nothing is told apart by its name without numbers, which differ from
   * run to run: what was learnt of "daily report 17" is expected of "daily report 18".
   */
  static void guessSignature(RMApp app, Submission submission, JobHints hints) {
    String name = app.getName();
    if (name != null && !name.isEmpty() && "MAPREDUCE".equalsIgnoreCase(app.getApplicationType())
        && !name.equals(YarnConfiguration.DEFAULT_APPLICATION_NAME)) {
      // A name may be a whole query; its beginning will do.
      String start = name.substring(0, Math.min(name.length(), GUESSED_FROM_MAX));
      hints.setSignature(hash(submission.user, lower(start).replaceAll("\\d+", "#")));
    }
  }

  /** Per user, so that no user spoils the lessons of another's jobs. */
  private static long hash(String user, String name) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] text = (user + '\n' + name).getBytes(StandardCharsets.UTF_8);
      return ByteBuffer.wrap(digest.digest(text)).getLong();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  private static boolean count(String value, IntConsumer hint) {
    if (!COUNT.matcher(value).matches() || Integer.parseInt(value) > COUNT_MAX) {
      return false;
    }
    hint.accept(Integer.parseInt(value));
    return true;
  }

  private static boolean length(String value, LongConsumer hint) {
    if (!LENGTH.matcher(value).matches()) {
      return false;
    }
    hint.accept(Long.parseLong(value));
    return true;
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  /** A time on the wall clock, or {@link #UNREADABLE}. */
  private static long deadline(String value, long submittedMs) {
    if (EPOCH_MS.matcher(value).matches()) {
      return Long.parseLong(value);
    }
    if (SPAN.matcher(value).matches()) {
      int end = value.length() - 1;
      return submittedMs
          + unit(value.charAt(end)).toMillis(Long.parseLong(value.substring(1, end)));
    }
    try {
      // YARN makes tags lower case; the T and the Z must not be.
      return OffsetDateTime.parse(value.toUpperCase(Locale.ROOT)).toInstant().toEpochMilli();
    } catch (DateTimeParseException | ArithmeticException e) {
      return UNREADABLE;
    }
  }

  private static TimeUnit unit(char letter) {
    switch (Character.toLowerCase(letter)) {
      case 's':
        return TimeUnit.SECONDS;
      case 'm':
        return TimeUnit.MINUTES;
      case 'h':
        return TimeUnit.HOURS;
      default:
        return TimeUnit.DAYS;
    }
  }

  /** The user of a job and the wall-clock time of its submission, for hints that depend on them. */
  static final class Submission {
    private final String user;
    private final long atMs;

    Submission(String user, long atMs) {
      this.user = user;
      this.atMs = atMs;
    }
  }
}
