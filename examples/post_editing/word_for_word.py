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

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, read_parallel
from lev_plugins.utils.errors import require

ROUNDS = 5
Lines = list[list[str]]


def numbered(lines: Lines) -> tuple[list[str], list[np.ndarray]]:
    """Returns the words, and each line as their numbers."""
    names = sorted({word for words in lines for word in words})
    ids = {name: number for number, name in enumerate(names)}
    return names, [np.array([ids[word] for word in words], dtype=np.int64) for words in lines]


def model_1(source: np.ndarray, target: np.ndarray, position: np.ndarray, rounds: int) -> np.ndarray:
    """Returns how likely each of N pairs of words of a sentence pair belong together, (N,): IBM Model 1.

    ``position`` numbers the target words of the text: pairs with the same one compete for its probability mass.
    """
    pair = numbers_of_pairs(source, target)
    share = 1 / np.bincount(position)[position]
    for _ in range(rounds):
        probability = np.bincount(pair, share)[pair] / np.bincount(source, share)[source]
        share = probability / np.bincount(position, probability)[position]
    return share


def numbers_of_pairs(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Numbers pairs of words, equal ones alike."""
    return np.unique(source * (target.max() + 1) + target, return_inverse=True)[1]


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
    source = np.concatenate([np.repeat(words, len(translation)) for words, translation in rows])
    target = np.concatenate([np.tile(translation, len(words)) for words, translation in rows])
    sizes = np.array([(len(words), len(translation)) for words, translation in rows])
    source_position = np.concatenate([np.repeat(np.arange(n), m) for n, m in sizes]) + before(sizes[:, 0], sizes)
    target_position = np.concatenate([np.tile(np.arange(m), n) for n, m in sizes]) + before(sizes[:, 1], sizes)
    linked = model_1(source, target, target_position, rounds) * model_1(target, source, source_position, rounds)
    pair = numbers_of_pairs(source, target)
    score = np.bincount(pair, linked)[pair]
    best: dict[str, str] = {}
    for index in np.argsort(-score, kind="stable"):
        best.setdefault(source_names[source[index]], target_names[target[index]])
    return best


def before(counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Returns how many words the earlier sentences have, for each pair of words."""
    return np.repeat(np.cumsum(counts) - counts, sizes.prod(1))


def translated(lines: Iterable[str], best: dict[str, str]) -> list[str]:
    """
    >>> translated(["the dog barks"], {"the": "der", "dog": "hund"})
    ['der hund barks']
    """
    return [" ".join(best.get(word, word) for word in line.split()) for line in lines]


def run(args: argparse.Namespace) -> None:
    sources, targets = ([line.split() for line in lines] for lines in read_parallel(args.train))
    pairs = [(words, translation) for words, translation in zip(sources, targets, strict=True) if words and translation]
    require(bool(pairs), f"{args.train[0]} and {args.train[1]} have no pair of sentences to learn from")
    best = dictionary([words for words, _ in pairs], [translation for _, translation in pairs])
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
