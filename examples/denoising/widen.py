"""Widen the words of a clean text by a frequency list: more words for the dictionary, and lines of words to train on.

    python widen.py CLEAN OUT [--list FILE] [--most N] [--least N]

CLEAN is text for ``--bpe words``; the list has lines ``word count``, by default the English one that comes with
symspellpy. OUT/dict.txt has the words of both. Counts of the list are scaled to the size of the text, so that both have
an equal say in how frequent a word is; a listed word counts as seen, however rare. The most frequent ones also stand in
the dictionary with a capital, as at the beginning of a sentence. OUT/words has lines of four words, drawn by the square
root of their frequency, so that rare ones occur too.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising import symspell
from examples.shared import finish, read_lines, write_lines
from lev_plugins.text.offsets import words_with_places
from lev_plugins.utils.errors import require

BLANK = "▁"
CAPITALS = 12_000  # words that are frequent enough to begin a sentence
AT_BEGINNINGS = 0.05  # share of a word's occurrences
FEWEST = 3  # occurrences of a listed word: training leaves one out, and must still see it as it is seen at work
DRAWN, SIDE_BY_SIDE = 60_000, 4


def widened(clean: Iterable[str], listed: dict[str, int], minimum: int = 1) -> Counter[str]:
    """Returns the counts of tokens, those of the list in proportion to the text.

    >>> found = widened(["The cat.", "The hat."], {"the": 60, "dog": 2}, minimum=2)
    >>> found["▁The"], found["▁the"], found["▁dog"], found["."], found["▁cat"]
    (3, 6, 3, 2, 0)
    """
    counts = Counter(token for line in clean for token, _ in words_with_places(line.strip()))
    total = counts.total()
    counts = Counter({token: count for token, count in counts.items() if count >= minimum})
    scale = total / sum(listed.values())
    for number, (word, count) in enumerate(listed.items()):
        counts[BLANK + word] += (mine := max(FEWEST, round(scale * count)))
        if number < CAPITALS:
            counts[BLANK + word.capitalize()] += max(1, round(AT_BEGINNINGS * mine))
    return counts


def drawn(listed: dict[str, int], draw: random.Random) -> list[str]:
    """Each word at least once."""
    words = list(listed)
    some = [*words, *draw.choices(words, [count**0.5 for count in listed.values()], k=DRAWN)]
    draw.shuffle(some)
    return [" ".join(some[i : i + SIDE_BY_SIDE]) for i in range(0, len(some), SIDE_BY_SIDE)]


def run(args: argparse.Namespace) -> None:
    listed = dict(symspell.listed(read_lines(args.list or symspell.own_list())).most_common(args.most))
    require(bool(listed), f"{args.list} has no lines `word count`")
    args.out.mkdir(parents=True, exist_ok=True)
    counts = widened(read_lines(args.clean), listed, args.least)
    write_lines(args.out / "dict.txt", [f"{word} {count}" for word, count in counts.most_common()])
    write_lines(args.out / "words", drawn(listed, random.Random(1)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", metavar="CLEAN", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--list", metavar="FILE", type=Path, help="lines `word count`")
    parser.add_argument(
        "--most", metavar="N", type=int, default=45_000, help="words of the list, the most frequent ones"
    )
    parser.add_argument(
        "--least",
        metavar="N",
        type=int,
        default=1,
        help="words of CLEAN that are not listed and occur less often are left out",
    )
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
