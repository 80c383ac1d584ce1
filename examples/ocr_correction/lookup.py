"""Correct each word as the training pairs do most often; the corrections of other words come from a file.

    python lookup.py TRAIN.src TRAIN.tgt --otherwise symspell.out <test.src

All files have one word per line; the blanks between its characters do not matter.
"""

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel


def joined(word: str) -> str:
    return word.replace(" ", "")


def most_frequent(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """
    >>> most_frequent([("teh", "the"), ("teh", "tech"), ("teh", "the")])
    {'teh': 'the'}
    """
    corrections: dict[str, Counter[str]] = defaultdict(Counter)
    for word, correction in pairs:
        corrections[word][correction] += 1
    return {word: counts.most_common(1)[0][0] for word, counts in corrections.items()}


def run(args: argparse.Namespace) -> None:
    pairs = zip(*read_parallel([args.source, args.target], "the training pairs"), strict=True)
    corrections = most_frequent([(joined(word), joined(correction)) for word, correction in pairs])
    words, fallbacks = sys.stdin.read().splitlines(), args.otherwise.read_text(encoding="utf-8").splitlines()
    for word, fallback in zip(words, fallbacks, strict=True):
        sys.stdout.write(f"{corrections.get(joined(word), joined(fallback))}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path, help="words of the training pairs")
    parser.add_argument("target", type=Path, help="their corrections")
    parser.add_argument("--otherwise", metavar="FILE", type=Path, required=True, help="correction of each other word")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
