"""The soak's Spark job: counts the words of a file in HDFS, and fails if a count is wrong.

spark_words.py INPUT TIMES PAUSE_S: every word of the input occurs TIMES times; each task waits
PAUSE_S seconds, in place of the work on a bigger input.
"""

import sys
import time
from operator import add

from pyspark import SparkContext


def words(lines, pause):
    """The words of a partition, after a pause."""
    time.sleep(pause)
    for line in lines:
        yield from ((word, 1) for word in line.split())


def main():
    """Exits with 1 on a wrong count, which makes the application fail."""
    path, times, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    context = SparkContext()
    counts = context.textFile(path, 4).mapPartitions(lambda lines: words(lines, pause))
    counts = dict(counts.reduceByKey(add, 2).collect())
    context.stop()
    if not counts or set(counts.values()) != {times}:
        sys.exit(f"wrong counts: {counts}, expected {times} of each")


main()
