"""Keep of parallel text what a corrector can learn: lines of TARGET, in which the rest is as in SOURCE.

    python repairs.py train.src train.tgt > repaired.tgt

Transcriptions of scanned lines leave out words, or have words that the scan lost. A model that learns from such pairs
deletes words that are right, and makes others up. So of what differs between two lines, this keeps only words that are
spelt alike, and marks that are too many.
"""

from __future__ import annotations

import argparse
import sys
from difflib import SequenceMatcher
from pathlib import Path

import editdistance

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, parallel, read_lines

ALIKE = 0.5  # letters that may differ, as a share of the longer spelling
MARKS = 2  # as many tokens without letters or digits may be deleted together


def alike(words: list[str], others: list[str]) -> bool:
    """
    >>> alike(["theexigeuciesof"], ["the", "exigencies", "of"]), alike(["rde"], ["red"]), alike(["word"], ["five"])
    (True, True, False)
    """
    one, other = "".join(words), "".join(others)
    return sorted(one) == sorted(other) or editdistance.eval(one, other) < ALIKE * max(len(one), len(other))


def are_marks(words: list[str]) -> bool:
    return len(words) <= MARKS and not any(letter.isalnum() for word in words for letter in word)


def repaired(source: str, target: str) -> str:
    """
    >>> repaired("moft fairs _ in tlie coun try here", "very fairs in the coun- try")
    'moft fairs in the coun- try here'
    """
    given, wanted = source.split(), target.split()
    words: list[str] = []
    for _, i, j, first, last in SequenceMatcher(None, given, wanted, autojunk=False).get_opcodes():
        mine, theirs = given[i:j], wanted[first:last]
        good = alike(mine, theirs) if mine and theirs else are_marks(mine + theirs)
        words += theirs if mine == theirs or good else mine
    return " ".join(words)


def run(args: argparse.Namespace) -> None:
    sides = [read_lines(path) for path in (args.source, args.target)]
    parallel(dict(zip((args.source, args.target), sides, strict=True)))
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.writelines(f"{repaired(*pair)}\n" for pair in zip(*sides, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", metavar="SOURCE", type=Path)
    parser.add_argument("target", metavar="TARGET", type=Path)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
