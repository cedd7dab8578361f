/*
 * What the command lines of the measurements have in common. Written for commons-cli 1.2, the
 * version in the oldest supported Hadoop.
 */
package io.heddle.integration;

import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;

/** Options with values. */
public final class Arguments {
  private Arguments() {}

  /** Makes a long option with a value. */
  public static Option valued(String name, String value, String description) {
    Option option = new Option(null, name, true, description);
    option.setArgName(value);
    return option;
  }

  /** Returns an option's number, or another if it is not given; refuses one below the least. */
  public static int number(CommandLine line, String name, int otherwise, int least)
      throws ParseException {
    String text = line.getOptionValue(name);
    return text == null ? otherwise : wholeNumber(name, text, least);
  }

  /** Reads the number of an option. */
  public static int wholeNumber(String name, String text, int least) throws ParseException {
    try {
      int value = Integer.parseInt(text);
      if (value >= least) {
        return value;
      }
    } catch (NumberFormatException e) {
      // The message below covers this case too.
    }
    throw new ParseException("--" + name + " must be a whole number of at least " + least
        + ", not '" + text + "'");
  }
}
