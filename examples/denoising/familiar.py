"""Keep the lines of clean text, on standard input, all of whose words are in a dictionary.

    python familiar.py dict.txt <CLEAN >OUT

An editor has no use for a target with words that it cannot write. Each line is kept once, and none of one word.
"""

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines, finish, read_lines
from lev_plugins.text.offsets import words_with_places

LEAST = 2  # words of a line


def familiar(lines: Iterable[str], words: Collection[str]) -> Iterator[str]:
    """
    >>> list(familiar(["The cat sat.", "The xylophone sat.", "cat"], {"▁The", "▁cat", "▁sat", "."}))
    ['The cat sat.']
    """
    seen = set()
    for line in map(str.strip, lines):
        tokens = [token for token, _ in words_with_places(line)]
        if len(tokens) >= LEAST and line not in seen and all(token in words for token in tokens):
            seen.add(line)
            yield line


def run(args: argparse.Namespace) -> None:
    words = {line.rpartition(" ")[0] for line in read_lines(args.dictionary)}
    lines = list(arriving_lines(sys.stdin.buffer))
    selection = list(familiar(lines, words))
    sys.stdout.write("".join(f"{line}\n" for line in selection))
    sys.stderr.write(f"{len(selection):,} of {len(lines):,} lines of clean text kept\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dictionary", metavar="DICT", type=Path)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
