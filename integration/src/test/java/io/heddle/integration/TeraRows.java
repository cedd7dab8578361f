/* Reads and compares the rows of TeraGen's and TeraSort's files without their code. */
package io.heddle.integration;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Rows as text of one character per byte, since their bytes are binary. */
final class TeraRows {
  private static final int ROW_BYTES = 100;
  private static final int KEY_BYTES = 10;

  private TeraRows() {}

  /** Reads all rows, in the order of the parts' names and of the rows in them. */
  static String[] inOrder(FileSystem fs, Path folder) throws IOException {
    return read(fs, folder).toArray(new String[0]);
  }

  /** Reads all rows and sorts them by their keys. */
  static String[] sorted(FileSystem fs, Path folder) throws IOException {
    List<String> rows = read(fs, folder);
    Collections.sort(rows, Comparator.comparing(row -> row.substring(0, KEY_BYTES)));
    return rows.toArray(new String[0]);
  }

  private static List<String> read(FileSystem fs, Path folder) throws IOException {
    List<String> rows = new ArrayList<>();
    for (FileStatus part : fs.globStatus(new Path(folder, "part-*"))) {
      if (part.getLen() % ROW_BYTES != 0) {
        throw new IOException(part.getPath() + " ends within a row: " + part.getLen() + " bytes");
      }
      byte[] row = new byte[ROW_BYTES];
      try (FSDataInputStream in = fs.open(part.getPath())) {
        for (long at = 0; at < part.getLen(); at += ROW_BYTES) {
          in.readFully(row);
          rows.add(new String(row, StandardCharsets.ISO_8859_1));
        }
      }
    }
    return rows;
  }
}
