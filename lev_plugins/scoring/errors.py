"""Errors by class, as in appendix A.1 of the gated-Trans paper: those of the source that a corrector repairs, and those
that it introduces.

The words of a text are aligned with those of the reference. A word in place of another one is an error: of one letter
or of several, in the first letter or later, and a real word (of the references, or of a list) or not. Words that are
nearly equal but for their spaces are run on or split. Missing and extra words have no class in the paper. An error of
the source is repaired if the output has none at its place; one of the output is introduced if the source has none at
its place.
"""

import string
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio
from lev_plugins.text.lines import read_lines

LETTERS = ("one letter", "several letters", "first letter", "later letters", "real word", "non-word")
CLASSES = (*LETTERS, "run-on", "split", "other words")
COLUMNS = ("in the source", "repaired", "introduced")
NEAR = 0.2  # most letters that differ in words that are run on or split
SPANS = ((1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (0, 1), (1, 0))  # words of the text, and of the reference, that pair


class Error(NamedTuple):
    start: int  # of the words of the reference
    end: int
    classes: tuple[str, ...]

    def touches(self, other: "Error") -> bool:
        """An extra word is between two words of the reference."""
        return max(self.start, other.start) < min(self.end, other.end) or self[:2] == other[:2]


def errors_in(text: str, reference: str, lexicon: Collection[str] = ()) -> Iterator[Error]:
    """
    >>> for error in errors_in("the issaid a schopl sch ool", "the is said to school school", {"a"}):
    ...     print(error.start, error.end, ", ".join(error.classes))
    1 3 run-on
    3 4 several letters, first letter, real word
    4 5 one letter, later letters, non-word
    5 6 split
    """
    given, right = text.split(), reference.split()
    for same, blocks in groupby(Levenshtein.opcodes(given, right), key=lambda block: block.tag == "equal"):
        if not same:
            first, *_, last = [*blocks] * 2
            start = first.dest_start
            for one, other in paired(given[first.src_start : last.src_end], right[start : last.dest_end]):
                if one != other:
                    yield Error(start, start + len(other), classes_of(one, other, lexicon))
                start += len(other)


def paired(given: list[str], right: list[str]) -> list[tuple[list[str], list[str]]]:
    """The words of two stretches that belong together: nearly equal but for their spaces, or one by one, in order.

    >>> paired(["hte", "c", "at", "now"], ["the", "cat"])
    [(['hte'], ['the']), (['c', 'at'], ['cat']), (['now'], [])]
    """
    best = {(0, 0): (0.0, (0, 0))}  # the cost of so many words, and the last pair's
    for i in range(len(given) + 1):
        for j in range(len(right) + 1):
            ways = [
                (best[i - m, j - n][0] + distance(given[i - m : i], right[j - n : j]), (m, n))
                for m, n in SPANS
                if m <= i and n <= j
            ]
            if ways:
                best[i, j] = min(ways)
    pairs, (i, j) = [], (len(given), len(right))
    while i or j:
        m, n = best[i, j][1]
        pairs.append((given[i - m : i], right[j - n : j]))
        i, j = i - m, j - n
    return pairs[::-1]


def distance(given: list[str], right: list[str]) -> float:
    """The cost of a pair: less than that of a missing and an extra word."""
    if not (given and right):
        return 0.75
    differ = float(Levenshtein.normalized_distance("".join(given), "".join(right)))
    if len(given) == len(right):
        return differ
    return 0.5 + differ if differ <= NEAR else float("inf")


def classes_of(given: list[str], right: list[str], lexicon: Collection[str]) -> tuple[str, ...]:
    if not (given and right):
        return ("other words",)
    if len(given) != len(right):
        return ("run-on" if len(given) < len(right) else "split",)
    (one,), (other,) = given, right
    return (
        "one letter" if Levenshtein.distance(one, other) == 1 else "several letters",
        "later letters" if one[0] == other[0] else "first letter",
        "real word" if bare(one) in lexicon else "non-word",
    )


def bare(word: str) -> str:
    return word.strip(string.punctuation).lower()


def evaluate(
    sources: Sequence[str], references: References, texts: Sequence[str], words: Path | None = None
) -> Additive:
    """
    >>> score = evaluate(["teh cat issaid"], ["the cat is said"], ["the cut issaid"])
    >>> score.score, score.details["run-on: in the source"], score.details["run-on: repaired"]
    (0.5, 1, 0)
    >>> score.details["one letter: introduced"]
    1
    """
    entries = alternatives(references)
    known = read_lines(words) if words else (word for entry in entries for line in entry for word in line.split())
    lexicon = {bare(word) for word in known}
    counts, rows = Counter[tuple[str, str]](), []
    for source, entry, text in zip(sources, entries, texts, strict=True):
        options = [(reference, [*errors_in(text, reference, lexicon)]) for reference in entry]
        reference, after = min(options, key=lambda option: len(option[1]))
        before = [*errors_in(source, reference, lexicon)]
        repaired = [error for error in before if not any(map(error.touches, after))]
        introduced = [error for error in after if not any(map(error.touches, before))]
        rows.append([len(repaired), len(before)])
        for column, errors in zip(COLUMNS, (before, repaired, introduced), strict=True):
            counts.update((name, column) for error in errors for name in ("all", *error.classes))
    details = {f"{name}: {column}": counts[name, column] for name in ("all", *CLASSES) for column in COLUMNS}
    return additive("errors repaired", rows, ratio, details=details)
