"""Confusions learned from pairs of a clean text and its noisy reading: align, count, divide."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rapidfuzz.distance import Levenshtein

from lev_plugins.noise.confusions import Confusion, ConfusionTable, split_units
from lev_plugins.noise.text import is_space

Block = tuple[tuple[str, ...], tuple[str, ...]]  # clean, noisy


class Learner:
    """Counts confusions pair by pair, then all occurrences of what is confused.

    >>> learner = Learner("character", longest=2)
    >>> for clean in ("modern", "corner", "morning"):
    ...     learner.learn(clean, clean.replace("rn", "m"))
    >>> for clean in ("modern", "corner", "morning", "rn"):
    ...     learner.count(clean)
    >>> learner.table(min_count=2).confusions
    [Confusion(clean=('r', 'n'), noisy=('m',), rate=0.75)]
    """

    def __init__(self, unit: str, longest: int) -> None:
        self.unit, self.longest = unit, longest
        self.confusions: Counter[Block] = Counter()
        self.clean: set[tuple[str, ...]] = set()  # the clean sides of these
        self.occurrences: Counter[tuple[str, ...]] = Counter()

    def learn(self, clean: str, noisy: str) -> None:
        if clean != noisy:
            pair = blocks(split_units(clean, self.unit), split_units(noisy, self.unit))
            confusions = [block for block in pair if self._can_be_learned(*block)]
            self.confusions.update(confusions)
            self.clean.update(clean for clean, _ in confusions)

    def _can_be_learned(self, clean: tuple[str, ...], noisy: tuple[str, ...]) -> bool:
        """Noise changes one word at a time, so white space may only be the last confused character."""
        one_word = self.unit == "word" or not any(map(is_space, clean[:-1]))
        return max(len(clean), len(noisy)) <= self.longest and one_word

    def count(self, clean: str) -> None:
        """Count every place where a confusion was possible; to be called after all pairs have been learned."""
        units = split_units(clean, self.unit)
        for length in range(1, self.longest + 1):
            runs = zip(*(units[start:] for start in range(length)), strict=False)
            self.occurrences.update(run for run in runs if run in self.clean)

    def table(self, min_count: int) -> ConfusionTable:
        """Return the confusions that were seen at least ``min_count`` times, the most frequent first."""
        frequent = [
            Confusion(clean, noisy, count / max(count, self.occurrences[clean]))
            for (clean, noisy), count in self.confusions.items()
            if count >= min_count
        ]
        order = sorted(frequent, key=lambda confusion: (-confusion.rate, confusion.clean, confusion.noisy))
        return ConfusionTable(self.unit, order)


def blocks(clean: Sequence[str], noisy: Sequence[str]) -> Iterator[Block]:
    """Yield what replaces what: the runs of edits in a cheapest alignment.

    A run of substitutions is split into single ones, except two neighbours in the wrong order; an insertion belongs
    to the unit before it, or at the start to the unit after it.

    >>> [("".join(a), "".join(b)) for a, b in blocks("the corner shop is", "tke comer hsop iss")]
    [('h', 'k'), ('rn', 'm'), ('sh', 'hs'), ('i', 'is')]
    """
    start = noisy_start = 0
    for i, j in [*equal_units(clean, noisy), (len(clean), len(noisy))]:
        original, replacement = tuple(clean[start:i]), tuple(noisy[noisy_start:j])
        if not original and replacement:
            yield from insertion(clean, i, replacement)
        elif len(original) == len(replacement) and (len(original) != 2 or original != replacement[::-1]):
            yield from zip(zip(original), zip(replacement), strict=True)
        elif original:
            yield original, replacement
        start, noisy_start = i + 1, j + 1


def insertion(clean: Sequence[str], at: int, inserted: tuple[str, ...]) -> Iterator[Block]:
    """Yield an insertion as the replacement of a neighbouring unit.

    >>> list(insertion("ab", 1, ("x",))), list(insertion("ab", 0, ("x",))), list(insertion("", 0, ("x",)))
    ([(('a',), ('a', 'x'))], [(('a',), ('x', 'a'))], [])
    """
    if at and not is_space(clean[at - 1]):
        yield (clean[at - 1],), (clean[at - 1], *inserted)
    elif at < len(clean):
        yield (clean[at],), (*inserted, clean[at])


def equal_units(clean: Sequence[str], noisy: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of equal units in an alignment with the fewest substitutions, deletions and insertions.

    Of two units in the wrong order, neither counts as equal: both are substituted, which costs the same.

    >>> equal_units("corner", "comer"), equal_units("their", "thier")
    ([(0, 0), (1, 1), (4, 3), (5, 4)], [(0, 0), (1, 1), (4, 4)])
    """
    matches = Levenshtein.editops(clean, noisy).as_matching_blocks()
    pairs = [(block.a + k, block.b + k) for block in matches for k in range(block.size)]
    equal = [(-1, -1)]
    for (i, j), (next_i, next_j) in pairwise([*pairs, (len(clean), len(noisy))]):
        before_i, before_j = equal[-1]
        gaps = {(i - before_i, j - before_j), (next_i - i, next_j - j)}
        swapped = clean[before_i + 1 : next_i] == noisy[before_j + 1 : next_j][::-1]
        if gaps != {(1, 2), (2, 1)} or not swapped:
            equal.append((i, j))
    return equal[1:]
