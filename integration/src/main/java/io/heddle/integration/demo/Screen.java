/*
 * Shows the progress of the demo: redraws a picture in a terminal, or prints a line every few
 * seconds without one. Callers supply the content.
 */
package io.heddle.integration.demo;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jline.terminal.Terminal;
import org.jline.terminal.TerminalBuilder;
import org.jline.utils.AttributedString;
import org.jline.utils.AttributedStyle;
import org.jline.utils.Display;

/** Opened once, shown often, and closed before anything else is printed. */
abstract class Screen implements AutoCloseable {
  /** Opens a live screen in a terminal, unless the user asked for a plain one. */
  static Screen open(boolean plain) throws IOException {
    if (!plain && System.console() != null) {
      Terminal terminal = TerminalBuilder.builder().system(true).dumb(true).build();
      if (!terminal.getType().startsWith(Terminal.TYPE_DUMB)) {
        return new Live(terminal);
      }
      terminal.close();
    }
    return new Plain();
  }

  /**
   * Shows the state.
   *
   * @param picture lines for a terminal
   * @param line one line for other output
   */
  abstract void show(Supplier<List<String>> picture, Supplier<String> line);

  @Override
  public abstract void close();

  /** Redraws what changed. */
  private static final class Live extends Screen {
    private final Terminal terminal;
    private final Display display;

    private Live(Terminal terminal) {
      this.terminal = terminal;
      this.display = new Display(terminal, false);
    }

    @Override
    void show(Supplier<List<String>> picture, Supplier<String> line) {
      int columns = Math.max(1, terminal.getWidth());
      int rows = Math.max(1, terminal.getHeight());
      List<AttributedString> lines = new ArrayList<>();
      for (String text : picture.get()) {
        // Cuts long lines: a line that wraps would make the picture jump.
        String cut = text.length() < columns ? text : text.substring(0, columns - 1);
        lines.add(lines.isEmpty()
            ? new AttributedString(cut, AttributedStyle.BOLD)
            : new AttributedString(cut));
        if (lines.size() == rows - 1) {
          break;
        }
      }
      lines.add(AttributedString.EMPTY);
      display.resize(rows, columns);
      display.update(lines, 0);
    }

    @Override
    public void close() {
      try {
        terminal.flush();
        terminal.close();
      } catch (IOException e) {
        // The terminal is gone, so there is no way to report it.
      }
      System.out.println();
    }
  }

  /** Prints a line every few seconds. */
  private static final class Plain extends Screen {
    private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(3);
    private long nextNanos = System.nanoTime();

    @Override
    void show(Supplier<List<String>> picture, Supplier<String> line) {
      if (System.nanoTime() - nextNanos >= 0) {
        nextNanos += INTERVAL_NANOS;
        System.out.println(line.get());
      }
    }

    @Override
    public void close() {
      System.out.flush();
    }
  }
}
