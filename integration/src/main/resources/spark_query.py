"""Counts the numbers below a million by their last digit. Fails if a count is wrong."""

import sys

from pyspark.sql import SparkSession

NUMBERS = 1_000_000
DIGITS = 10
PARTITIONS = 4


def main():
    """Exits with 1 on a wrong count, which makes the application fail."""
    session = SparkSession.builder.getOrCreate()
    numbers = session.range(0, NUMBERS, 1, PARTITIONS)
    found = numbers.selectExpr(f"id % {DIGITS} AS digit").groupBy("digit").count().collect()
    session.stop()
    counts = {row["digit"]: row["count"] for row in found}
    if counts != {digit: NUMBERS // DIGITS for digit in range(DIGITS)}:
        sys.exit(f"the counts are {counts}")


main()
