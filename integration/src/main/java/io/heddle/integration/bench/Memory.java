/*
 * What the process holds: the objects of the JVM's heap, and the memory outside of it, which is the
 * native library's and the JVM's own. The difference of two readings is the cost of what was made
 * between them.
 */
package io.heddle.integration.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One reading, in bytes. */
final class Memory {
  /** A mapping's range, and the path of its file if it has one. */
  private static final Pattern MAPPING =
      Pattern.compile("([0-9a-f]+)-[0-9a-f]+ \\S+ \\S+ \\S+ \\S+ *(.*)");
  private static final Pattern RESIDENT = Pattern.compile("Rss: +(\\d+) kB");
  /** The heap of a JVM with compressed pointers lies below this address. */
  private static final long HEAP_END = 32L << 30;

  final long heap;
  final long outside;

  private Memory(long heap, long outside) {
    this.heap = heap;
    this.outside = outside;
  }

  /** Collects garbage and reads. */
  static Memory now() throws IOException {
    System.gc();
    System.gc();
    return new Memory(ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed(),
        outside());
  }

  private static long outside() throws IOException {
    long sum = 0;
    boolean counts = false;
    for (String line : Files.readAllLines(
        Paths.get("/proc/self/smaps"), StandardCharsets.ISO_8859_1)) {
      Matcher mapping = MAPPING.matcher(line);
      Matcher resident = RESIDENT.matcher(line);
      if (mapping.matches()) {
        long begin = Long.parseUnsignedLong(mapping.group(1), 16);
        String path = mapping.group(2);
        counts = path.equals("[heap]")
            || path.isEmpty() && Long.compareUnsigned(begin, HEAP_END) >= 0;
      } else if (counts && resident.matches()) {
        sum += Long.parseLong(resident.group(1)) * 1024;
      }
    }
    return sum;
  }
}
