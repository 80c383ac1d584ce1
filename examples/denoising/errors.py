"""Errors by class, as in appendix A.1 of the gated-Trans paper: those of the source that a corrector repairs, and those
that it introduces.

The words of a text are aligned with those of the reference. A word in place of another one is an error: of one letter
or of several, in the first letter or later, and a real word (of the references, or of a list) or not. Words that are
nearly equal but for their spaces are run on or split. Missing and extra words have no class in the paper. An error of
the source is repaired if the output has none at its place; one of the output is introduced if the source has none at
its place.

    python examples/denoising/errors.py NOISY CLEAN OUTPUT...

prints how many errors of each class NOISY has, and how many each OUTPUT repairs and introduces. --words FILE names a
list of real words, one per line; by default, these are the words of CLEAN.
"""

import argparse
import string
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel
from lev_plugins.cli.reporting import table
from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio
from lev_plugins.text.lines import read_lines

LETTER_CLASSES = ("one letter", "several letters", "first letter", "later letters", "real word", "non-word")
ERROR_CLASSES = (*LETTER_CLASSES, "run-on", "split", "other words")
COLUMNS = ("in the source", "repaired", "introduced")
MAX_DIFFERENCE = 0.2  # largest share of differing letters in words that are run on or split
SPANS = ((1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (0, 1), (1, 0))  # words of text and reference that pair


class Error(NamedTuple):
    """An error at the words ``start`` to ``end`` of the reference; an extra word has an empty span."""

    start: int
    end: int
    classes: tuple[str, ...]

    def touches(self, error: "Error") -> bool:
        """Return whether both errors are at the same words of the reference."""
        return max(self.start, error.start) < min(self.end, error.end) or self[:2] == error[:2]


def errors_in(text: str, reference: str, lexicon: Collection[str] = ()) -> Iterator[Error]:
    """Yield the errors of a text.

    >>> for error in errors_in("the issaid a schopl sch ool", "the is said to school school", {"a"}):
    ...     print(error.start, error.end, ", ".join(error.classes))
    1 3 run-on
    3 4 several letters, first letter, real word
    4 5 one letter, later letters, non-word
    5 6 split
    """
    words, reference_words = text.split(), reference.split()
    i = start = 0
    for block in Levenshtein.opcodes(words, reference_words).as_matching_blocks():  # the last one is empty
        for pair in pair_words(words[i : block.a], reference_words[start : block.b]):
            length = len(pair[1])
            if pair[0] != pair[1]:
                yield Error(start, start + length, classes_of(*pair, lexicon))
            start += length
        i, start = block.a + block.size, block.b + block.size


def pair_words(words: list[str], reference: list[str]) -> list[tuple[list[str], list[str]]]:
    """Pair the words of two stretches: those that are nearly equal but for their spaces, or one by one, in order.

    >>> pair_words(["hte", "c", "at", "now"], ["the", "cat"])
    [(['hte'], ['the']), (['c', 'at'], ['cat']), (['now'], [])]
    """
    # for the first i and j words: the least cost, and the numbers of words of the last pair
    best = {(0, 0): (0.0, (0, 0))}
    for i in range(len(words) + 1):
        for j in range(len(reference) + 1):
            ways = [
                (best[i - m, j - n][0] + pair_cost(words[i - m : i], reference[j - n : j]), (m, n))
                for m, n in SPANS
                if m <= i and n <= j
            ]
            if ways:
                best[i, j] = min(ways)
    pairs, (i, j) = [], (len(words), len(reference))
    while i or j:
        m, n = best[i, j][1]
        pairs.append((words[i - m : i], reference[j - n : j]))
        i, j = i - m, j - n
    return pairs[::-1]


def pair_cost(words: list[str], reference: list[str]) -> float:
    """Return the cost of a pair, which is less than that of a missing and an extra word."""
    if not (words and reference):
        return 0.75
    difference = float(Levenshtein.normalized_distance("".join(words), "".join(reference)))
    if len(words) == len(reference):
        return difference
    return 0.5 + difference if difference <= MAX_DIFFERENCE else float("inf")


def classes_of(words: list[str], reference: list[str], lexicon: Collection[str]) -> tuple[str, ...]:
    if not (words and reference):
        return ("other words",)
    if len(words) != len(reference):
        return ("run-on" if len(words) < len(reference) else "split",)
    (word,), (right_word,) = words, reference
    return (
        "one letter" if Levenshtein.distance(word, right_word) == 1 else "several letters",
        "later letters" if word[0] == right_word[0] else "first letter",
        "real word" if lexicon_form(word) in lexicon else "non-word",
    )


def lexicon_form(word: str) -> str:
    return word.strip(string.punctuation).lower()


def evaluate(
    sources: Sequence[str], references: References, texts: Sequence[str], words: Path | None = None
) -> Additive:
    """Score texts by the share of the source's errors that they repair; the details count the errors by class.

    >>> score = evaluate(["teh cat issaid"], ["the cat is said"], ["the cut issaid"])
    >>> score.score, score.details["run-on: in the source"], score.details["run-on: repaired"]
    (0.5, 1, 0)
    >>> score.details["one letter: introduced"]
    1
    """
    entries = alternatives(references)
    real_words = read_lines(words) if words else (word for entry in entries for line in entry for word in line.split())
    lexicon = {lexicon_form(word) for word in real_words}
    counts, rows = Counter[tuple[str, str]](), []
    for source, entry, text in zip(sources, entries, texts, strict=True):
        options = [(reference, [*errors_in(text, reference, lexicon)]) for reference in entry]
        reference, text_errors = min(options, key=lambda option: len(option[1]))
        source_errors = [*errors_in(source, reference, lexicon)]
        repaired = [error for error in source_errors if not any(map(error.touches, text_errors))]
        introduced = [error for error in text_errors if not any(map(error.touches, source_errors))]
        rows.append([len(repaired), len(source_errors)])
        for column, errors in zip(COLUMNS, (source_errors, repaired, introduced), strict=True):
            counts.update((name, column) for error in errors for name in ("all", *error.classes))
    details = {f"{name}: {column}": counts[name, column] for name in ("all", *ERROR_CLASSES) for column in COLUMNS}
    return additive("errors repaired", rows, ratio, details=details)


def run(args: argparse.Namespace) -> None:
    noisy, clean, *outputs = read_parallel([args.noisy, args.clean, *args.outputs])
    scores = [evaluate(noisy, clean, output, args.words).details for output in outputs]
    header = ["", COLUMNS[0], *(f"{column} by {path}" for path in args.outputs for column in COLUMNS[1:]), ""]
    rows = [header]
    for name in ("all", *ERROR_CLASSES):
        counts = [score[f"{name}: {column}"] for score in scores for column in COLUMNS[1:]]
        rows.append([name, str(scores[0][f"{name}: {COLUMNS[0]}"]), *map(str, counts), ""])
    print(*table(rows), sep="\n")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("noisy", metavar="NOISY", type=Path, help="text with errors")
    parser.add_argument("clean", metavar="CLEAN", type=Path, help="the same without errors")
    parser.add_argument("outputs", metavar="OUTPUT", type=Path, nargs="+", help="NOISY as a corrector returns it")
    parser.add_argument("--words", metavar="FILE", type=Path, help="real words, one per line")
    return finish(parser, run, argv)


if __name__ == "__main__":
    sys.exit(main())
