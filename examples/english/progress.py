"""Show the progress of a training on a terminal, and its errors: ``fairseq-train ... 2>&1 | progress.py UPDATES``."""

import re
import sys

WIDTH = 40
UPDATES = re.compile(r"num_updates=(\d+)")


def bar(updates: int, all_updates: int) -> str:
    """
    >>> bar(100, 400)
    '    [##########                              ] 100 of 400 updates '
    """
    return f"    [{'#' * (WIDTH * updates // all_updates):{WIDTH}}] {updates} of {all_updates} updates "


if __name__ == "__main__":
    for line in sys.stdin:
        if "error:" in line:
            print(line, end="", flush=True)
        elif sys.stdout.isatty() and (match := UPDATES.search(line)):
            print("\r" + bar(int(match[1]), int(sys.argv[1])), end="", flush=True)
    if sys.stdout.isatty():
        print()
