"""Make a glossary for a test set: terms whose translation is in every reference of a source that has the term.

    python glossary.py --train train.en train.de --test test.en test.de >terms.tsv

A lexicon counted from train says which words belong together (Dice coefficient). The terms are the rarest such words,
two in each sentence at most.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel

MIN_DICE = 0.3  # of a pair of words in train
MIN_LETTERS = 4  # of a term
MAX_TERMS = 2  # in a sentence


def dice(sources: list[list[str]], targets: list[list[str]]) -> dict[tuple[str, str], float]:
    """
    >>> dice([["a", "hat"], ["a", "cap"]], [["ein", "hut"], ["eine", "kappe"]])["hat", "hut"]
    1.0
    """
    left, right, both = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    for source, target in zip(map(set, sources), map(set, targets), strict=True):
        left.update(source)
        right.update(target)
        both.update((word, translation) for word in source for translation in target)
    return {pair: 2 * count / (left[pair[0]] + right[pair[1]]) for pair, count in both.items()}


def glossary(train: list[list[list[str]]], test: list[list[list[str]]]) -> dict[str, str]:
    """Returns the translation of each term."""
    scores, places = dice(*train), dict[str, list[int]]()
    for i, source in enumerate(test[0]):
        for word in source:
            places.setdefault(word, []).append(i)
    best = dict[str, tuple[float, str]]()
    for (word, translation), score in scores.items():
        likely = score >= MIN_DICE and word in places and min(len(word), len(translation)) >= MIN_LETTERS
        if likely and all(test[1][i].count(translation) >= test[0][i].count(word) for i in places[word]):
            best[word] = max(best.get(word, (0.0, "")), (score, translation))
    room, chosen = [MAX_TERMS] * len(test[0]), dict[str, str]()
    for word in sorted(best, key=lambda word: (len(places[word]), word)):  # the rarest first
        if all(room[i] for i in places[word]) and best[word][1] not in chosen.values():
            chosen[word] = best[word][1]
            for i in set(places[word]):
                room[i] -= 1
    return chosen


def run(args: argparse.Namespace) -> None:
    texts = [[[line.split() for line in lines] for lines in read_parallel(pair)] for pair in (args.train, args.test)]
    sys.stdout.writelines(f"{source}\t{target}\n" for source, target in glossary(*texts).items())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("train", "test"):
        shown = ("SOURCE", "TARGET")
        parser.add_argument(f"--{name}", type=Path, nargs=2, required=True, metavar=shown, help="parallel text")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
