/*
 * Text for the example jobs: random words from a small vocabulary, written into HDFS. Words are
 * counted while the text is made, so that a job's result can be checked independently.
 */
package io.heddle.integration.jobs;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** A folder of text files with known content. */
public final class Corpus {
  private static final int WORDS_PER_LINE = 8;
  private static final int VOCABULARY = 500;

  private final Path folder;
  private final List<String> lines = new ArrayList<>();
  private final Map<String, Long> counts = new TreeMap<>();

  private Corpus(Path folder) {
    this.folder = folder;
  }

  /**
   * Writes a corpus.
   *
   * @param folder the new folder; must not exist
   * @param files number of files: a job over them has at least as many maps
   * @param linesPerFile lines of eight words
   * @param seed the same seed gives the same text
   */
  public static Corpus write(FileSystem fs, Path folder, int files, int linesPerFile, long seed)
      throws IOException {
    int[] lines = new int[files];
    Arrays.fill(lines, linesPerFile);
    return write(fs, folder, lines, fs.getDefaultReplication(folder), seed);
  }

  /** Writes a corpus of files that have these numbers of lines. */
  public static Corpus write(
      FileSystem fs, Path folder, int[] linesOfFiles, int replicas, long seed) throws IOException {
    Corpus corpus = new Corpus(folder);
    Random random = new Random(seed);
    for (int file = 0; file < linesOfFiles.length; file++) {
      Path path = new Path(folder, String.format("text-%03d", file));
      try (BufferedWriter writer =
          new BufferedWriter(
              new OutputStreamWriter(fs.create(path, (short) replicas), StandardCharsets.UTF_8))) {
        for (int line = 0; line < linesOfFiles[file]; line++) {
          writer.write(corpus.nextLine(random));
          writer.write('\n');
        }
      }
    }
    return corpus;
  }

  private String nextLine(Random random) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < WORDS_PER_LINE; i++) {
      // Squared, so that some words are frequent and some rare, as in real text.
      double draw = random.nextDouble();
      String word = "word" + (int) (draw * draw * VOCABULARY);
      counts.merge(word, 1L, Long::sum);
      line.append(i == 0 ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return line.toString();
  }

  /** Returns the folder of the files. */
  public Path folder() {
    return folder;
  }

  /** Returns how often each word occurs. */
  public Map<String, Long> counts() {
    return Collections.unmodifiableMap(counts);
  }

  /** Returns all lines of all files. */
  public List<String> lines() {
    return Collections.unmodifiableList(lines);
  }
}
