"""Translate word for word, with a dictionary learned from parallel text: a weak system, but a quick one.

    python word_for_word.py --train weak.en weak.de train.en valid.en test.en >all.draft

Each word becomes the one that IBM Model 1 (expectation-maximisation) links it with most often in both directions, in
the order of the source. Words that the training text lacks stay as they are. It is made for small texts: a pair of
words takes some 100 bytes of memory.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, read_parallel
from lev_plugins.errors import require

ROUNDS = 5
Lines = list[list[str]]


def numbered(lines: Lines) -> tuple[list[str], list[np.ndarray]]:
    """The words, and each line as their numbers."""
    names = sorted({word for words in lines for word in words})
    ids = {name: number for number, name in enumerate(names)}
    return names, [np.array([ids[word] for word in words], dtype=np.int64) for words in lines]


def model_1(giving: Any, given: Any, place: Any, rounds: int) -> Any:
    """(N,) how likely each of N pairs of words of a sentence pair belong together: t(given | giving), shared out.

    ``place`` numbers the words that are explained: pairs of the same place compete.
    """
    pair = numbers_of_pairs(giving, given)
    share = 1 / np.bincount(place)[place]
    for _ in range(rounds):
        probability = np.bincount(pair, share)[pair] / np.bincount(giving, share)[giving]
        share = probability / np.bincount(place, probability)[place]
    return share


def numbers_of_pairs(one: Any, other: Any) -> Any:
    """Equal pairs have the same number."""
    return np.unique(one * (other.max() + 1) + other, return_inverse=True)[1]


def dictionary(sources: Lines, targets: Lines, rounds: int = ROUNDS) -> dict[str, str]:
    """
    >>> sources = [["the", "dog"], ["the", "cat"], ["a", "dog"], ["a", "cat"]]
    >>> targets = [["der", "hund"], ["die", "katze"], ["ein", "hund"], ["eine", "katze"]]
    >>> found = dictionary(sources, targets)
    >>> found["dog"], found["cat"]
    ('hund', 'katze')
    """
    (source_names, source_rows), (target_names, target_rows) = numbered(sources), numbered(targets)
    rows = list(zip(source_rows, target_rows, strict=True))
    source = np.concatenate([np.repeat(one, len(other)) for one, other in rows])
    target = np.concatenate([np.tile(other, len(one)) for one, other in rows])
    sizes = np.array([(len(one), len(other)) for one, other in rows])
    source_place = np.concatenate([np.repeat(np.arange(n), m) for n, m in sizes]) + before(sizes[:, 0], sizes)
    target_place = np.concatenate([np.tile(np.arange(m), n) for n, m in sizes]) + before(sizes[:, 1], sizes)
    linked = model_1(source, target, target_place, rounds) * model_1(target, source, source_place, rounds)
    pair = numbers_of_pairs(source, target)
    score = np.bincount(pair, linked)[pair]
    best: dict[str, str] = {}
    for index in np.argsort(-score, kind="stable"):
        best.setdefault(source_names[source[index]], target_names[target[index]])
    return best


def before(counts: Any, sizes: Any) -> Any:
    """For each pair of words, how many words the earlier sentences have."""
    return np.repeat(np.cumsum(counts) - counts, sizes.prod(1))


def translated(lines: Iterable[str], best: dict[str, str]) -> list[str]:
    """
    >>> translated(["the dog barks"], {"the": "der", "dog": "hund"})
    ['der hund barks']
    """
    return [" ".join(best.get(word, word) for word in line.split()) for line in lines]


def run(args: argparse.Namespace) -> None:
    sources, targets = ([line.split() for line in lines] for lines in read_parallel(args.train))
    pairs = [(one, other) for one, other in zip(sources, targets, strict=True) if one and other]
    require(bool(pairs), f"{args.train[0]} and {args.train[1]} have no pair of sentences to learn from")
    best = dictionary([one for one, _ in pairs], [other for _, other in pairs])
    for path in args.sources:
        sys.stdout.write("".join(f"{line}\n" for line in translated(read_lines(path), best)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--train", type=Path, nargs=2, required=True, metavar=("SOURCE", "TARGET"), help="parallel text"
    )
    parser.add_argument("sources", type=Path, nargs="+", help="texts to translate")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
