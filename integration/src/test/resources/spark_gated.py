"""Adds numbers, one in each task. Tasks end only once a file exists. Fails if the sum is wrong.

With a second file, one more task runs alone until that exists.

spark_gated.py TASKS FILE [SECOND_FILE]
"""

import os
import sys
import time

from pyspark import SparkContext


def wait_for(gate, number):
    """Returns the number once the file exists."""
    while not os.path.exists(gate):
        time.sleep(0.2)
    return number


def main():
    """Exits with 1 on a wrong sum, which makes the application fail."""
    tasks, gate = int(sys.argv[1]), sys.argv[2]
    context = SparkContext()
    numbers = context.parallelize(range(tasks), tasks)
    found = numbers.map(lambda number: wait_for(gate, number)).sum()
    for narrow in sys.argv[3:]:
        context.parallelize([0], 1).map(lambda number: wait_for(narrow, number)).sum()
    context.stop()
    if found != tasks * (tasks - 1) // 2:
        sys.exit(f"the sum of {tasks} numbers is {found}")


main()
